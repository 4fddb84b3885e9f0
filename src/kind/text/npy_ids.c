/* Reads token ids from NPY arrays and from Megatron's files.
 *
 * An NPY file may be compressed or come from a pipe, so its rows are read in order. Megatron's index is read in windows
 * of BL_ID_TABLE_WINDOW entries, and the ids of a sequence at once from the .bin file. */
#include "kind/text/npy_ids.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/buffer.h"
#include "base/fs.h"
#include "base/instream.h"
#include "base/io.h"
#include "kind/input_stat.h"
#include "kind/npy.h"

/* --- stored ids --------------------------------------------------------------------------------------------------- */

int64_t bl_id_number_read(const struct bl_id_number *type, const uint8_t *at)
{
    uint64_t value = 0;
    /* Bytes are put together one by one, since the data has no alignment. */
    for (size_t i = 0; i < type->size; i++)
        value |= (uint64_t)at[type->is_big_endian ? type->size - 1 - i : i] << (8 * i);
    size_t unused = 64 - 8 * type->size;
    if (!type->is_signed)
        return value > INT64_MAX ? INT64_MAX : (int64_t)value; /* bl_item_add_id refuses it: no id is so large */
    /* The two shifts extend the sign. */
    return (int64_t)(value << unused) >> unused;
}

int bl_id_table_read(struct bl_id_table *t, const struct bl_input_file *file, const char *path, int64_t i,
                     int64_t *number, struct bl_error *e)
{
    int64_t size = (int64_t)t->type.size;
    if (i < t->first || i - t->first >= t->held) {
        int64_t count = t->count - i < BL_ID_TABLE_WINDOW ? t->count - i : BL_ID_TABLE_WINDOW;
        t->held = 0; /* nothing, until the window is read */
        BL_TRY(bl_input_file_get(file, t->window, (size_t)(count * size), t->at + size * i, path, e));
        t->first = i;
        t->held = count;
    }
    *number = bl_id_number_read(&t->type, t->window + size * (i - t->first));
    return BL_OK;
}

/* Adds count ids at data to the row that was begun. An invalid id makes the row a skipped one (bl_item_add_id). */
static int id_numbers_add(struct bl_item *item, const struct bl_id_number *type, const uint8_t *data, size_t count,
                          struct bl_error *e)
{
    for (size_t i = 0; i < count; i++) {
        BL_TRY(bl_item_add_id(item, bl_id_number_read(type, data + i * type->size), e));
    }
    return BL_OK;
}

/* Completes the row: sets its content, and adds the marks that end a document, except to an empty one. */
static int id_numbers_end(struct bl_item *item, struct bl_error *e)
{
    bl_item_set_content(item);
    BL_TRY(item->ids.count ? bl_item_end_ids(item, e) : BL_OK);
    return bl_item_finish(item, e);
}

/* --- NPY arrays --------------------------------------------------------------------------------------------------- */

#define CHUNK_IDS ((size_t)8192) /* ids that are read at once: 64 KiB of the widest type */

/* An array that is being read. */
struct npy {
    struct bl_instream *stream;
    bool is_foreign; /* the file does not begin with NPY's magic */
    int64_t offset;  /* of the byte that is read next, in the uncompressed file */
};

/* Reads exactly size bytes. BL_EDATA: the file ends before. Sets is_foreign at the first read, for a better message. */
static int npy_read_exactly(void *context, void *data, size_t size, struct bl_error *e)
{
    struct npy *npy = context;
    size_t got = 1;
    for (size_t done = 0; done < size; done += got) {
        BL_TRY(bl_instream_read(npy->stream, (uint8_t *)data + done, size - done, &got, e));
        if (!got)
            return bl_error_set(e, BL_EDATA, "ends at byte %" PRId64 ": cut off", npy->offset + (int64_t)done);
    }
    npy->is_foreign |= !npy->offset && size >= BL_NPY_MAGIC_SIZE && memcmp(data, BL_NPY_MAGIC, BL_NPY_MAGIC_SIZE) != 0;
    npy->offset += (int64_t)size;
    return BL_OK;
}

/* Emits all rows of the array. A row that is too long is skipped, and its bytes are read all the same: the stream
 * cannot seek. BL_EDATA: the array has no integers, more than two dimensions, or columns as its contiguous axis. */
static int npy_read_rows(struct bl_item *item, struct npy *npy, const struct bl_cancel *cancel, bl_item_emit *emit,
                         void *context, struct bl_error *e)
{
    const struct bl_text_config *config = item->config;
    uint8_t chunk[CHUNK_IDS * 8];
    struct bl_npy header;
    struct bl_error fault = {0};
    int code = bl_npy_read(&header, npy_read_exactly, npy, &fault);
    if (code == BL_EDATA && npy->is_foreign)
        return bl_error_set(e, code, "%s: ids without a header are read with --token-file dtype=u16", fault.text);
    if (code)
        return bl_error_pass(e, code, &fault);
    enum bl_dtype dtype = header.dtype;
    bool is_signed = dtype == BL_I8 || dtype == BL_I16 || dtype == BL_I32 || dtype == BL_I64;
    /* A 1-D array has no order of axes. */
    bool is_flat = header.rank == 1;
    if (!is_signed && dtype != BL_U8 && dtype != BL_U16 && dtype != BL_U32 && dtype != BL_U64)
        return bl_error_set(e, BL_EDATA, "an array of %s: token ids are whole numbers (--kind array takes any)",
                            bl_dtype_name(dtype));
    if (header.rank < 1 || header.rank > 2)
        return bl_error_set(e, BL_EDATA, "not an array of one or two dimensions (--kind array takes more)");
    /* The rows of such an array are not contiguous. */
    if (!is_flat && header.fortran)
        return bl_error_set(e, BL_EDATA, "an array in Fortran order: save it in C order");
    const struct bl_id_number type = {bl_dtype_size(dtype), is_signed, header.big_endian};
    int64_t rows = is_flat ? 1 : header.shape[0], columns = header.shape[header.rank - 1];
    /* Rows without columns would all have the same offset, which must be unique: such a file counts as empty. */
    if (!columns && !is_flat)
        return BL_OK;
    for (int64_t r = 0; r < rows; r++) {
        if (bl_cancelled(cancel))
            return BL_ECANCEL;
        bl_item_begin(item, is_flat ? -1 : npy->offset);
        if (columns > config->max_document / (int64_t)type.size)
            bl_item_skip(item, "longer than %" PRId64 " bytes (--max-document)", config->max_document);
        BL_TRY(columns ? bl_item_add_marks(item, &config->prepared.begin, e) : BL_OK);
        for (int64_t done = 0; done < columns;) {
            size_t count = columns - done < (int64_t)CHUNK_IDS ? (size_t)(columns - done) : CHUNK_IDS;
            BL_TRY(npy_read_exactly(npy, chunk, count * type.size, e));
            BL_TRY(id_numbers_add(item, &type, chunk, count, e));
            done += (int64_t)count;
        }
        BL_TRY(id_numbers_end(item, e));
        BL_TRY(emit(context, item, e));
    }
    return BL_OK;
}

int bl_npy_ids_count(struct bl_item *item, const char *path, const struct bl_cancel *cancel, bl_item_emit *emit,
                     void *context, struct bl_error *e)
{
    struct npy npy = {.stream = NULL};
    BL_TRY(bl_instream_open(&npy.stream, path, 0, cancel, e));
    int code = npy_read_rows(item, &npy, cancel, emit, context, e);
    /* The rest of standard input belongs to its checksum, also behind a damaged header. */
    if (!code || code == BL_EDATA) {
        int drained = bl_instream_drain(npy.stream, &item->drained, e);
        code = drained ? drained : code;
    }
    bl_instream_close(npy.stream);
    return code;
}

/* --- Megatron's .idx and .bin files ------------------------------------------------------------------------------- */

/* An .idx file has a header of MEGATRON_HEAD bytes, then for its sequences
 *
 *     lengths    I32 [sequences]      in ids
 *     offsets    I64 [sequences]      in the .bin file, in bytes
 *     documents  I64 [entries]        the sequence with which each document begins, and last the number of sequences
 *
 * All numbers are little-endian. Three sequences in two documents, for example, have the entries 0, 2, 3. */
#define MEGATRON_HEAD 34 /* bytes: magic 9, version 8, dtype 1, sequences 8, documents 8 */

/* A pair of files that is being read. bin and bin_path stay unset where only the index is needed. */
struct megatron {
    struct bl_input_file idx, bin;
    char *bin_path;                                   /* owned */
    const char *path;                                 /* of the .idx file; the caller's */
    int64_t idx_bytes, bin_bytes, sequences, entries; /* entries of the document index */
    struct bl_id_table lengths, offsets, documents;   /* the tables of the .idx file */
    struct bl_id_number type;                         /* of the ids in the .bin file */
    uint8_t *data;                                    /* owned; the ids of a sequence as stored */
    size_t capacity;
};

/* Reads a number of the index. */
static int64_t int64_read(const uint8_t *at)
{
    static const struct bl_id_number type = {8, true, false};
    return bl_id_number_read(&type, at);
}

/* Returns the path of the .bin file, which the caller frees, or NULL if memory ran out. path ends with ".idx". */
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
    bool there = bin && bl_input_file_stat(bin, &status) == 0;
    free(bin);
    if (!there)
        return 0;
    /* A file that is written again has another time, and mostly another size. */
    const int64_t parts[] = {status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
    return XXH3_64bits(parts, sizeof parts);
}

/* Opens a file for reading. BL_EDATA: it is no regular file, as the name of the .bin file may be that of a folder or a
 * pipe. The caller closes the file also after that error. */
static int megatron_open_file(const char *path, struct bl_input_file *file, int64_t *bytes, struct bl_error *e)
{
    if (bl_input_file_open(file, path) != 0)
        return bl_opener_fail("cannot open", path, bl_errno_is_system(errno) ? BL_EFAIL : BL_EDATA, e);
    *bytes = file->status.st_size;
    if (!S_ISREG(file->status.st_mode))
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

/* Reads the header of the .idx file. BL_EDATA: it is none, or the file has another size than the header says. */
static int megatron_read_head(struct megatron *m, struct bl_error *e)
{
    /* The codes of types in Megatron: 1 is uint8, 2 int8, 3 int16, 4 int32, 5 int64, 8 uint16; 6 and 7 are floats. */
    static const struct bl_id_number types[] = {
        [1] = {1, false, false}, [2] = {1, true, false}, [3] = {2, true, false},
        [4] = {4, true, false},  [5] = {8, true, false}, [8] = {2, false, false}};
    uint8_t head[MEGATRON_HEAD];
    if (m->idx_bytes < MEGATRON_HEAD)
        return bl_error_set(e, BL_EDATA, "not an .idx file of Megatron");
    BL_TRY(bl_input_file_get(&m->idx, head, sizeof head, 0, m->path, e));
    /* The magic is followed by the version, a number of 8 bytes. */
    if (memcmp(head, "MMIDIDX\0\0", 9) != 0 || int64_read(head + 9) != 1)
        return bl_error_set(e, BL_EDATA, "not an .idx file of Megatron, version 1");
    uint8_t type = head[17];
    if (type >= sizeof types / sizeof *types || !types[type].size)
        return bl_error_set(e, BL_EDATA, "values of type %d: token ids are whole numbers", type);
    m->type = types[type];
    m->sequences = int64_read(head + 18);
    m->entries = int64_read(head + 26);
    /* The bound keeps the products below from overflowing. */
    int64_t max = m->idx_bytes / 8;
    if (m->sequences < 0 || m->entries < 0 || m->sequences > max || m->entries > max ||
        MEGATRON_HEAD + 12 * m->sequences + 8 * m->entries != m->idx_bytes)
        return bl_error_set(e, BL_EDATA,
                            "%" PRId64 " bytes are not what %" PRId64 " sequences and %" PRId64 " documents take",
                            m->idx_bytes, m->sequences, m->entries);
    m->lengths.type = (struct bl_id_number){4, true, false};
    m->offsets.type = m->documents.type = (struct bl_id_number){8, true, false};
    m->lengths.count = m->offsets.count = m->sequences;
    m->documents.count = m->entries;
    m->lengths.at = MEGATRON_HEAD;
    m->offsets.at = MEGATRON_HEAD + 4 * m->sequences;
    m->documents.at = MEGATRON_HEAD + 12 * m->sequences;
    return BL_OK;
}

/* Opens both files, and reads the header. The caller closes what is open also after an error. */
static int megatron_open(struct megatron *m, const char *path, struct bl_error *e)
{
    if (!bl_path_has_suffix(path, ".idx"))
        return bl_error_set(
            e, BL_EDATA, "Megatron's data are named by their .idx file (a flat file of ids: --token-file dtype=u16)");
    m->path = path;
    m->bin_path = megatron_bin_path(path);
    if (!m->bin_path)
        return bl_error_memory(e);
    BL_TRY(megatron_open_file(path, &m->idx, &m->idx_bytes, e));
    BL_TRY(megatron_open_file(m->bin_path, &m->bin, &m->bin_bytes, e));
    return megatron_read_head(m, e);
}

/* Sets *length (ids) and *at (bytes in the .bin file) to those of sequence s. */
static int megatron_find_sequence(struct megatron *m, int64_t s, int64_t *length, int64_t *at, struct bl_error *e)
{
    BL_TRY(bl_id_table_read(&m->lengths, &m->idx, m->path, s, length, e));
    return bl_id_table_read(&m->offsets, &m->idx, m->path, s, at, e);
}

/* Makes a row of the sequences from first up to end. offset: of the entry in the .idx file that names the row. The
 * offset of its ids in the .bin file would not be unique, since empty sequences share it. Skips the item if a sequence
 * lies outside the .bin file, or if the sum of the sequences exceeds --max-document. */
static int megatron_read_row(struct megatron *m, struct bl_item *item, int64_t offset, int64_t first, int64_t end,
                             struct bl_error *e)
{
    int64_t bytes = 0, length = 0, at = 0, max = item->config->max_document;
    bl_item_begin(item, offset);
    /* All sequences are checked before the first id is read: a row is complete, or skipped. */
    for (int64_t s = first; s < end; s++) {
        BL_TRY(megatron_find_sequence(m, s, &length, &at, e));
        /* A length has 31 bits, so size cannot overflow. */
        int64_t size = length * (int64_t)m->type.size;
        if (length < 0 || at < 0 || at > m->bin_bytes || size > m->bin_bytes - at)
            return bl_item_skip(item,
                                "%" PRId64 " tokens from byte %" PRId64 " are beyond the .bin file (%" PRId64 " bytes)",
                                length, at, m->bin_bytes);
        if (size > max - bytes)
            return bl_item_skip(item, "longer than %" PRId64 " bytes (--max-document)", max);
        bytes += size;
    }
    if (!bytes)
        return bl_item_skip(item, "%s", BL_REASON_EMPTY);
    BL_TRY(bl_item_add_marks(item, &item->config->prepared.begin, e));
    for (int64_t s = first; s < end; s++) {
        BL_TRY(megatron_find_sequence(m, s, &length, &at, e));
        if (!length)
            continue;
        size_t size = (size_t)length * m->type.size;
        BL_TRY(BL_ARRAY_RESERVE(m->data, m->capacity, size, e));
        BL_TRY(bl_input_file_get(&m->bin, m->data, size, at, m->bin_path, e));
        BL_TRY(id_numbers_add(item, &m->type, m->data, (size_t)length, e));
    }
    return id_numbers_end(item, e);
}

/* Emits one row for each sequence. */
static int megatron_read_sequences(struct megatron *m, struct bl_item *item, const struct bl_cancel *cancel,
                                   bl_item_emit *emit, void *context, struct bl_error *e)
{
    for (int64_t s = 0; s < m->sequences; s++) {
        /* Asking once for each window of the index is often enough. */
        if (s % BL_ID_TABLE_WINDOW == 0 && bl_cancelled(cancel))
            return BL_ECANCEL;
        BL_TRY(megatron_read_row(m, item, MEGATRON_HEAD + 4 * s, s, s + 1, e));
        BL_TRY(emit(context, item, e));
    }
    return BL_OK;
}

/* --- documents ---------------------------------------------------------------------------------------------------- */

/* Checks that `is` is a possible value of entry d of the document index after an entry of the value `before`: the first
 * entry is 0, the last one is the number of sequences, and entries never decrease. BL_EDATA: it is none. hint: the
 * option that reads the file nevertheless, or "". */
static int megatron_check_entry(const struct megatron *m, int64_t d, int64_t before, int64_t is, const char *hint,
                                struct bl_error *e)
{
    if (is >= before && is <= m->sequences && (d || !is) && (d < m->entries - 1 || is == m->sequences))
        return BL_OK;
    return bl_error_set(e, BL_EDATA,
                        "entry %" PRId64 " of the document index is %" PRId64 ": it must go from 0 to the %" PRId64
                        " sequences, and never back%s",
                        d, is, m->sequences, hint);
}

/* Emits one row for each document. The document of entry d - 1 ends where entry d begins, so there is one row fewer
 * than entries. */
static int megatron_read_documents(struct megatron *m, struct bl_item *item, const struct bl_cancel *cancel,
                                   bl_item_emit *emit, void *context, struct bl_error *e)
{
    int64_t begin = 0, end = 0;
    if (!m->entries)
        return bl_error_set(e, BL_EDATA, "there is no document index (--megatron sequence needs none)");
    for (int64_t d = 0; d < m->entries; d++, begin = end) {
        if (d % BL_ID_TABLE_WINDOW == 0 && bl_cancelled(cancel))
            return BL_ECANCEL;
        BL_TRY(bl_id_table_read(&m->documents, &m->idx, m->path, d, &end, e));
        int code = megatron_check_entry(m, d, begin, end, "", e);
        if (code) {
            /* The row that is begun here gives the caller the offset of the damage. */
            bl_item_begin(item, m->documents.at + 8 * d);
            return code;
        }
        if (!d)
            continue;
        BL_TRY(megatron_read_row(m, item, m->documents.at + 8 * (d - 1), begin, end, e));
        BL_TRY(emit(context, item, e));
    }
    return BL_OK;
}

int bl_megatron_count(struct bl_item *item, const char *path, const struct bl_cancel *cancel, bl_item_emit *emit,
                      void *context, struct bl_error *e)
{
    struct megatron m = {.idx.fd = -1, .bin.fd = -1};
    int code = megatron_open(&m, path, e);
    if (!code)
        code = item->config->megatron == BL_MEGATRON_DOCUMENT
                   ? megatron_read_documents(&m, item, cancel, emit, context, e)
                   : megatron_read_sequences(&m, item, cancel, emit, context, e);
    bl_input_file_close(&m.idx);
    bl_input_file_close(&m.bin);
    free(m.bin_path);
    free(m.data);
    return code;
}

/* --- documents by their bytes ------------------------------------------------------------------------------------- */

/* The index alone: the .bin file is read as a flat file of ids. */
struct bl_megatron_documents {
    struct megatron m;
    bool are_sequences; /* each sequence is a document */
};

/* Opens the .idx file and reads its header. *documents is set also after an error. */
static int documents_open(struct bl_megatron_documents **documents, const char *path, struct bl_error *e)
{
    *documents = calloc(1, sizeof **documents);
    if (!*documents)
        return bl_error_memory(e);
    struct megatron *m = &(*documents)->m;
    m->idx.fd = m->bin.fd = -1;
    m->path = path;
    BL_TRY(megatron_open_file(path, &m->idx, &m->idx_bytes, e));
    return megatron_read_head(m, e);
}

int bl_megatron_type(const char *path, struct bl_id_number *type, struct bl_error *e)
{
    struct bl_megatron_documents *documents;
    int code = documents_open(&documents, path, e);
    if (!code)
        *type = documents->m.type;
    bl_megatron_documents_close(documents);
    return code;
}

/* Checks that the sequences follow each other without gaps and fill the .bin file, and then all entries of the document
 * index, unless each sequence is a document. Messages name the byte in the .idx file. */
int bl_megatron_documents_open(struct bl_megatron_documents **documents, const char *path, int64_t bin_bytes,
                               bool sequences, const struct bl_cancel *cancel, struct bl_error *e)
{
    BL_TRY(documents_open(documents, path, e));
    struct megatron *m = &(*documents)->m;
    int64_t expected = 0, length = 0, at = 0, before = 0, is = 0;
    (*documents)->are_sequences = sequences;
    m->bin_bytes = bin_bytes;
    for (int64_t s = 0; s < m->sequences; s++) {
        if (s % BL_ID_TABLE_WINDOW == 0 && bl_cancelled(cancel))
            return BL_ECANCEL;
        BL_TRY(megatron_find_sequence(m, s, &length, &at, e));
        if (length < 0 || length > (bin_bytes - expected) / (int64_t)m->type.size)
            return bl_error_set(e, BL_EDATA,
                                "byte %" PRId64 ": sequence %" PRId64 " has %" PRId64 " tokens from byte %" PRId64
                                " on, and the .bin file has %" PRId64 " bytes",
                                MEGATRON_HEAD + 4 * s, s, length, expected, bin_bytes);
        if (at != expected)
            return bl_error_set(e, BL_EDATA,
                                "byte %" PRId64 ": sequence %" PRId64 " begins at byte %" PRId64
                                " of the .bin file, and those before it end at %" PRId64
                                " (without --token-file, the .idx file may have any order)",
                                m->offsets.at + 8 * s, s, at, expected);
        expected += length * (int64_t)m->type.size;
    }
    if (expected != bin_bytes)
        return bl_error_set(e, BL_EDATA, "its %" PRId64 " sequences have %" PRId64 " bytes, and the .bin file %" PRId64,
                            m->sequences, expected, bin_bytes);
    if (!sequences && !m->entries)
        return bl_error_set(e, BL_EDATA, "there is no document index (--token-file sequences needs none)");
    for (int64_t d = 0; !sequences && d < m->entries; d++, before = is) {
        if (d % BL_ID_TABLE_WINDOW == 0 && bl_cancelled(cancel))
            return BL_ECANCEL;
        BL_TRY(bl_id_table_read(&m->documents, &m->idx, m->path, d, &is, e));
        int code = megatron_check_entry(m, d, before, is, " (--token-file sequences needs none)", e);
        if (code) {
            bl_error_prefix(e, "byte %" PRId64, m->documents.at + 8 * d);
            return code;
        }
    }
    return BL_OK;
}

int64_t bl_megatron_documents_count(const struct bl_megatron_documents *documents)
{
    return documents->are_sequences ? documents->m.sequences : documents->m.entries - 1;
}

int bl_megatron_documents_end(struct bl_megatron_documents *documents, int64_t d, int64_t *end, struct bl_error *e)
{
    struct megatron *m = &documents->m;
    /* The document ends where the next one begins. The last one, and documents before empty ones at the end, end with
     * the file. */
    int64_t next = d + 1, length = 0;
    *end = m->bin_bytes;
    if (!documents->are_sequences)
        BL_TRY(bl_id_table_read(&m->documents, &m->idx, m->path, d + 1, &next, e));
    return next >= m->sequences ? BL_OK : megatron_find_sequence(m, next, &length, end, e);
}

void bl_megatron_documents_close(struct bl_megatron_documents *documents)
{
    if (documents)
        bl_input_file_close(&documents->m.idx);
    free(documents);
}
