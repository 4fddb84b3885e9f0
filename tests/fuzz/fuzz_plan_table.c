/* Plans: what is accepted has passed every check. */
#include "fuzz.h"
#include "store/plan_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t length[] = {5, 9, 0, 3, 7, 12, 4, 4, 2, 30};
    char path[64];
    struct bl_buffer text = {0};
    bl_buffer_text(&text, BL_PLAN_TABLE_HEADER); /* the header is the same always: what follows is of interest */
    bl_buffer_append(&text, data, size);
    int fd = fuzz_file((const uint8_t *)text.data, text.size, path);
    struct bl_plan plan;
    struct bl_error e = {0};
    if (bl_plan_table_read(&plan, path, 12, size % 2 + 1, (int64_t)(size % 3), &(struct bl_plan_own){0}, length,
                           sizeof length / sizeof *length, &e) == BL_OK) {
        never(plan.steps - plan.deleted + plan.repeated + plan.padding != (int64_t)plan.blocks * plan.T);
        bl_plan_free(&plan);
    } else if (!e.text[0]) {
        abort();
    }
    bl_buffer_free(&text);
    close(fd);
    return 0;
}
