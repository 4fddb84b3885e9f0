/* Megatron's pairs: the first byte says what a document is, the next two how much of the rest is the .idx file; what is
 * left is the .bin file. Whatever comes out is a row that a table can hold, and none has the offset of another. */
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "fuzz.h"
#include "kind/text/config.h"
#include "kind/text/text.h"

static int take(void *sink, int input, const struct bl_row *row, struct bl_error *e)
{
    int64_t *last = sink;
    (void)input, (void)e;
    bool ok = row->status == BL_ROW_OK;
    if (ok != (row->length > 0) || (!ok && !*row->reason) || row->offset < -1 ||
        (row->offset >= 0 && row->offset <= *last))
        abort();
    *last = row->offset;
    return BL_OK;
}

static void count(const char *path, bool documents)
{
    struct bl_text_config config = {.megatron = documents, .key = "text", .documents = "file", .max_document = 1000};
    struct bl_cancel cancel = {0};
    struct bl_kind_env env = {.cancel = &cancel};
    struct bl_input input = {.path = path};
    struct bl_chunk chunk = {.input = &input, .inputs = 1, .end = INT64_MAX};
    struct bl_counter *counter = NULL;
    struct bl_error e = {0};
    int64_t last = -1;
    if (bl_kind_text.options.prepare(&config, &e) || bl_kind_text.scan->open(&config, &env, &counter, &e))
        abort();
    int code = bl_kind_text.scan->count(&config, &env, counter, &chunk, take, &last, &e);
    if (code && !e.text[0])
        abort();
    bl_kind_text.scan->close(counter);
    bl_kind_text.options.release(&config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char folder[] = "/dev/shm/bload-fuzz-XXXXXX", idx[64], bin[64];
    struct bl_error e = {0};
    if (size < 3)
        return 0;
    size_t index = (size_t)data[1] | (size_t)data[2] << 8, rest = size - 3;
    index = index < rest ? index : rest;
    if (!mkdtemp(folder))
        abort();
    snprintf(idx, sizeof idx, "%s/a.idx", folder);
    snprintf(bin, sizeof bin, "%s/a.bin", folder);
    if (bl_output_replace(idx, data + 3, index, &e) || bl_output_replace(bin, data + 3 + index, rest - index, &e))
        abort();
    count(idx, data[0] & 1);
    unlink(idx);
    unlink(bin);
    rmdir(folder);
    return 0;
}
