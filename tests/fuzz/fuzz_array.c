/* Arrays: NPY files, NPZ archives and safetensors files. The first byte says the options; what is counted can be read,
 * in one piece or in several, in any order, or is found at fault, and gives the same bytes. */
#include <string.h>

#include "fuzz.h"
#include "kind/array/array.h"

#define BYTES_MAX ((int64_t)4 << 20)

struct found {
    int rows;
    int64_t length;
};

static int take(void *sink, int input, const struct bl_row *row, struct bl_error *e)
{
    struct found *found = sink;
    (void)input, (void)e;
    bool ok = row->status == BL_ROW_OK;
    never(ok != (row->length > 0) || ok != (row->form != NULL) || (!ok && !*row->reason));
    found->rows++;
    found->length = row->length;
    return BL_OK;
}

/* Reads all steps, so many at a time, from the last or from the first on; whether nothing was found at fault. */
static bool read_all(const struct bl_array_config *config, const struct bl_kind_env *env,
                     const struct bl_fields *fields, struct bl_row row, int64_t at_once, bool backwards, uint8_t *out)
{
    struct bl_reader *reader = NULL;
    struct bl_error e = {0};
    struct bl_note note;
    size_t step = bl_field_step_bytes(&fields->field[0]);
    int code = bl_kind_array.read->open(config, env, fields, &reader, &e);
    never(code);
    bool good = true;
    for (int64_t i = 0, pieces = (row.length + at_once - 1) / at_once; i < pieces; i++) {
        int64_t at = (backwards ? pieces - 1 - i : i) * at_once;
        uint8_t *to = out + (size_t)at * step;
        struct bl_request request = {
            .row = row, .source_start = at, .steps = row.length - at < at_once ? row.length - at : at_once, .out = &to};
        code = reader->piece(reader, &request, &note, &e);
        never(code && (code != BL_EDATA || !e.text[0]));
        good &= !code;
    }
    reader->close(reader);
    return good;
}

static void read_thrice(const struct bl_array_config *config, const struct bl_kind_env *env, const char *path,
                        int64_t bytes, int64_t length)
{
    struct bl_row row = {.id = path, .path = path, .bytes = bytes, .length = length, .stream = -1, .offset = -1};
    struct bl_fields fields;
    struct bl_error e = {0};
    never(bl_kind_array.read->fields(config, env, &row, &fields, &e));
    size_t step = bl_field_step_bytes(&fields.field[0]);
    if (!step || (int64_t)step > BYTES_MAX / length)
        return;
    size_t size = step * (size_t)length;
    uint8_t *whole = malloc(size), *pieces = malloc(size);
    never(!whole || !pieces);
    bool good = read_all(config, env, &fields, row, length, false, whole);
    for (int backwards = 0; backwards < 2; backwards++) {
        memset(pieces, 0, size);
        never(good != read_all(config, env, &fields, row, length / 3 + 1, backwards, pieces));
        never(good && memcmp(whole, pieces, size) != 0);
    }
    free(whole);
    free(pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    char path[64];
    int fd = fuzz_file(data + 1, size - 1, path);
    struct bl_cancel cancel = {0};
    struct bl_kind_env env = {.cancel = &cancel};
    struct bl_array_config config = {.member = data[0] & 1 ? "x" : NULL,
                                     .name = "array",
                                     .time_axis = (data[0] >> 1 & 3) - 1,
                                     .squeeze = data[0] & 8,
                                     .common.dtype = data[0] & 16 ? BL_ARRAY_F32 : BL_ARRAY_SAME};
    struct bl_input input = {.path = path, .bytes = (int64_t)size - 1};
    struct bl_chunk stretch = {.input = &input, .inputs = 1, .end = INT64_MAX};
    struct found found = {0};
    struct bl_error e = {0};
    struct bl_buffer warning = {0};
    never(bl_kind_array.options.prepare(&config, &warning, &e));
    never(bl_kind_array.scan->count(&config, &env, NULL, &stretch, take, &found, &e) || found.rows != 1);
    if (found.length)
        read_thrice(&config, &env, path, (int64_t)size - 1, found.length);
    bl_kind_array.options.release(&config);
    close(fd);
    return 0;
}
