/* Documents of text: lines of JSON, arrays, rows, plain text however divided, NPY arrays, all of them perhaps
 * compressed. The first byte says which; whatever comes out is a row that a table can hold, and parts of a file have
 * the rows of the whole.
 */
#include <string.h>

#include "fuzz.h"
#include "kind/text/config.h"
#include "kind/text/text.h"

struct rows {
    int64_t count, steps, last; /* count: of rows that are no file */
};

static int take(void *sink, int input, const struct bl_row *row, struct bl_error *e)
{
    struct rows *rows = sink;
    (void)input, (void)e;
    bool ok = row->status == BL_ROW_OK;
    never(ok != (row->length > 0) || (!ok && !*row->reason) || row->offset < -1 || row->offset < rows->last);
    rows->last = row->offset;
    rows->count += row->offset >= 0;
    rows->steps += row->length;
    return BL_OK;
}

static void count(const void *config, const char *path, int64_t begin, int64_t end, struct rows *rows)
{
    struct bl_cancel cancel = {0};
    struct bl_kind_env env = {.cancel = &cancel};
    struct bl_input input = {.path = path};
    struct bl_chunk stretch = {.input = &input, .inputs = 1, .begin = begin, .end = end};
    struct bl_counter *counter = NULL;
    struct bl_error e = {0};
    rows->last = -1;
    never(bl_kind_text.scan->open(config, &env, &counter, &e) != BL_OK);
    int code = bl_kind_text.scan->count(config, &env, counter, &stretch, take, rows, &e);
    never(code && !e.text[0]);
    counter->close(counter);
}

static void set(struct bl_options *options, const char *name, const char *value)
{
    struct bl_error e = {0};
    never(bl_options_set(options, name, value, BL_ORIGIN_FLAG, &e));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const rule[] = {"file", "line", "blank-line", "sep:-\\n-"};
    static const char *const format[] = {"jsonl", "plain", "npy", "json", "csv", "tsv"};
    if (size < 1)
        return 0;
    char path[64];
    int fd = fuzz_file(data + 1, size - 1, path);
    struct bl_text_config config = {0};
    struct bl_options options = {0};
    struct bl_error e = {0};
    never(bl_options_add(&options, "Text", bl_kind_text.options.table, &config, &e));
    set(&options, "tokenizer", "bytes");
    set(&options, "max-document", "2000");
    set(&options, "key", data[0] & 128 ? "a.b,c" : "a.b");
    set(&options, "keep", "c,d.e");
    if (data[0] & 32)
        set(&options, "field", "m=c:u8,n=c:f32");
    set(&options, "documents", rule[data[0] & 3]);
    set(&options, "format", format[(data[0] >> 2) % 6]);
    set(&options, "invalid", data[0] & 64 ? "error" : "replace");
    struct bl_buffer warning = {0};
    never(bl_kind_text.options.prepare(&config, &warning, &e));
    struct rows whole = {0}, parts = {0};
    struct bl_input input = {.path = path};
    bool divisible = false;
    count(&config, path, 0, INT64_MAX, &whole);
    never(bl_kind_text.scan->is_divisible(&config, &input, &divisible, &e));
    for (int64_t begin = 0; divisible && size > 1 && begin < (int64_t)size - 1; begin += 37)
        count(&config, path, begin, begin + 37 < (int64_t)size - 1 ? begin + 37 : INT64_MAX, &parts);
    /* A file without any document has a row all the same. */
    never(divisible && size > 1 && (whole.steps != parts.steps || whole.count != parts.count));
    bl_kind_text.options.release(&config);
    bl_options_free(&options);
    close(fd);
    return 0;
}
