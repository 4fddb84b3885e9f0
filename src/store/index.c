#include "store/index.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/text.h"
#include "plan/alignment.h"
#include "store/format.h"
#include "store/jansson.h"
#include "store/safetensors.h"

#define CHUNK 4096 /* elements converted at a time */

static const struct {
    const char *name;
    enum bl_dtype dtype;
} tables[BL_INDEX_TABLES] = {
    [BL_INDEX_BLOCK_CHECKSUM] = {"block_checksum", BL_I64},
    [BL_INDEX_BLOCK_PTR] = {"block_ptr", BL_I64},
    [BL_INDEX_SEQUENCE] = {"sequence", BL_I64},
    [BL_INDEX_SOURCE_START] = {"source_start", BL_I64},
    [BL_INDEX_LENGTH] = {"length", BL_I32},
    [BL_INDEX_START] = {"start", BL_I32},
};

/* --- writing ---------------------------------------------------------------------------------------------------- */

/* Takes the bytes of the plan's tables, in file order: a checksum, or the file. */
typedef int sink_function(void *sink, const void *data, size_t size, struct bl_error *e);

/* Starts within the block need the block of each piece: a cursor over both. */
struct cursor {
    int64_t block;
    int32_t start;
};

static int32_t cursor_next(struct cursor *at, const struct bl_plan *plan, const int64_t *length, size_t p)
{
    while (plan->block_ptr[at->block + 1] <= (int64_t)p) {
        at->block++;
        at->start = 0;
    }
    int32_t start = at->start;
    at->start = (int32_t)bl_plan_next_start(plan, start, bl_plan_piece_length(plan, length, p));
    return start;
}

static int64_t plan_element(enum bl_index_table table, struct cursor *at, const struct bl_plan *plan,
                            const int64_t *length, size_t p)
{
    switch (table) {
    case BL_INDEX_SEQUENCE:
        return plan->sequence[p];
    case BL_INDEX_SOURCE_START:
        return plan->source_start ? plan->source_start[p] : 0;
    case BL_INDEX_LENGTH:
        return bl_plan_piece_length(plan, length, p);
    default:
        return cursor_next(at, plan, length, p);
    }
}

/* One table of P elements, converted in pieces. */
static int plan_serialize_table(enum bl_index_table table, const struct bl_plan *plan, const int64_t *length,
                                sink_function *take, void *sink, struct bl_error *e)
{
    union {
        int64_t wide[CHUNK];
        int32_t narrow[CHUNK];
    } chunk;
    struct cursor at = {0};
    bool is_wide = tables[table].dtype == BL_I64;
    int code = BL_OK;
    for (size_t p = 0; p < plan->pieces && !code;) {
        size_t n = 0;
        for (; n < CHUNK && p < plan->pieces; n++, p++) {
            int64_t value = plan_element(table, &at, plan, length, p);
            if (is_wide)
                chunk.wide[n] = value;
            else
                chunk.narrow[n] = (int32_t)value;
        }
        code = take(sink, &chunk, n * (is_wide ? sizeof *chunk.wide : sizeof *chunk.narrow), e);
    }
    return code;
}

static int plan_serialize(const struct bl_plan *plan, const int64_t *length, sink_function *take, void *sink,
                          struct bl_error *e)
{
    int code = take(sink, plan->block_ptr, (plan->blocks + 1) * sizeof *plan->block_ptr, e);
    for (int t = BL_INDEX_SEQUENCE; t < BL_INDEX_TABLES && !code; t++)
        code = plan_serialize_table((enum bl_index_table)t, plan, length, take, sink, e);
    return code;
}

static int sink_to_checksum(void *sink, const void *data, size_t size, struct bl_error *e)
{
    (void)e;
    bl_checksum_add(sink, data, size);
    return BL_OK;
}

static int sink_to_output(void *sink, const void *data, size_t size, struct bl_error *e)
{
    return bl_output_write(sink, data, size, e);
}

int bl_plan_digest(const struct bl_plan *plan, const int64_t *length, char digest[BL_DIGEST_SIZE], struct bl_error *e)
{
    struct bl_checksum_state sum;
    bl_checksum_begin(&sum);
    bl_checksum_add(&sum, &plan->T, sizeof plan->T);
    int code = plan_serialize(plan, length, sink_to_checksum, &sum, e);
    bl_checksum_format(bl_checksum_end(&sum), digest);
    return code;
}

/* --- layout ----------------------------------------------------------------------------------------------------- */

/* Without fields there are no checksums of blocks. */
static int index_first_table(int fields)
{
    return fields ? BL_INDEX_BLOCK_CHECKSUM : BL_INDEX_BLOCK_PTR;
}

static int index_place(struct bl_tensor tensor[BL_INDEX_TABLES], int64_t blocks, int64_t pieces, int fields,
                       struct bl_error *e)
{
    struct bl_tensor *order[BL_INDEX_TABLES];
    for (int t = 0; t < BL_INDEX_TABLES; t++) {
        tensor[t] = (struct bl_tensor){.dtype = tables[t].dtype, .rank = 1, .shape = {pieces}};
        snprintf(tensor[t].name, sizeof tensor[t].name, "%s", tables[t].name);
        order[t] = &tensor[t];
    }
    tensor[BL_INDEX_BLOCK_PTR].shape[0] = blocks + 1;
    tensor[BL_INDEX_BLOCK_CHECKSUM].rank = 2;
    tensor[BL_INDEX_BLOCK_CHECKSUM].shape[0] = blocks;
    tensor[BL_INDEX_BLOCK_CHECKSUM].shape[1] = fields;
    int skip = index_first_table(fields);
    return bl_safetensors_place(order + skip, BL_INDEX_TABLES - skip, e);
}

/* Of a plan alone: table is the digest of the lengths, words are JSON. Else both are NULL. */
static int index_write_header(struct bl_output *out, const struct bl_plan *plan, const int64_t *length, int fields,
                              const char *table, const char *plan_info, struct bl_error *e)
{
    struct bl_tensor tensor[BL_INDEX_TABLES];
    const struct bl_tensor *order[BL_INDEX_TABLES];
    char version[16], T[24], align[24], digest[BL_DIGEST_SIZE];
    struct bl_buffer header = {0};
    int code = index_place(tensor, (int64_t)plan->blocks, (int64_t)plan->pieces, fields, e),
        skip = index_first_table(fields);
    for (int t = 0; t < BL_INDEX_TABLES; t++)
        order[t] = &tensor[t];
    snprintf(version, sizeof version, "%d", BL_FORMAT_VERSION);
    snprintf(T, sizeof T, "%" PRId64, plan->T);
    snprintf(align, sizeof align, "%" PRId64, plan->align ? plan->align : 1);
    if (!code)
        code = bl_plan_digest(plan, length, digest, e);
    const struct bl_metadata with[] = {{"T", T},
                                       {"align", align},
                                       {"bload_format", version},
                                       {"lengths_digest", table},
                                       {"plan_digest", digest},
                                       {"words", plan_info}};
    const struct bl_metadata without[] = {{"T", T}, {"bload_format", version}, {"plan_digest", digest}};
    if (!code)
        code = bl_safetensors_header(order + skip, BL_INDEX_TABLES - skip, table ? with : without, table ? 6 : 3,
                                     &header, e);
    if (!code)
        code = bl_output_write(out, header.data, header.size, e);
    bl_buffer_free(&header);
    return code;
}

void bl_lengths_digest(const int64_t *length, size_t count, char digest[BL_DIGEST_SIZE])
{
    struct bl_checksum_state sum;
    bl_checksum_begin(&sum);
    bl_checksum_add(&sum, length, count * sizeof *length);
    bl_checksum_format(bl_checksum_end(&sum), digest);
}

int bl_index_write(struct bl_output *out, const struct bl_plan *plan, const int64_t *length, size_t count,
                   const struct bl_plan_info *plan_info, struct bl_error *e)
{
    char table[BL_DIGEST_SIZE];
    struct bl_buffer text = {0};
    bl_lengths_digest(length, count, table);
    int code = bl_plan_info_format(plan_info, &text, e);
    if (!code)
        code = index_write_header(out, plan, length, 0, table, text.data, e);
    bl_buffer_free(&text);
    return code ? code : plan_serialize(plan, length, sink_to_output, out, e);
}

static int index_path(const char *dir, struct bl_buffer *path, struct bl_error *e)
{
    bl_buffer_printf(path, "%s/" BL_INDEX_FILE, dir);
    return bl_buffer_check(path, e);
}

int bl_index_begin(struct bl_index_writer *writer, const char *dir, const struct bl_plan *plan, const int64_t *length,
                   int fields, struct bl_error *e)
{
    *writer = (struct bl_index_writer){.plan = plan, .length = length, .checksums_due = plan->blocks * (size_t)fields};
    struct bl_buffer path = {0};
    int code = index_path(dir, &path, e);
    if (code)
        goto out;
    code = bl_output_own(&writer->out, path.data, e);
    if (code)
        goto out;
    code = index_write_header(&writer->out, plan, length, fields, NULL, NULL, e);
out:
    bl_buffer_free(&path);
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
    int code = plan_serialize(writer->plan, writer->length, sink_to_output, &writer->out, e);
    return code ? code : bl_output_commit(&writer->out, e);
}

void bl_index_abort(struct bl_index_writer *writer)
{
    bl_output_abort(&writer->out);
}

/* --- reading ---------------------------------------------------------------------------------------------------- */

/* What was parsed must be what follows from the number of blocks and fields, and its own number of pieces. */
static int index_check_tables(struct bl_index *index, const struct bl_safetensors *file, struct bl_error *e)
{
    struct bl_tensor expected[BL_INDEX_TABLES];
    const struct bl_tensor *sequence = bl_safetensors_find(file, tables[BL_INDEX_SEQUENCE].name);
    index->pieces = sequence && sequence->rank == 1 ? sequence->shape[0] : 0;
    const struct bl_tensor *block_ptr = bl_safetensors_find(file, tables[BL_INDEX_BLOCK_PTR].name);
    if (!index->fields && block_ptr && block_ptr->rank == 1 && block_ptr->shape[0] > 1)
        index->blocks = block_ptr->shape[0] - 1;
    int code = index_place(expected, index->blocks, index->pieces, index->fields, e);
    int skip = index_first_table(index->fields);
    for (int t = skip; t < BL_INDEX_TABLES && !code; t++) {
        const struct bl_tensor *found = bl_safetensors_find(file, expected[t].name);
        bool same = found && found->dtype == expected[t].dtype && found->rank == expected[t].rank &&
                    memcmp(found->shape, expected[t].shape, sizeof found->shape) == 0 &&
                    found->begin == expected[t].begin;
        if (!same)
            code =
                bl_error_set(e, BL_EDATA, "table \"%s\" is missing, or not of the type, shape and place it must have",
                             expected[t].name);
        index->offset[t] = file->data + expected[t].begin;
        index->offset[t + 1] = file->data + expected[t].end;
    }
    if (code)
        return code;
    if (file->count != BL_INDEX_TABLES - skip)
        return bl_error_set(e, BL_EDATA, "there are tables that are unknown");
    return BL_OK;
}

/* A text of __metadata__, from what lies before the data; "" where there is none, or one that is too long. */
static int index_read_metadata(const char *head, size_t size, const char *name, char *out, size_t room,
                               struct bl_error *e)
{
    json_t *root = json_loadb(head + BL_SAFETENSORS_PREFIX, size - BL_SAFETENSORS_PREFIX, 0, NULL);
    if (!root)
        return bl_error_memory(e); /* it has been parsed before */
    const char *text = json_string_value(json_object_get(json_object_get(root, "__metadata__"), name));
    snprintf(out, room, "%s", text && strlen(text) < room ? text : "");
    json_decref(root);
    return BL_OK;
}

static int index_read_header(struct bl_index *index, struct bl_error *e)
{
    struct stat status;
    char prefix[BL_SAFETENSORS_PREFIX], *head = NULL;
    struct bl_safetensors file = {0};
    int64_t data = 0;
    if (fstat(index->fd, &status) != 0)
        return bl_error_errno(e, BL_EFAIL, "cannot look at it");
    if (status.st_size < BL_SAFETENSORS_PREFIX)
        return bl_error_set(e, BL_EDATA, "too short for a safetensors file");
    int code = bl_io_pread(index->fd, prefix, sizeof prefix, 0, index->path, e);
    if (code)
        goto out;
    code = bl_safetensors_prefix(prefix, status.st_size, &data, e);
    if (code)
        goto out;
    if (!(head = malloc((size_t)data)))
        code = bl_error_memory(e);
    if (code)
        goto out;
    code = bl_io_pread(index->fd, head, (size_t)data, 0, index->path, e);
    if (code)
        goto out;
    code = bl_safetensors_parse(head, (size_t)data, status.st_size, &file, e);
    if (code)
        goto out;
    code = index_check_tables(index, &file, e);
    if (code)
        goto out;
    code = index_read_metadata(head, (size_t)data, "T", index->T, sizeof index->T, e);
    if (code)
        goto out;
    code = index_read_metadata(head, (size_t)data, "align", index->align, sizeof index->align, e);
    if (code)
        goto out;
    code = index_read_metadata(head, (size_t)data, "lengths_digest", index->table, sizeof index->table, e);
    if (code)
        goto out;
    code = index_read_metadata(head, (size_t)data, "words", index->plan_info, sizeof index->plan_info, e);
out:
    bl_safetensors_free(&file);
    free(head);
    return code;
}

/* The file at index->path, which is freed on error. */
static int index_open_path(struct bl_index *index, struct bl_error *e)
{
    int code = BL_OK;
    index->fd = open(index->path, O_RDONLY | O_CLOEXEC);
    if (index->fd < 0)
        code = bl_error_errno(e, BL_EFAIL, "cannot open %s", index->path);
    else if ((code = index_read_header(index, e)))
        bl_error_prefix(e, "%s", index->path);
    if (code)
        bl_index_close(index);
    return code;
}

int bl_index_open(struct bl_index *index, const char *dir, int64_t blocks, int fields, struct bl_error *e)
{
    *index = (struct bl_index){.fd = -1, .blocks = blocks, .fields = fields};
    struct bl_buffer path = {0};
    int code = index_path(dir, &path, e);
    if (code)
        return code;
    index->path = path.data;
    return index_open_path(index, e);
}

int bl_index_open_plan(struct bl_index *index, const char *path, struct bl_error *e)
{
    *index = (struct bl_index){.fd = -1, .path = strdup(path)};
    return index->path ? index_open_path(index, e) : bl_error_memory(e);
}

void bl_index_close(struct bl_index *index)
{
    if (index->fd >= 0)
        close(index->fd); /* read only: nothing can be lost by it */
    free(index->path);
    *index = (struct bl_index){.fd = -1};
}

int bl_index_read(const struct bl_index *index, enum bl_index_table table, int64_t first, int64_t count, void *out,
                  struct bl_error *e)
{
    int64_t size = (int64_t)bl_dtype_size(tables[table].dtype);
    int64_t elements = (index->offset[table + 1] - index->offset[table]) / size;
    if (first < 0 || count < 0 || first > elements || count > elements - first)
        return bl_error_set(e, BL_EUSAGE, "the table \"%s\" has no elements %" PRId64 " to %" PRId64,
                            tables[table].name, first, first + count);
    return bl_io_pread(index->fd, out, (size_t)(count * size), index->offset[table] + first * size, index->path, e);
}

int bl_index_plan_digest(const struct bl_index *index, int64_t T, char digest[BL_DIGEST_SIZE], struct bl_error *e)
{
    struct bl_checksum_state sum;
    bl_checksum_begin(&sum);
    bl_checksum_add(&sum, &T, sizeof T);
    char chunk[CHUNK * sizeof(int64_t)];
    int64_t at = index->offset[BL_INDEX_BLOCK_PTR], end = index->offset[BL_INDEX_TABLES];
    int code = BL_OK;
    while (at < end && !code) {
        size_t part = end - at < (int64_t)sizeof chunk ? (size_t)(end - at) : sizeof chunk;
        code = bl_io_pread(index->fd, chunk, part, at, index->path, e);
        if (!code)
            bl_checksum_add(&sum, chunk, part);
        at += (int64_t)part;
    }
    bl_checksum_format(bl_checksum_end(&sum), digest);
    return code;
}

/* --- the plan --------------------------------------------------------------------------------------------------- */

/* What is being read: the pieces of the blocks from first on, which are the plan's blocks 0 on. */
struct part {
    const struct bl_index *index;
    struct bl_plan *plan;
    int64_t first, piece; /* in the file */
};

/* Reads block_ptr, and counts it from the first piece on. Where the first and the last block of the file are among
 * these, so must be its first and its last piece. */
static int index_read_block_ptr(struct part *part, struct bl_error *e)
{
    int64_t *at = part->plan->block_ptr, blocks = (int64_t)part->plan->blocks;
    int code = bl_index_read(part->index, BL_INDEX_BLOCK_PTR, part->first, blocks + 1, at, e);
    if (code)
        return code;
    bool rises = at[0] >= 0 && at[blocks] <= part->index->pieces && (part->first || at[0] == 0) &&
                 (part->first + blocks < part->index->blocks || at[blocks] == part->index->pieces);
    for (int64_t b = 0; b < blocks && rises; b++)
        rises = at[b] <= at[b + 1];
    if (!rises)
        return bl_error_set(e, BL_EDATA, "block_ptr does not go up from 0 to the number of pieces");
    part->piece = at[0];
    for (int64_t b = 0; b <= blocks; b++)
        at[b] -= part->piece;
    part->plan->pieces = (size_t)at[blocks];
    return BL_OK;
}

/* Pieces p .. p + n - 1 of the plan from the file. Where nothing was cut, source_start is all zeros, as it is already:
 * memory that is not written to takes no room. */
static int index_read_pieces(const struct part *part, int64_t p, int64_t n, struct bl_error *e)
{
    struct bl_plan *plan = part->plan;
    int64_t sequence[CHUNK], source_start[CHUNK], at = part->piece + p;
    int32_t length[CHUNK];
    int code = bl_index_read(part->index, BL_INDEX_SEQUENCE, at, n, sequence, e);
    if (code)
        return code;
    code = bl_index_read(part->index, BL_INDEX_LENGTH, at, n, length, e);
    if (code)
        return code;
    code = bl_index_read(part->index, BL_INDEX_SOURCE_START, at, n, source_start, e);
    if (code)
        return code;
    for (int64_t i = 0; i < n && !code; i++) {
        if (sequence[i] < 0 || sequence[i] >= BL_SEQUENCES_MAX || length[i] < 1)
            code = bl_error_set(e, BL_EDATA, "piece %" PRId64 " is of sequence %" PRId64 " and %" PRId32 " steps long",
                                at + i, sequence[i], length[i]);
        plan->sequence[p + i] = (uint32_t)sequence[i];
        plan->length[p + i] = length[i];
        if (!code && source_start[i])
            plan->source_start[p + i] = source_start[i];
    }
    return code;
}

/* Whether a piece may start there: by the alignment that the plan must have, or any. */
static bool index_start_is_valid(struct bl_alignment *alignment, const struct bl_plan *plan, int64_t end, int64_t start)
{
    return bl_alignment_add(alignment, end, start) && (!plan->align || start == bl_plan_next_start(plan, end, 0));
}

/* Starts follow from the lengths, and from an alignment if there is one. */
static int index_check_starts(const struct part *part, struct bl_error *e)
{
    struct bl_plan *plan = part->plan;
    int32_t start[CHUNK];
    int64_t at = 0, block = 0, pieces = (int64_t)plan->pieces;
    struct bl_alignment alignment = {0};
    int code = BL_OK;
    for (int64_t p = 0; p < pieces && !code; p++) {
        if (p % CHUNK == 0)
            code = bl_index_read(part->index, BL_INDEX_START, part->piece + p, pieces - p < CHUNK ? pieces - p : CHUNK,
                                 start, e);
        for (; p >= plan->block_ptr[block + 1]; at = 0)
            block++;
        if (!code && !index_start_is_valid(&alignment, plan, at, start[p % CHUNK]))
            code =
                bl_error_set(e, BL_EDATA, "block %" PRId64 ": piece %" PRId64 " starts at %" PRId32 ", not at %" PRId64,
                             part->first + block, part->piece + p, start[p % CHUNK], bl_plan_next_start(plan, at, 0));
        at = start[p % CHUNK] + plan->length[p];
        if (!code && at > plan->T)
            code = bl_error_set(e, BL_EDATA, "block %" PRId64 ": piece %" PRId64 " ends at %" PRId64 " of %" PRId64,
                                part->first + block, part->piece + p, at, plan->T);
    }
    if (!plan->align)
        plan->align = bl_alignment_value(&alignment);
    if (code)
        return code;
    if (!plan->align)
        return bl_error_set(e, BL_EDATA, "starts leave gaps that no alignment explains");
    return BL_OK;
}

static int index_read_part(struct part *part, struct bl_error *e)
{
    struct bl_plan *plan = part->plan;
    plan->block_ptr = calloc(plan->blocks + 1, sizeof *plan->block_ptr);
    int code = plan->block_ptr ? index_read_block_ptr(part, e) : bl_error_memory(e);
    if (code)
        return code;
    plan->sequence = calloc(plan->pieces + 1, sizeof *plan->sequence);
    plan->length = calloc(plan->pieces + 1, sizeof *plan->length);
    plan->source_start = calloc(plan->pieces + 1, sizeof *plan->source_start);
    if (!plan->sequence || !plan->length || !plan->source_start)
        return bl_error_memory(e);
    int64_t pieces = (int64_t)plan->pieces;
    for (int64_t p = 0; p < pieces && !code; p += CHUNK)
        code = index_read_pieces(part, p, pieces - p < CHUNK ? pieces - p : CHUNK, e);
    return code ? code : index_check_starts(part, e);
}

int bl_index_read_part(const struct bl_index *index, int64_t T, int64_t align, int64_t first, int64_t end,
                       struct bl_plan *plan, struct bl_error *e)
{
    *plan = (struct bl_plan){.T = T, .align = align, .blocks = (size_t)(end - first)};
    struct part part = {index, plan, first, 0};
    int code = index_read_part(&part, e);
    if (code == BL_EDATA)
        bl_error_prefix(e, "%s", index->path);
    if (code)
        bl_plan_free(plan);
    return code;
}

int bl_index_read_plan(const struct bl_index *index, int64_t T, int64_t align, struct bl_plan *plan, struct bl_error *e)
{
    return bl_index_read_part(index, T, align, 0, index->blocks, plan, e);
}

/* Whether the plan in a file is one over these lengths, for blocks of T steps, with that alignment. 0: T and alignment
 * may be any, and become its own. */
static int index_check_origin(const struct bl_index *index, int64_t *T, int64_t *align, const int64_t *length,
                              size_t count, struct bl_error *e)
{
    int64_t its_T, its_align;
    char table[BL_DIGEST_SIZE];
    bl_lengths_digest(length, count, table);
    if (!bl_text_to_int(index->T, strlen(index->T), 1, BL_T_MAX, &its_T))
        return bl_error_set(e, BL_EDATA, "the metadata has no T: not a plan");
    if (*T && its_T != *T)
        return bl_error_set(e, BL_EFAIL, "the plan is for T = %" PRId64 ", not %" PRId64, its_T, *T);
    *T = its_T;
    if (strcmp(index->table, table) != 0)
        return bl_error_set(e, BL_EFAIL, "the plan was made from another table (lengths_digest %s, not %s)",
                            index->table, table);
    if (!bl_text_to_int(index->align, strlen(index->align), 1, BL_T_MAX, &its_align))
        return BL_OK;
    if (*align && its_align != *align)
        return bl_error_set(e, BL_EUSAGE, "the plan was made with --align %" PRId64 ", not %" PRId64, its_align,
                            *align);
    *align = its_align;
    return BL_OK;
}

/* What was told of the plan when it was made, and proven. */
static int index_read_info(const struct bl_index *index, struct bl_plan *plan, struct bl_plan_info *plan_info,
                           struct bl_error *e)
{
    *plan_info = (struct bl_plan_info){0};
    if (!index->plan_info[0])
        return BL_OK;
    int code = bl_plan_info_parse(plan_info, index->plan_info, strlen(index->plan_info), e);
    if (code)
        return code;
    if (plan_info->T != plan->T || plan_info->blocks != (int64_t)plan->blocks ||
        plan_info->lower_bound > plan_info->blocks)
        return bl_error_set(e, BL_EDATA, "the words in its metadata are those of another plan");
    if (plan_info->lower_bound > plan->lower_bound)
        plan->lower_bound = plan_info->lower_bound;
    plan->imbalance = plan_info->imbalance;
    plan->imbalance_before = plan_info->imbalance_before;
    return BL_OK;
}

int bl_index_load(struct bl_plan *plan, const char *path, int64_t T, int64_t align, const int64_t *length, size_t count,
                  struct bl_plan_info *plan_info, struct bl_error *e)
{
    struct bl_index index;
    *plan = (struct bl_plan){0};
    int code = bl_index_open_plan(&index, path, e);
    if (code)
        return code;
    code = index_check_origin(&index, &T, &align, length, count, e);
    if (code)
        goto out;
    code = bl_index_read_plan(&index, T, align, plan, e);
    if (code)
        goto out;
    code = bl_plan_check(plan, length, count, e);
    if (code)
        goto out;
    if (plan_info)
        code = index_read_info(&index, plan, plan_info, e);
out:
    if (code && !strstr(e->text, path))
        bl_error_prefix(e, "%s", path);
    if (code)
        bl_plan_free(plan);
    bl_index_close(&index);
    return code;
}
