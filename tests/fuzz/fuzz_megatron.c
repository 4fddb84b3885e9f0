/* Megatron's pairs and other flat files of ids: the first byte says how they are read, the next two how much of the
 * rest is the file beside; what is left are the ids. Whatever comes out is a row that a table can hold, and none has
 * the offset of another. */
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
    never(ok != (row->length > 0) || (!ok && !*row->reason) || row->offset < -1 ||
          (row->offset >= 0 && row->offset <= *last));
    *last = row->offset;
    return BL_OK;
}

static void count(const struct bl_text_config *wanted, const char *path, int64_t bytes)
{
    struct bl_text_config config = *wanted;
    struct bl_cancel cancel = {0};
    struct bl_kind_env env = {.cancel = &cancel};
    struct bl_input input = {.path = path, .bytes = bytes};
    struct bl_chunk chunk = {.input = &input, .inputs = 1, .end = INT64_MAX};
    struct bl_counter *counter = NULL;
    struct bl_error e = {0};
    int64_t last = -1;
    config.key = "text";
    config.documents = "file";
    config.max_document = 1000;
    struct bl_buffer warning = {0};
    never(bl_kind_text.options.prepare(&config, &warning, &e) || bl_kind_text.scan->open(&config, &env, &counter, &e));
    int code = bl_kind_text.scan->count(&config, &env, counter, &chunk, take, &last, &e);
    never(code && !e.text[0]);
    counter->close(counter);
    bl_kind_text.options.release(&config);
}

/* The names of the ids and of what lies beside them, which of them is named, and the options. */
static const struct {
    const char *ids, *beside;
    bool is_beside;
    struct bl_text_config config;
} ways[] = {{"a.bin", "a.idx", true, {.megatron = BL_MEGATRON_SEQUENCE}},
            {"a.bin", "a.idx", true, {.megatron = BL_MEGATRON_DOCUMENT}},
            {"a.bin", "a.idx", false, {.token_file = "auto"}},
            {"a.bin", "a.idx", false, {.token_file = "sequences"}},
            {"a.ds", "a.ds.index", false, {.token_file = "dtype=u16"}},
            {"a.ds", "a.ds.metadata", false, {.token_file = "auto,eos=2"}},
            {"a.bin", "a.other", false, {.token_file = "dtype=i32,bos=1,vocab=99"}},
            {"a.bin", "a.other", false, {.token_file = "auto"}}};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char folder[] = "/dev/shm/bload-fuzz-XXXXXX", ids[64], beside[64];
    struct bl_error e = {0};
    if (size < 3)
        return 0;
    size_t way = data[0] % (sizeof ways / sizeof *ways);
    size_t index = (size_t)data[1] | (size_t)data[2] << 8, rest = size - 3;
    index = index < rest ? index : rest;
    never(!mkdtemp(folder));
    snprintf(ids, sizeof ids, "%s/%s", folder, ways[way].ids);
    snprintf(beside, sizeof beside, "%s/%s", folder, ways[way].beside);
    never(bl_output_replace(beside, data + 3, index, &e) || bl_output_replace(ids, data + 3 + index, rest - index, &e));
    count(&ways[way].config, ways[way].is_beside ? beside : ids, (int64_t)(ways[way].is_beside ? index : rest - index));
    unlink(ids);
    unlink(beside);
    rmdir(folder);
    return 0;
}
