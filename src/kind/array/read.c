/* A file that was split stays open while its pieces are read. A deflated array goes on where the last piece ended, or
 * is read from a copy (inflated.h). */
#include "kind/array/read.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kind/array/array.h"
#include "kind/array/inflated.h"
#include "kind/array/npz.h"

#define TILE ((int64_t)1 << 20) /* bytes of the file */

struct bl_reader {
    const struct bl_array_config *config;
    const struct bl_kind_env *env;
    const struct bl_field *field;
    char *path; /* of the open file, or NULL */
    struct bl_array_file file;
    struct bl_array_layout layout;
    uint8_t *tile;
    int64_t overflows; /* values of this piece that became infinite */
};

int bl_array_reader_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                         struct bl_reader **reader, struct bl_error *e)
{
    struct bl_reader *r = calloc(1, sizeof *r);
    if (!r)
        return bl_error_memory(e);
    *r = (struct bl_reader){.config = config, .env = env, .field = &fields->field[0], .tile = malloc(TILE)};
    if (!r->tile) {
        bl_array_reader_close(r);
        return bl_error_memory(e);
    }
    *reader = r;
    return BL_OK;
}

static void array_reader_leave(struct bl_reader *r)
{
    if (r->path)
        bl_array_file_close(&r->file);
    free(r->path);
    r->path = NULL;
}

void bl_array_reader_close(struct bl_reader *reader)
{
    if (!reader)
        return;
    array_reader_leave(reader);
    free(reader->tile);
    free(reader);
}

/* --- one file --------------------------------------------------------------------------------------------------- */

/* The array must have the table's length and the dataset's form. */
static int array_reader_compare(const struct bl_reader *r, const struct bl_row *row, struct bl_error *e)
{
    const struct bl_array_layout *l = &r->layout;
    const struct bl_field *field = r->field;
    char here[BL_ARRAY_FORM_MAX], wanted[BL_ARRAY_FORM_MAX];
    if (l->dtype != field->dtype || l->rank != field->rank ||
        memcmp(l->shape, field->shape, (size_t)l->rank * sizeof *l->shape) != 0)
        return bl_error_set(e, BL_EDATA, "its steps are %s, those of the dataset %s",
                            bl_array_form_print(here, l->dtype, l->rank, l->shape),
                            bl_array_form_print(wanted, field->dtype, field->rank, field->shape));
    if (l->steps != row->length)
        return bl_error_set(e, BL_EDATA, "the scan counted %" PRId64 " rows, the header says %" PRId64, row->length,
                            l->steps);
    return BL_OK;
}

static int array_reader_enter(struct bl_reader *r, const struct bl_row *row, struct bl_error *e)
{
    array_reader_leave(r);
    char *path = strdup(row->path);
    if (!path)
        return bl_error_memory(e);
    int code = bl_array_file_open(&r->file, path, row->bytes, r->config->member, r->env->cancel, e);
    if (code) {
        free(path);
        return code;
    }
    r->path = path;
    code = bl_array_layout_make(&r->layout, &r->file.npy, r->config, e);
    if (code)
        return code;
    return array_reader_compare(r, row, e);
}

/* --- elements --------------------------------------------------------------------------------------------------- */

#define SWAP_ALL(type, swap)                                                                                           \
    for (int64_t i = 0; i < count; i++) {                                                                              \
        type value;                                                                                                    \
        memcpy(&value, data + i * (int64_t)sizeof value, sizeof value);                                                \
        value = swap(value);                                                                                           \
        memcpy(data + i * (int64_t)sizeof value, &value, sizeof value);                                                \
    }

static void elements_swap(uint8_t *data, int64_t count, size_t size)
{
    if (size == 2)
        SWAP_ALL(uint16_t, __builtin_bswap16)
    else if (size == 4)
        SWAP_ALL(uint32_t, __builtin_bswap32)
    else if (size == 8)
        SWAP_ALL(uint64_t, __builtin_bswap64)
}

/* Rounds F64 to F32 in place. Values beyond F32 become infinite; returns how many. */
static int64_t elements_narrow(uint8_t *data, int64_t count)
{
    int64_t overflows = 0;
    for (int64_t i = 0; i < count; i++) {
        double value;
        memcpy(&value, data + 8 * i, sizeof value);
        float nearest = (float)value;
        overflows += isinf(nearest) && !isinf(value);
        memcpy(data + 4 * i, &nearest, sizeof nearest);
    }
    return overflows;
}

static void array_reader_decode(struct bl_reader *r, uint8_t *data, int64_t count)
{
    const struct bl_array_layout *l = &r->layout;
    if (l->swap)
        elements_swap(data, count, bl_dtype_size(l->stored));
    if (l->dtype != l->stored)
        r->overflows += elements_narrow(data, count);
}

/* --- pieces ----------------------------------------------------------------------------------------------------- */

/* Reads elements that are consecutive in the file, tile by tile. */
static int array_reader_read_region(struct bl_reader *r, int64_t first, int64_t count, int64_t start, uint8_t *out,
                                    struct bl_error *e)
{
    const struct bl_array_layout *l = &r->layout;
    int64_t size = (int64_t)bl_dtype_size(l->stored);
    while (count > 0) {
        int64_t part = count < TILE / size ? count : TILE / size;
        int code = bl_array_file_read(&r->file, r->tile, (size_t)(part * size), first * size, e);
        if (code)
            return code;
        array_reader_decode(r, r->tile, part);
        bl_array_scatter(l, first, part, start, bl_dtype_size(l->dtype), r->tile, out);
        first += part;
        count -= part;
    }
    return BL_OK;
}

/* The piece's elements are consecutive for each entry of the axes before time, or all of them where it is the whole. */
static int array_reader_read_tiles(struct bl_reader *r, int64_t start, int64_t steps, uint8_t *out, struct bl_error *e)
{
    const struct bl_array_layout *l = &r->layout;
    if (steps == l->steps)
        return array_reader_read_region(r, 0, l->outer * steps * l->inner, start, out, e);
    for (int64_t o = 0; o < l->outer; o++) {
        int code = array_reader_read_region(r, (o * l->steps + start) * l->inner, steps * l->inner, start, out, e);
        if (code)
            return code;
    }
    return BL_OK;
}

static int array_reader_read_contiguous(struct bl_reader *r, int64_t start, int64_t steps, uint8_t *out,
                                        struct bl_error *e)
{
    int64_t size = r->layout.inner * (int64_t)bl_dtype_size(r->layout.stored);
    int code = bl_array_file_read(&r->file, out, (size_t)(steps * size), start * size, e);
    if (!code)
        array_reader_decode(r, out, steps * r->layout.inner);
    return code;
}

/* A deflated array that is opened again, or needed from before the current position, is read from its copy. */
static int array_reader_find_copy(struct bl_reader *r, const struct bl_request *request, bool at_hand,
                                  struct bl_error *e)
{
    struct bl_array_file *f = &r->file;
    int64_t first = request->source_start * r->layout.inner * (int64_t)bl_dtype_size(r->layout.stored);
    if (f->copy || request->steps == request->row.length || !bl_array_file_is_deflated(f))
        return BL_OK;
    if (at_hand && f->position <= f->npy.begin + first)
        return BL_OK;
    return bl_inflated_find(r->config->inflated, f, r->env->spool, &f->copy, e);
}

static int array_reader_read_piece(struct bl_reader *r, const struct bl_request *request, bool last, struct bl_error *e)
{
    const struct bl_row *row = &request->row;
    const struct bl_array_layout *l = &r->layout;
    bool at_hand = r->path && strcmp(r->path, row->path) == 0 && r->file.bytes == row->bytes;
    int code = at_hand ? BL_OK : array_reader_enter(r, row, e);
    if (code)
        return code;
    code = array_reader_find_copy(r, request, at_hand, e);
    if (code)
        return code;
    code = l->contiguous && l->dtype == l->stored
               ? array_reader_read_contiguous(r, request->source_start, request->steps, request->out[0], e)
               : array_reader_read_tiles(r, request->source_start, request->steps, request->out[0], e);
    if (code || !last)
        return code;
    return bl_array_file_verify(&r->file, e);
}

int bl_array_reader_read(struct bl_reader *r, const struct bl_request *request, struct bl_note *note,
                         struct bl_error *e)
{
    bool last = request->source_start + request->steps == request->row.length;
    r->overflows = 0;
    note->text[0] = '\0';
    int code = array_reader_read_piece(r, request, last, e);
    if (r->overflows)
        snprintf(note->text, sizeof note->text, "%" PRId64 " values are beyond F32: made infinite", r->overflows);
    if (code || last)
        array_reader_leave(r);
    return code;
}
