/* Parts of a scan, and what is merged of them. */
#include "base/output.h"
#include "fuzz.h"
#include "scan/merge.h"
#include "base/checksum.h"

static char folder[] = "/tmp/bload-fuzz-XXXXXX";
static char path[64];

static void clean(void)
{
    unlink(path);
    rmdir(folder);
}

static int take(void *sink, const struct bl_row *row, struct bl_error *e)
{
    (void)sink, (void)e;
    never(row->status != BL_ROW_SKIPPED || !row->reason || !row->path || !row->kind);
    return BL_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bl_buffer text = {0};
    struct bl_output out;
    struct bl_merge job = {.folder = folder, .tasks = 1, .fault = take};
    struct bl_merged merged;
    struct bl_error e = {0}, none = {0};
    never(!*path && (!mkdtemp(folder) || snprintf(path, sizeof path, "%s/scan-00000", folder) < 0 || atexit(clean)));
    /* The first line is the same always, and the checksum right: what is between is of interest. */
    bl_buffer_text(&text, "bload scan part 1: task 0 of 1\n");
    bl_buffer_append(&text, data, size);
    bl_buffer_printf(&text, "end %016llx\n", (unsigned long long)bl_checksum(text.data, text.size));
    FILE *file = fopen(path, "wb");
    never(!file || fwrite(text.data, 1, text.size, file) != text.size || fclose(file) ||
          bl_output_open(&out, "/dev/null", &none));
    never(bl_merge_run(&job, &out, &merged, &e) && !e.text[0]);
    free(merged.attributes);
    bl_output_abort(&out);
    bl_buffer_free(&text);
    return 0;
}
