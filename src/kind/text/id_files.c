#include "kind/text/id_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/array.h"
#include "base/path.h"
#include "base/instream.h"
#include "base/io.h"
#include "kind/content.h"
#include "kind/npy.h"

#define CHUNK_IDS ((size_t)8192)
#define INDEX_CHUNK ((int64_t)4096) /* sequences of an .idx */

/* Whole numbers in a file. */
struct number {
    size_t size; /* bytes */
    bool is_signed, is_big_endian;
};

static int64_t number_read(const struct number *type, const uint8_t *at)
{
    uint64_t value = 0;
    for (size_t i = 0; i < type->size; i++)
        value |= (uint64_t)at[type->is_big_endian ? type->size - 1 - i : i] << (8 * i);
    size_t unused = 64 - 8 * type->size;
    if (!type->is_signed)
        return value > INT64_MAX ? INT64_MAX : (int64_t)value; /* refused: no id is so large */
    return (int64_t)(value << unused) >> unused;
}

static int ids_add(struct bl_item *item, const struct number *type, const uint8_t *data, size_t count,
                   struct bl_error *e)
{
    for (size_t i = 0; i < count; i++) {
        int code = bl_item_add_id(item, number_read(type, data + i * type->size), e);
        if (code)
            return code;
    }
    return BL_OK;
}

/* Completes a row of ids. */
static int ids_end(struct bl_item *item, struct bl_error *e)
{
    bl_item_set_content(item);
    int code = item->ids.count ? bl_item_add_marks(item, &item->config->prepared.end, e) : BL_OK;
    if (code)
        return code;
    return bl_item_finish(item, e);
}

/* --- NPY -------------------------------------------------------------------------------------------------------- */

struct npy {
    struct bl_instream *stream;
    struct number type;
    int64_t rows, columns; /* of the array; a 1-D one has one row */
    bool is_flat;
    int64_t offset; /* of the byte that is read next */
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
    npy->offset += (int64_t)size;
    return BL_OK;
}

/* Reads the header: the array must have whole numbers, one or two dimensions, and contiguous rows. */
static int npy_read_header(struct npy *npy, struct bl_error *e)
{
    struct bl_npy header;
    int code = bl_npy_read(&header, npy_read_exactly, npy, e);
    if (code)
        return code;
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
    npy->type = (struct number){bl_dtype_size(dtype), is_signed, header.big_endian};
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
        code = ids_add(item, &npy->type, chunk, count, e);
        if (code)
            return code;
        done += (int64_t)count;
    }
    return ids_end(item, e);
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

int bl_id_files_count_npy(struct bl_item *item, const char *path, const struct bl_cancel *cancel, bl_item_emit *emit,
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

/* --- Megatron --------------------------------------------------------------------------------------------------- */

#define MEGATRON_HEAD 34 /* bytes: magic 9, version 8, dtype 1, sequences 8, documents 8 */

struct megatron {
    int idx, bin;
    char *bin_path;
    const char *path;
    int64_t idx_bytes, bin_bytes, sequences;
    struct number type;
    uint8_t *data; /* of a sequence */
    size_t capacity;
};

static int64_t int64_read(const uint8_t *at)
{
    static const struct number type = {8, true, false};
    return number_read(&type, at);
}

/* The path of the .bin file, to be freed; NULL: out of memory. */
static char *megatron_bin_path(const char *path)
{
    char *bin = strdup(path);
    if (bin)
        memcpy(bin + strlen(bin) - 4, ".bin", 4);
    return bin;
}

uint64_t bl_megatron_stamp(const char *path)
{
    struct stat status;
    char *bin = bl_path_has_suffix(path, ".idx") ? megatron_bin_path(path) : NULL;
    bool there = bin && stat(bin, &status) == 0;
    free(bin);
    if (!there)
        return 0;
    const int64_t parts[] = {status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
    return XXH3_64bits(parts, sizeof parts);
}

/* Opens a regular file: beside an index anything may bear the name of its .bin file. */
static int megatron_open_file(const char *path, int *fd, struct stat *status, struct bl_error *e)
{
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not block */
    if (*fd < 0)
        return bl_error_errno(e, bl_errno_is_system(errno) ? BL_EFAIL : BL_EDATA, "cannot open %s", path);
    if (fstat(*fd, status) != 0)
        return bl_error_errno(e, BL_EFAIL, "cannot stat %s", path);
    if (!S_ISREG(status->st_mode))
        return bl_error_set(e, BL_EDATA, "%s: not a regular file", path);
    return BL_OK;
}

int bl_megatron_content(const char *path, uint64_t *content, struct bl_error *e)
{
    char *bin = bl_path_has_suffix(path, ".idx") ? megatron_bin_path(path) : NULL;
    int code = bin ? bl_content_hash_file(bin, content, e) : BL_OK;
    free(bin);
    return code;
}

static int megatron_open(struct megatron *m, const char *path, struct bl_error *e)
{
    struct stat status = {0};
    if (!bl_path_has_suffix(path, ".idx"))
        return bl_error_set(e, BL_EDATA, "Megatron's data are named by their .idx file");
    m->path = path;
    m->bin_path = megatron_bin_path(path);
    if (!m->bin_path)
        return bl_error_memory(e);
    int code = megatron_open_file(path, &m->idx, &status, e);
    if (code)
        return code;
    m->idx_bytes = status.st_size;
    code = megatron_open_file(m->bin_path, &m->bin, &status, e);
    m->bin_bytes = status.st_size;
    return code;
}

static int megatron_read_head(struct megatron *m, struct bl_error *e)
{
    static const struct number types[] = {[1] = {1, false, false}, [2] = {1, true, false}, [3] = {2, true, false},
                                          [4] = {4, true, false},  [5] = {8, true, false}, [8] = {2, false, false}};
    uint8_t head[MEGATRON_HEAD];
    if (m->idx_bytes < MEGATRON_HEAD)
        return bl_error_set(e, BL_EDATA, "not an .idx file of Megatron");
    int code = bl_io_pread(m->idx, head, sizeof head, 0, m->path, e);
    if (code)
        return code;
    if (memcmp(head, "MMIDIDX\0\0", 9) != 0 || int64_read(head + 9) != 1)
        return bl_error_set(e, BL_EDATA, "not an .idx file of Megatron, version 1");
    uint8_t type = head[17];
    if (type >= sizeof types / sizeof *types || !types[type].size)
        return bl_error_set(e, BL_EDATA, "values of type %d: token ids are whole numbers", type);
    m->type = types[type];
    m->sequences = int64_read(head + 18);
    int64_t documents = int64_read(head + 26), max = m->idx_bytes / 8;
    if (m->sequences < 0 || documents < 0 || m->sequences > max || documents > max ||
        MEGATRON_HEAD + 12 * m->sequences + 8 * documents != m->idx_bytes)
        return bl_error_set(e, BL_EDATA,
                            "%" PRId64 " bytes are not what %" PRId64 " sequences and %" PRId64 " documents take",
                            m->idx_bytes, m->sequences, documents);
    return BL_OK;
}

static int megatron_read_sequence(struct megatron *m, struct bl_item *item, int64_t length, int64_t at,
                                  struct bl_error *e)
{
    const struct bl_text_config *config = item->config;
    int64_t bytes = length * (int64_t)m->type.size;
    if (length < 0 || at < 0 || at > m->bin_bytes || bytes > m->bin_bytes - at)
        return bl_item_skip(item,
                            "%" PRId64 " tokens from byte %" PRId64 " are beyond the .bin file (%" PRId64 " bytes)",
                            length, at, m->bin_bytes);
    if (bytes > config->max_document)
        return bl_item_skip(item, "longer than %" PRId64 " bytes (--max-document)", config->max_document);
    if (!length)
        return bl_item_skip(item, "%s", BL_REASON_EMPTY);
    int code = BL_ARRAY_RESERVE(m->data, m->capacity, (size_t)bytes, e);
    if (code)
        return code;
    code = bl_io_pread(m->bin, m->data, (size_t)bytes, at, m->bin_path, e);
    if (code)
        return code;
    code = bl_item_add_marks(item, &config->prepared.begin, e);
    if (code)
        return code;
    code = ids_add(item, &m->type, m->data, (size_t)length, e);
    if (code)
        return code;
    return ids_end(item, e);
}

/* Reads count sequences from number `first` on: the index has a table of their lengths and one of their offsets. */
static int megatron_read_sequences(struct megatron *m, struct bl_item *item, int64_t first, int64_t count,
                                   bl_item_emit *emit, void *context, struct bl_error *e)
{
    static const struct number length_type = {4, true, false};
    uint8_t lengths[4 * INDEX_CHUNK], offsets[8 * INDEX_CHUNK];
    int code = bl_io_pread(m->idx, lengths, (size_t)count * 4, MEGATRON_HEAD + 4 * first, m->path, e);
    if (code)
        return code;
    code = bl_io_pread(m->idx, offsets, (size_t)count * 8, MEGATRON_HEAD + 4 * m->sequences + 8 * first, m->path, e);
    if (code)
        return code;
    for (int64_t s = 0; s < count; s++) {
        bl_item_begin(item, MEGATRON_HEAD + 4 * (first + s)); /* not its offset in the .bin, which empty ones share */
        code =
            megatron_read_sequence(m, item, number_read(&length_type, lengths + 4 * s), int64_read(offsets + 8 * s), e);
        if (!code)
            code = emit(context, item, e);
        if (code)
            return code;
    }
    return BL_OK;
}

int bl_id_files_count_megatron(struct bl_item *item, const char *path, const struct bl_cancel *cancel,
                               bl_item_emit *emit, void *context, struct bl_error *e)
{
    struct megatron m = {.idx = -1, .bin = -1};
    int code = megatron_open(&m, path, e);
    if (code)
        goto out;
    code = megatron_read_head(&m, e);
    if (code)
        goto out;
    for (int64_t first = 0; first < m.sequences && !code; first += INDEX_CHUNK) {
        int64_t count = m.sequences - first < INDEX_CHUNK ? m.sequences - first : INDEX_CHUNK;
        code = bl_cancelled(cancel) ? BL_ECANCEL : megatron_read_sequences(&m, item, first, count, emit, context, e);
    }
out:
    if (m.idx >= 0)
        close(m.idx);
    if (m.bin >= 0)
        close(m.bin);
    free(m.bin_path);
    free(m.data);
    return code;
}
