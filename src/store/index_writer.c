/* Writing the index. The same code serializes the tables of a plan to a file and to a digest, in chunks.
 *
 * A plan in memory has no table of starts, and none of lengths if all pieces are complete sequences: both follow from
 * the lengths of all sequences, and are computed while they are written. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fs.h"
#include "base/output.h"
#include "store/format.h"
#include "store/index.h"

#define CHUNK 4096 /* elements converted at a time */

/* --- tables ------------------------------------------------------------------------------------------------------- */

/* Passes bytes of the tables of a plan, in file order, to a checksum or, if sum is NULL, to a file. */
static int bytes_put(struct bl_checksum_state *sum, struct bl_output *out, const void *data, size_t size,
                     struct bl_error *e)
{
    if (!sum)
        return bl_output_write(out, data, size, e);
    bl_checksum_add(sum, data, size);
    return BL_OK;
}

/* The lengths of the pieces of a plan. The digest and the file each need all lengths twice: for the table "length", and
 * to compute the table "start". */
struct lengths {
    const int64_t *length; /* by sequence, for bl_plan_piece_length */
    int32_t *piece; /* [P] looked up once, since lookups by sequence are in random order; NULL: the plan has them,
                       or there was not enough memory */
};

/* Looks up the lengths of all pieces. The caller frees the member piece. */
static struct lengths lengths_of(const struct bl_plan *plan, const int64_t *length)
{
    struct lengths lengths = {length, NULL};
    if (!plan->length)
        lengths.piece = malloc((plan->pieces + 1) * sizeof *lengths.piece);
    for (size_t p = 0; lengths.piece && p < plan->pieces; p++) {
        bl_plan_prefetch_length(plan, length, p);
        lengths.piece[p] = (int32_t)bl_plan_piece_length(plan, length, p);
    }
    return lengths;
}

/* Returns the steps of piece p. */
static int64_t piece_length(const struct lengths *lengths, const struct bl_plan *plan, size_t p)
{
    return lengths->piece ? lengths->piece[p] : bl_plan_piece_length(plan, lengths->length, p);
}

/* A cursor over blocks and pieces: the start of a piece follows from the pieces before it in its block. */
struct cursor {
    int64_t block;
    int32_t start;
};

/* Returns the value of piece p in a table. Call it for all pieces in order, with one cursor per pass. */
static int64_t plan_element(enum bl_index_table table, struct cursor *at, const struct bl_plan *plan,
                            const struct lengths *lengths, size_t p)
{
    if (table == BL_INDEX_SEQUENCE)
        return plan->sequence[p];
    if (table == BL_INDEX_SOURCE_START)
        return plan->source_start ? plan->source_start[p] : 0;
    int64_t length = piece_length(lengths, plan, p);
    if (table == BL_INDEX_LENGTH)
        return length;
    for (; plan->block_ptr[at->block + 1] <= (int64_t)p; at->block++)
        at->start = 0;
    int32_t start = at->start;
    at->start = (int32_t)bl_plan_next_start(plan, start, length);
    return start;
}

/* Passes the bytes of one table of P elements to bytes_put. */
static int plan_serialize_table(enum bl_index_table table, const struct bl_plan *plan, const struct lengths *lengths,
                                struct bl_checksum_state *sum, struct bl_output *out, struct bl_error *e)
{
    union {
        int64_t wide[CHUNK];
        int32_t narrow[CHUNK];
    } chunk;
    struct cursor at = {0};
    bool is_wide = bl_index_table_types[table].dtype == BL_I64;
    int code = BL_OK;
    for (size_t p = 0; p < plan->pieces && !code;) {
        size_t n = 0;
        for (; n < CHUNK && p < plan->pieces; n++, p++) {
            int64_t value = plan_element(table, &at, plan, lengths, p);
            if (is_wide)
                chunk.wide[n] = value;
            else
                chunk.narrow[n] = (int32_t)value;
        }
        code = bytes_put(sum, out, &chunk, n * (is_wide ? sizeof *chunk.wide : sizeof *chunk.narrow), e);
    }
    return code;
}

/* Passes the bytes of a table of own field f to bytes_put: the steps of the pieces, or their starts. */
static int plan_serialize_own(int f, bool is_start, const struct bl_plan *plan, struct bl_checksum_state *sum,
                              struct bl_output *out, struct bl_error *e)
{
    int32_t chunk[CHUNK];
    int64_t block = 0, start = 0;
    int code = BL_OK;
    for (size_t p = 0; p < plan->pieces && !code;) {
        size_t n = 0;
        for (; n < CHUNK && p < plan->pieces; n++, p++) {
            int64_t steps = bl_plan_own_length(plan, f, p);
            for (; plan->block_ptr[block + 1] <= (int64_t)p; block++)
                start = 0;
            chunk[n] = (int32_t)(is_start ? start : steps);
            start += steps;
        }
        code = bytes_put(sum, out, chunk, n * sizeof *chunk, e);
    }
    return code;
}

/* Passes the bytes of all tables of a plan to bytes_put, in file order. */
static int plan_serialize(const struct bl_plan *plan, const struct lengths *lengths, struct bl_checksum_state *sum,
                          struct bl_output *out, struct bl_error *e)
{
    int code = bytes_put(sum, out, plan->block_ptr, (plan->blocks + 1) * sizeof *plan->block_ptr, e);
    for (int t = BL_INDEX_SEQUENCE; t < BL_INDEX_TABLES && !code; t++)
        code = plan_serialize_table((enum bl_index_table)t, plan, lengths, sum, out, e);
    for (int f = 0; f < plan->own.count && !code; f++) {
        code = plan_serialize_own(f, false, plan, sum, out, e);
        if (!code)
            code = plan_serialize_own(f, true, plan, sum, out, e);
    }
    return code;
}

/* Computes XXH3 over T and the tables, as bl_index_plan_digest does over a file. */
static int plan_digest(const struct bl_plan *plan, const struct lengths *lengths, char digest[BL_DIGEST_SIZE],
                       struct bl_error *e)
{
    struct bl_checksum_state sum;
    bl_checksum_begin(&sum);
    bl_checksum_add(&sum, &plan->T, sizeof plan->T);
    for (int f = 0; f < plan->own.count; f++)
        bl_checksum_add(&sum, &plan->own.field[f].capacity, sizeof plan->own.field[f].capacity);
    int code = plan_serialize(plan, lengths, &sum, NULL, e);
    bl_checksum_format(bl_checksum_end(&sum), digest);
    return code;
}

int bl_plan_digest(const struct bl_plan *plan, const int64_t *length, char digest[BL_DIGEST_SIZE], struct bl_error *e)
{
    struct lengths lengths = lengths_of(plan, length);
    int code = plan_digest(plan, &lengths, digest, e);
    free(lengths.piece);
    return code;
}

void bl_index_digest_lengths(const int64_t *length, size_t count, char digest[BL_DIGEST_SIZE])
{
    struct bl_checksum_state sum;
    bl_checksum_begin(&sum);
    bl_checksum_add(&sum, length, count * sizeof *length);
    bl_checksum_format(bl_checksum_end(&sum), digest);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

/* Makes the header, and the offsets of the tables. For a plan without a dataset, table is lengths_digest, and plan_info
 * is JSON; for the index of a dataset both are NULL. */
static int index_make_header(const struct bl_plan *plan, const char *digest, int fields, const char *table,
                             const char *plan_info, struct bl_tensor tensor[BL_INDEX_TENSORS_MAX],
                             struct bl_buffer *header, struct bl_error *e)
{
    const struct bl_plan_own *own = &plan->own;
    const struct bl_tensor *order[BL_INDEX_TENSORS_MAX];
    char version[16], T[24], align[24], capacity[12 * BL_PLAN_COLUMNS_MAX] = "";
    BL_TRY(bl_index_place(tensor, (int64_t)plan->blocks, (int64_t)plan->pieces, fields, own, e));
    int skip = bl_index_first_table(fields), tables = BL_INDEX_TABLES + 2 * own->count;
    for (int t = 0; t < tables; t++)
        order[t] = &tensor[t];
    for (int f = 0, at = 0; f < own->count; f++)
        at += snprintf(capacity + at, sizeof capacity - (size_t)at, "%s%" PRId64, f ? "," : "", own->field[f].capacity);
    snprintf(version, sizeof version, "%d", own->count ? BL_FORMAT_OWN : BL_FORMAT_VERSION);
    snprintf(T, sizeof T, "%" PRId64, plan->T);
    snprintf(align, sizeof align, "%" PRId64, plan->align ? plan->align : 1);
    /* The order of keys is fixed: equal plans make equal files. */
    const struct bl_metadata with[] = {{"T", T},
                                       {"align", align},
                                       {"bload_format", version},
                                       {"lengths_digest", table},
                                       {"plan_digest", digest},
                                       {"words", plan_info},
                                       {"capacity", capacity}};
    const struct bl_metadata without[] = {
        {"T", T}, {"bload_format", version}, {"plan_digest", digest}, {"capacity", capacity}};
    return bl_safetensors_header(order + skip, tables - skip, table ? with : without,
                                 (table ? 6 : 3) + (own->count > 0), header, e);
}

/* Computes the digest of a plan, and writes the header, which holds it, to an empty file. */
static int index_write_header(struct bl_output *out, const struct bl_plan *plan, const struct lengths *lengths,
                              int fields, const char *table, const char *plan_info, struct bl_error *e)
{
    struct bl_tensor tensor[BL_INDEX_TENSORS_MAX];
    char digest[BL_DIGEST_SIZE];
    struct bl_buffer header = {0};
    int code = plan_digest(plan, lengths, digest, e);
    if (!code)
        code = index_make_header(plan, digest, fields, table, plan_info, tensor, &header, e);
    if (!code)
        code = bl_output_write(out, header.data, header.size, e);
    bl_buffer_free(&header);
    return code;
}

int bl_index_bytes(const struct bl_plan *plan, const char *digest, int fields, int64_t *bytes, struct bl_error *e)
{
    struct bl_tensor tensor[BL_INDEX_TENSORS_MAX];
    struct bl_buffer header = {0};
    int code = index_make_header(plan, digest, fields, NULL, NULL, tensor, &header, e);
    if (!code)
        *bytes = (int64_t)header.size + tensor[BL_INDEX_TABLES + 2 * plan->own.count - 1].end;
    bl_buffer_free(&header);
    return code;
}

int bl_index_write(struct bl_output *out, const struct bl_plan *plan, const int64_t *length, size_t count,
                   const struct bl_plan_info *plan_info, struct bl_error *e)
{
    char table[BL_DIGEST_SIZE];
    struct bl_buffer text = {0};
    struct lengths lengths = lengths_of(plan, length);
    bl_index_digest_lengths(length, count, table);
    int code = bl_plan_info_format(plan_info, true, &text, e);
    if (!code)
        code = index_write_header(out, plan, &lengths, 0, table, text.data, e);
    if (!code)
        code = plan_serialize(plan, &lengths, NULL, out, e);
    bl_buffer_free(&text);
    free(lengths.piece);
    return code;
}

int bl_index_begin(struct bl_index_writer *writer, const char *dir, const struct bl_plan *plan, const int64_t *length,
                   int fields, struct bl_error *e)
{
    *writer = (struct bl_index_writer){.plan = plan, .length = length, .checksums_due = plan->blocks * (size_t)fields};
    struct lengths lengths = lengths_of(plan, length);
    char *path = bl_path_join(dir, BL_INDEX_FILE);
    int code = path ? bl_output_own(&writer->out, path, e) : bl_error_memory(e);
    if (!code)
        code = index_write_header(&writer->out, plan, &lengths, fields, NULL, NULL, e);
    free(path);
    free(lengths.piece);
    return code;
}

int bl_index_add_checksums(struct bl_index_writer *writer, const uint64_t *checksum, size_t count, struct bl_error *e)
{
    if (count > writer->checksums_due)
        return bl_error_set(e, BL_EFAIL, "more block checksums than blocks");
    writer->checksums_due -= count;
    return bl_output_write(&writer->out, checksum, count * sizeof *checksum, e);
}

int bl_index_finish(struct bl_index_writer *writer, struct bl_error *e)
{
    if (writer->checksums_due)
        return bl_error_set(e, BL_EFAIL, "%zu block checksums are missing", writer->checksums_due);
    struct lengths lengths = lengths_of(writer->plan, writer->length);
    int code = plan_serialize(writer->plan, &lengths, NULL, &writer->out, e);
    free(lengths.piece);
    return code ? code : bl_output_commit(&writer->out, e);
}

void bl_index_abort(struct bl_index_writer *writer)
{
    bl_output_abort(&writer->out);
}
