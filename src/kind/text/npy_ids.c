#include "kind/text/npy_ids.h"

#include <inttypes.h>
#include <string.h>

#include "base/instream.h"
#include "kind/npy.h"

/* --- id numbers --------------------------------------------------------------------------------------------------- */

/* Token ids as whole numbers of any size in files, and the rows that are made of them. */

int64_t bl_id_number_read(const struct bl_id_number *type, const uint8_t *at)
{
    uint64_t value = 0;
    for (size_t i = 0; i < type->size; i++)
        value |= (uint64_t)at[type->is_big_endian ? type->size - 1 - i : i] << (8 * i);
    size_t unused = 64 - 8 * type->size;
    if (!type->is_signed)
        return value > INT64_MAX ? INT64_MAX : (int64_t)value; /* refused: no id is so large */
    return (int64_t)(value << unused) >> unused;
}

int bl_id_numbers_add(struct bl_item *item, const struct bl_id_number *type, const uint8_t *data, size_t count,
                      struct bl_error *e)
{
    for (size_t i = 0; i < count; i++) {
        int code = bl_item_add_id(item, bl_id_number_read(type, data + i * type->size), e);
        if (code)
            return code;
    }
    return BL_OK;
}

int bl_id_numbers_end(struct bl_item *item, struct bl_error *e)
{
    bl_item_set_content(item);
    int code = item->ids.count ? bl_item_end_ids(item, e) : BL_OK;
    if (code)
        return code;
    return bl_item_finish(item, e);
}

/* --- npy ids ------------------------------------------------------------------------------------------------------ */

#define CHUNK_IDS ((size_t)8192)

struct npy {
    struct bl_instream *stream;
    struct bl_id_number type;
    int64_t rows, columns; /* of the array; a 1-D one has one row */
    bool is_flat;
    bool is_foreign; /* it begins with something else than NPY's magic */
    int64_t offset;  /* of the byte that is read next */
};

/* Reads exactly size bytes. */
static int npy_read_exactly(void *context, void *data, size_t size, struct bl_error *e)
{
    struct npy *npy = context;
    size_t got = 1;
    for (size_t done = 0; done < size; done += got) {
        int code = bl_instream_read(npy->stream, (uint8_t *)data + done, size - done, &got, e);
        if (code)
            return code;
        if (!got)
            return bl_error_set(e, BL_EDATA, "ends at byte %" PRId64 ": cut off", npy->offset + (int64_t)done);
    }
    npy->is_foreign |= !npy->offset && size >= BL_NPY_MAGIC_SIZE && memcmp(data, BL_NPY_MAGIC, BL_NPY_MAGIC_SIZE) != 0;
    npy->offset += (int64_t)size;
    return BL_OK;
}

/* Reads the header: the array must have whole numbers, one or two dimensions, and contiguous rows. */
static int npy_read_header(struct npy *npy, struct bl_error *e)
{
    struct bl_npy header;
    struct bl_error fault = {0};
    int code = bl_npy_read(&header, npy_read_exactly, npy, &fault);
    if (code == BL_EDATA && npy->is_foreign)
        return bl_error_set(e, code, "%s: ids without a header are read with --token-file dtype=u16", fault.text);
    if (code)
        return bl_error_set(e, code, "%s", fault.text);
    enum bl_dtype dtype = header.dtype;
    bool is_signed = dtype == BL_I8 || dtype == BL_I16 || dtype == BL_I32 || dtype == BL_I64;
    if (!is_signed && dtype != BL_U8 && dtype != BL_U16 && dtype != BL_U32 && dtype != BL_U64)
        return bl_error_set(e, BL_EDATA, "an array of %s: token ids are whole numbers (--kind array takes any)",
                            bl_dtype_name(dtype));
    if (header.rank < 1 || header.rank > 2)
        return bl_error_set(e, BL_EDATA, "not an array of one or two dimensions (--kind array takes more)");
    npy->is_flat = header.rank == 1;
    if (!npy->is_flat && header.fortran)
        return bl_error_set(e, BL_EDATA, "an array in Fortran order: save it in C order");
    npy->type = (struct bl_id_number){bl_dtype_size(dtype), is_signed, header.big_endian};
    npy->rows = npy->is_flat ? 1 : header.shape[0];
    npy->columns = header.shape[header.rank - 1];
    return BL_OK;
}

/* Reads a row into the item. The bytes of a row that is too long are skipped. */
static int npy_read_row(struct bl_item *item, struct npy *npy, struct bl_error *e)
{
    const struct bl_text_config *config = item->config;
    uint8_t chunk[CHUNK_IDS * 8];
    bl_item_begin(item, npy->is_flat ? -1 : npy->offset);
    if (npy->columns > config->max_document / (int64_t)npy->type.size)
        bl_item_skip(item, "longer than %" PRId64 " bytes (--max-document)", config->max_document);
    int code = npy->columns ? bl_item_add_marks(item, &config->prepared.begin, e) : BL_OK;
    if (code)
        return code;
    for (int64_t done = 0; done < npy->columns;) {
        size_t count = npy->columns - done < (int64_t)CHUNK_IDS ? (size_t)(npy->columns - done) : CHUNK_IDS;
        code = npy_read_exactly(npy, chunk, count * npy->type.size, e);
        if (code)
            return code;
        code = bl_id_numbers_add(item, &npy->type, chunk, count, e);
        if (code)
            return code;
        done += (int64_t)count;
    }
    return bl_id_numbers_end(item, e);
}

static int npy_read_rows(struct bl_item *item, struct npy *npy, const struct bl_cancel *cancel, bl_item_emit *emit,
                         void *context, struct bl_error *e)
{
    int code = npy_read_header(npy, e);
    if (code)
        return code;
    /* Rows without columns all have the same offset: such a file is empty. */
    if (!npy->columns && !npy->is_flat)
        return BL_OK;
    for (int64_t r = 0; r < npy->rows; r++) {
        if (bl_cancelled(cancel))
            return BL_ECANCEL;
        code = npy_read_row(item, npy, e);
        if (!code)
            code = emit(context, item, e);
        if (code)
            return code;
    }
    return BL_OK;
}

int bl_npy_ids_count(struct bl_item *item, const char *path, const struct bl_cancel *cancel, bl_item_emit *emit,
                     void *context, struct bl_error *e)
{
    struct npy npy = {.stream = NULL};
    int code = bl_instream_open(&npy.stream, path, 0, cancel, e);
    if (code)
        return code;
    code = npy_read_rows(item, &npy, cancel, emit, context, e);
    if (!code || code == BL_EDATA) {
        int drained = bl_instream_drain(npy.stream, &item->drained, e);
        code = drained ? drained : code;
    }
    bl_instream_close(npy.stream);
    return code;
}
