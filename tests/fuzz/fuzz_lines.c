/* Labels one a line, compressed or not. The first byte says whether they are names; what is read is a number of the
 * mapping, or any, and what is not tells its line. */
#include "fuzz.h"
#include "kind/labels/labels.h"

static struct bl_label_name names[] = {{"a b", 7}, {"sit", 0}, {"walk", 3}};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    char path[64];
    int fd = fuzz_file(data + 1, size - 1, path);
    struct bl_mapping mapping = {.label = names, .count = data[0] & 1 ? sizeof names / sizeof *names : 0};
    struct bl_label_lines lines;
    struct bl_error e = {0};
    struct bl_cancel cancel = {0};
    bool found = false;
    int32_t label;
    int64_t count = 0;
    int code = bl_label_lines_open(&lines, path, &mapping, &cancel, &e);
    if (code) { /* its beginning is read already */
        never(code != BL_EDATA || !e.text[0]);
        close(fd);
        return 0;
    }
    while (!(code = bl_label_lines_next(&lines, &label, &found, &e)) && found) {
        count++;
        never(lines.line != count || (mapping.count && label != 7 && label != 0 && label != 3));
    }
    never(code && (code != BL_EDATA || !e.text[0]));
    bl_label_lines_close(&lines);
    close(fd);
    return 0;
}
