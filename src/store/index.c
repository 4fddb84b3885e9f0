/* Reading index.safetensors: its header, single tables, and the plan or a part of it.
 *
 * The plan is checked while it is read, chunk by chunk, so that no other code needs to doubt its tables: block_ptr
 * rises, pieces lie within their blocks, and starts follow from lengths. */
#include "store/index.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/io.h"
#include "store/dataset_file.h"
#include "base/text.h"
#include "plan/limits.h"
#include "store/format.h"
#include "store/plan_info.h"

#define CHUNK 4096 /* elements read at a time */

/* The ends of the names of an own field's tables. */
#define OWN_LENGTH ".length"
#define OWN_START ".start"

/* --- tables ------------------------------------------------------------------------------------------------------- */

const struct bl_index_table_type bl_index_table_types[BL_INDEX_TABLES] = {
    [BL_INDEX_BLOCK_CHECKSUM] = {"block_checksum", BL_I64},
    [BL_INDEX_BLOCK_PTR] = {"block_ptr", BL_I64},
    [BL_INDEX_SEQUENCE] = {"sequence", BL_I64},
    [BL_INDEX_SOURCE_START] = {"source_start", BL_I64},
    [BL_INDEX_LENGTH] = {"length", BL_I32},
    [BL_INDEX_START] = {"start", BL_I32},
};

int bl_index_first_table(int fields)
{
    return fields ? BL_INDEX_BLOCK_CHECKSUM : BL_INDEX_BLOCK_PTR;
}

/* Returns the type of a table, or of a table of an own field. */
static enum bl_dtype table_dtype(int table)
{
    return table < BL_INDEX_TABLES ? bl_index_table_types[table].dtype : BL_I32;
}

int bl_index_place(struct bl_tensor tensor[BL_INDEX_TENSORS_MAX], int64_t blocks, int64_t pieces, int fields,
                   const struct bl_plan_own *own, struct bl_error *e)
{
    struct bl_tensor *order[BL_INDEX_TENSORS_MAX];
    for (int f = 0; f < own->count; f++) {
        for (int t = bl_index_own_length(f); t <= bl_index_own_start(f); t++) {
            tensor[t] = (struct bl_tensor){.dtype = table_dtype(t), .rank = 1, .shape = {pieces}};
            snprintf(tensor[t].name, sizeof tensor[t].name, "%s%s", own->field[f].name,
                     t == bl_index_own_length(f) ? OWN_LENGTH : OWN_START);
            order[t] = &tensor[t];
        }
    }
    for (int t = 0; t < BL_INDEX_TABLES; t++) {
        tensor[t] = (struct bl_tensor){.dtype = bl_index_table_types[t].dtype, .rank = 1, .shape = {pieces}};
        snprintf(tensor[t].name, sizeof tensor[t].name, "%s", bl_index_table_types[t].name);
        order[t] = &tensor[t];
    }
    tensor[BL_INDEX_BLOCK_PTR].shape[0] = blocks + 1;
    tensor[BL_INDEX_BLOCK_CHECKSUM].rank = 2;
    tensor[BL_INDEX_BLOCK_CHECKSUM].shape[0] = blocks;
    tensor[BL_INDEX_BLOCK_CHECKSUM].shape[1] = fields;
    int skip = bl_index_first_table(fields);
    return bl_safetensors_place(order + skip, BL_INDEX_TABLES + 2 * own->count - skip, e);
}

int bl_plan_own_join(struct bl_plan_own *plan, const struct bl_plan_own *own, struct bl_error *e)
{
    if (plan->count != own->count)
        return bl_error_set(e, BL_EUSAGE, "fields with steps of their own: the plan has %d, the data %d", plan->count,
                            own->count);
    for (int f = 0; f < own->count; f++) {
        struct bl_plan_own_field *to = &plan->field[f];
        const struct bl_plan_own_field *from = &own->field[f];
        if (strcmp(to->name, from->name) != 0)
            return bl_error_set(e, BL_EUSAGE, "the plan has the field \"%s\" with steps of its own, not \"%s\"",
                                to->name, from->name);
        if (from->capacity && to->capacity != from->capacity)
            return bl_error_set(e, BL_EUSAGE,
                                "the plan was made for %" PRId64
                                " steps of the field \"%s\" in a block, not for %" PRId64 " (--capacity)",
                                to->capacity, to->name, from->capacity);
        to->length = from->length;
    }
    return BL_OK;
}

bool bl_plan_own_is_same(const struct bl_plan_own *a, const struct bl_plan_own *b)
{
    bool same = a->count == b->count;
    for (int f = 0; f < a->count && same; f++)
        same = strcmp(a->field[f].name, b->field[f].name) == 0 && a->field[f].capacity == b->field[f].capacity;
    return same;
}

/* --- opening and reading ------------------------------------------------------------------------------------------ */

/* Finds the own fields by the tables behind those that every index has: NAME.length, then NAME.start. Names that do not
 * fit leave a field out, so that index_check_tables finds unknown tables. */
static void index_find_own(struct bl_index *index, const struct bl_safetensors *file)
{
    struct bl_plan_own *own = &index->own;
    for (int t = BL_INDEX_TABLES - bl_index_first_table(index->fields); t < file->count; t += 2) {
        const char *name = file->tensor[t].name;
        size_t size = strlen(name);
        if (own->count == BL_PLAN_COLUMNS_MAX || !bl_path_has_suffix(name, OWN_LENGTH) ||
            size - strlen(OWN_LENGTH) >= BL_PLAN_OWN_NAME_SIZE)
            return;
        struct bl_plan_own_field *field = &own->field[own->count++];
        *field = (struct bl_plan_own_field){0};
        memcpy(field->name, name, size - strlen(OWN_LENGTH));
    }
}

/* Sets the capacities from the metadata, "512,16384". BL_EDATA: invalid. */
static int index_read_capacities(struct bl_index *index, const char *text, struct bl_error *e)
{
    for (int f = 0; f < index->own.count; f++) {
        size_t size = text ? strcspn(text, ",") : 0;
        if (!text || !bl_text_to_int(text, size, 1, BL_T_MAX, &index->own.field[f].capacity))
            return bl_error_set(e, BL_EDATA, "the metadata has no capacity of the field \"%s\"",
                                index->own.field[f].name);
        text = text[size] ? text + size + 1 : NULL;
    }
    return BL_OK;
}

/* Checks that the tables have the types, shapes and offsets that follow from the numbers of blocks, fields and pieces.
 * The table "sequence" gives the number of pieces. */
static int index_check_tables(struct bl_index *index, const struct bl_safetensors *file, struct bl_error *e)
{
    struct bl_tensor expected[BL_INDEX_TENSORS_MAX];
    const struct bl_tensor *sequence = bl_safetensors_find(file, bl_index_table_types[BL_INDEX_SEQUENCE].name);
    index->pieces = sequence && sequence->rank == 1 ? sequence->shape[0] : 0;
    const struct bl_tensor *block_ptr = bl_safetensors_find(file, bl_index_table_types[BL_INDEX_BLOCK_PTR].name);
    /* A file of bl_index_write has a plan of any size: block_ptr gives the number of blocks. */
    if (!index->fields && !index->blocks && block_ptr && block_ptr->rank == 1 && block_ptr->shape[0] > 1)
        index->blocks = block_ptr->shape[0] - 1;
    index_find_own(index, file);
    BL_TRY(bl_index_place(expected, index->blocks, index->pieces, index->fields, &index->own, e));
    int skip = bl_index_first_table(index->fields), tables = BL_INDEX_TABLES + 2 * index->own.count;
    for (int t = skip; t < tables; t++) {
        const struct bl_tensor *found = bl_safetensors_find(file, expected[t].name);
        bool same = found && found->dtype == expected[t].dtype && found->rank == expected[t].rank &&
                    memcmp(found->shape, expected[t].shape, sizeof found->shape) == 0 &&
                    found->begin == expected[t].begin;
        if (!same)
            return bl_error_set(e, BL_EDATA, "table \"%s\" is missing, or has a wrong type, shape or place",
                                expected[t].name);
        index->offset[t] = file->data + expected[t].begin;
        index->offset[t + 1] = file->data + expected[t].end;
    }
    if (file->count != tables - skip)
        return bl_error_set(e, BL_EDATA, "unknown tables");
    return BL_OK;
}

/* Copies strings of __metadata__ from the header to the index. A string that is missing or too long becomes "". */
static int index_read_metadata(struct bl_index *index, const char *head, size_t size, struct bl_error *e)
{
    const struct {
        const char *name;
        char *out;
        size_t room;
    } members[] = {
        {"T", index->T, sizeof index->T},
        {"align", index->align, sizeof index->align},
        {"plan_digest", index->plan_digest, sizeof index->plan_digest},
        {"lengths_digest", index->table, sizeof index->table},
        {"words", index->plan_info, sizeof index->plan_info},
    };
    /* bl_safetensors_parse does not keep the metadata: the header is parsed again. */
    json_t *root = json_loadb(head + BL_SAFETENSORS_PREFIX, size - BL_SAFETENSORS_PREFIX, 0, NULL);
    if (!root)
        return bl_error_memory(e); /* it was parsed before */
    const json_t *metadata = json_object_get(root, "__metadata__");
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const char *text = json_string_value(json_object_get(metadata, members[i].name));
        snprintf(members[i].out, members[i].room, "%s", text && strlen(text) < members[i].room ? text : "");
    }
    int code = index_read_capacities(index, json_string_value(json_object_get(metadata, "capacity")), e);
    json_decref(root);
    return code;
}

/* Opens the file at index->path, and reads its header: the tables and the metadata. On error *index is closed. */
static int index_open_path(struct bl_index *index, struct bl_error *e)
{
    struct bl_input_file opened;
    char prefix[BL_SAFETENSORS_PREFIX], *head = NULL;
    struct bl_safetensors file = {0};
    int64_t data = 0;
    int code = bl_dataset_file_open(&opened, index->path, e);
    if (code) {
        bl_index_close(index);
        return code;
    }
    index->fd = opened.fd;
    const int64_t size = opened.status.st_size;
    if (size < BL_SAFETENSORS_PREFIX)
        code = bl_error_set(e, BL_EDATA, "too short for a safetensors file");
    if (!code)
        code = bl_io_pread(index->fd, prefix, sizeof prefix, 0, index->path, e);
    if (!code)
        code = bl_safetensors_prefix(prefix, size, &data, e);
    if (!code && !(head = malloc((size_t)data)))
        code = bl_error_memory(e);
    if (!code)
        code = bl_io_pread(index->fd, head, (size_t)data, 0, index->path, e);
    if (!code)
        code = bl_safetensors_parse(head, (size_t)data, size, &file, e);
    if (!code)
        code = index_check_tables(index, &file, e);
    if (!code)
        code = index_read_metadata(index, head, (size_t)data, e);
    bl_safetensors_free(&file);
    free(head);
    if (code) {
        bl_error_prefix(e, "%s", index->path);
        bl_index_close(index);
    }
    return code;
}

int bl_index_open(struct bl_index *index, const char *dir, int64_t blocks, int fields, struct bl_error *e)
{
    *index = (struct bl_index){.fd = -1, .path = bl_path_join(dir, BL_INDEX_FILE), .blocks = blocks, .fields = fields};
    return index->path ? index_open_path(index, e) : bl_error_memory(e);
}

int bl_index_open_plan(struct bl_index *index, const char *path, struct bl_error *e)
{
    *index = (struct bl_index){.fd = -1, .path = strdup(path)};
    return index->path ? index_open_path(index, e) : bl_error_memory(e);
}

int bl_index_check_own(const struct bl_index *index, const struct bl_fields *fields, struct bl_error *e)
{
    int own = 0;
    bool same = index->own.count == bl_fields_count_own(fields);
    for (int f = 0; f < fields->count && same; f++) {
        const struct bl_field *field = &fields->field[f];
        if (!field->own)
            continue;
        const struct bl_plan_own_field *its = &index->own.field[own++];
        same = strcmp(its->name, field->name) == 0 && its->capacity == field->capacity;
    }
    return same ? BL_OK
                : bl_error_set(e, BL_EDATA,
                               "%s: its fields with steps of their own, or their capacities, are not those of the "
                               "manifest",
                               index->path);
}

int bl_index_check_plan(const struct bl_index *index, const char *digest, struct bl_error *e)
{
    if (strcmp(index->plan_digest, digest) == 0)
        return BL_OK;
    return bl_error_set(e, BL_EDATA, "%s: its plan has the digest %s, the manifest says %s: it is another dataset's",
                        index->path, *index->plan_digest ? index->plan_digest : "(none)", digest);
}

void bl_index_close(struct bl_index *index)
{
    if (index->fd >= 0)
        close(index->fd); /* opened for reading only: there is nothing to lose */
    free(index->path);
    *index = (struct bl_index){.fd = -1};
}

int bl_index_read(const struct bl_index *index, int table, int64_t first, int64_t count, void *out, struct bl_error *e)
{
    int64_t size = (int64_t)bl_dtype_size(table_dtype(table));
    int64_t elements = (index->offset[table + 1] - index->offset[table]) / size;
    if (first < 0 || count < 0 || first > elements || count > elements - first)
        return bl_error_set(e, BL_EUSAGE, "the table \"%s\" has no elements %" PRId64 " to %" PRId64,
                            table < BL_INDEX_TABLES ? bl_index_table_types[table].name : OWN_LENGTH, first,
                            first + count);
    return bl_io_pread(index->fd, out, (size_t)(count * size), index->offset[table] + first * size, index->path, e);
}

int bl_index_read_columns(const struct bl_index *index, const struct bl_index_column *column, size_t columns,
                          int64_t first, int64_t count, struct bl_error *e)
{
    int code = BL_OK;
    for (size_t c = 0; c < columns && !code; c++)
        code = bl_index_read(index, column[c].table, first, count, column[c].out, e);
    return code;
}

int bl_index_plan_digest(const struct bl_index *index, int64_t T, char digest[BL_DIGEST_SIZE], struct bl_error *e)
{
    struct bl_checksum_state sum;
    bl_checksum_begin(&sum);
    bl_checksum_add(&sum, &T, sizeof T);
    for (int f = 0; f < index->own.count; f++)
        bl_checksum_add(&sum, &index->own.field[f].capacity, sizeof index->own.field[f].capacity);
    char chunk[CHUNK * sizeof(int64_t)];
    int64_t at = index->offset[BL_INDEX_BLOCK_PTR], end = index->offset[BL_INDEX_TABLES + 2 * index->own.count];
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

/* --- reading the plan --------------------------------------------------------------------------------------------- */

/* A part of the file that is being read: its blocks from `first` on become blocks 0, 1, ... of the plan. */
struct part {
    const struct bl_index *index;
    struct bl_plan *plan;
    int64_t first, piece; /* number of the first block and of the first piece in the file */
    bool is_members;      /* read only block_ptr and sequence, and source_start if is_cut */
    bool is_cut;
};

/* Reads pieces p to p + n - 1 of the plan, or of members only their sequences, and their source_start if is_cut. Other
 * values of source_start that are 0 are not written to the array, which was allocated as zeros: if no sequence was cut,
 * its pages take no memory. */
static int index_read_pieces(const struct part *part, int64_t p, int64_t n, struct bl_error *e)
{
    struct bl_plan *plan = part->plan;
    int64_t sequence[CHUNK], source_start[CHUNK], at = part->piece + p;
    int32_t length[CHUNK];
    const struct bl_index_column columns[] = {
        {BL_INDEX_SEQUENCE, sequence}, {BL_INDEX_LENGTH, length}, {BL_INDEX_SOURCE_START, source_start}};
    BL_TRY(bl_index_read_columns(part->index, columns, part->is_members ? 1 : 3, at, n, e));
    for (int64_t i = 0; i < n; i++) {
        bool is_row = sequence[i] >= 0 && sequence[i] < BL_SEQUENCES_MAX;
        if (!is_row && part->is_members)
            return bl_error_set(e, BL_EDATA, "piece %" PRId64 " has sequence %" PRId64, at + i, sequence[i]);
        if (!part->is_members && (!is_row || length[i] < 1))
            return bl_error_set(e, BL_EDATA, "piece %" PRId64 " has sequence %" PRId64 " and %" PRId32 " steps", at + i,
                                sequence[i], length[i]);
        plan->sequence[p + i] = (uint32_t)sequence[i];
        if (part->is_members)
            continue;
        plan->length[p + i] = length[i];
        if (source_start[i])
            plan->source_start[p + i] = source_start[i];
    }
    if (!part->is_members || !part->is_cut)
        return BL_OK;
    return bl_index_read(part->index, BL_INDEX_SOURCE_START, at, n, plan->source_start + p, e);
}

/* Checks that each start follows from the lengths of the pieces before it and the alignment of the plan. If the
 * alignment is 0, finds one that explains all starts. */
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
        /* The first piece of a block starts at 0. Empty blocks are passed over. */
        for (; p >= plan->block_ptr[block + 1]; at = 0)
            block++;
        bool fits = !code && bl_alignment_add(&alignment, at, start[p % CHUNK]) &&
                    (!plan->align || start[p % CHUNK] == bl_plan_next_start(plan, at, 0));
        if (!code && !fits)
            code =
                bl_error_set(e, BL_EDATA, "block %" PRId64 ": piece %" PRId64 " starts at %" PRId32 ", not at %" PRId64,
                             part->first + block, part->piece + p, start[p % CHUNK], bl_plan_next_start(plan, at, 0));
        at = start[p % CHUNK] + plan->length[p];
        if (!code && at > plan->T)
            code = bl_error_set(e, BL_EDATA, "block %" PRId64 ": piece %" PRId64 " ends at %" PRId64 " of %" PRId64,
                                part->first + block, part->piece + p, at, plan->T);
    }
    if (code)
        return code;
    /* The gaps between pieces were collected on the way: an alignment must explain all of them. */
    if (!plan->align)
        plan->align = bl_alignment_value(&alignment);
    return plan->align ? BL_OK : bl_error_set(e, BL_EDATA, "the gaps between pieces do not follow from any alignment");
}

/* Reads the own steps of the pieces, and checks that they are at least 0, start where those before them end, and keep
 * to the capacity. */
static int index_read_own(const struct part *part, struct bl_error *e)
{
    struct bl_plan *plan = part->plan;
    const int64_t pieces = (int64_t)plan->pieces;
    int32_t start[CHUNK];
    plan->own = part->index->own;
    for (int f = 0; f < plan->own.count; f++) {
        struct bl_plan_own_field *field = &plan->own.field[f];
        int64_t at = 0, block = 0;
        field->piece = calloc(plan->pieces + 1, sizeof *field->piece);
        if (!field->piece)
            return bl_error_memory(e);
        BL_TRY(bl_index_read(part->index, bl_index_own_length(f), part->piece, pieces, field->piece, e));
        for (int64_t p = 0; p < pieces; p++) {
            if (p % CHUNK == 0)
                BL_TRY(bl_index_read(part->index, bl_index_own_start(f), part->piece + p,
                                     pieces - p < CHUNK ? pieces - p : CHUNK, start, e));
            for (; p >= plan->block_ptr[block + 1]; at = 0)
                block++;
            if (field->piece[p] < 0 || start[p % CHUNK] != at || field->piece[p] > field->capacity - at)
                return bl_error_set(e, BL_EDATA,
                                    "block %" PRId64 ": piece %" PRId64 " has %" PRId32 " steps of %s from %" PRId32
                                    " on, not from %" PRId64 " on within %" PRId64,
                                    part->first + block, part->piece + p, field->piece[p], field->name,
                                    start[p % CHUNK], at, field->capacity);
            at += field->piece[p];
        }
    }
    return BL_OK;
}

/* Allocates the arrays of the plan, reads them, and checks them. Pieces count from the first one of the part. If the
 * part includes the first or the last block of the file, it must include the first or the last piece. On error the plan
 * is empty. */
static int index_read_part(struct part *part, struct bl_error *e)
{
    struct bl_plan *plan = part->plan;
    bool has_length = !part->is_members, has_start = !part->is_members || part->is_cut;
    const int64_t blocks = (int64_t)plan->blocks, all = part->index->pieces;
    int64_t *at = plan->block_ptr = calloc(plan->blocks + 1, sizeof *plan->block_ptr);
    int code = at ? bl_index_read(part->index, BL_INDEX_BLOCK_PTR, part->first, blocks + 1, at, e) : bl_error_memory(e);
    if (code)
        goto out;
    bool rises = at[0] >= 0 && at[blocks] <= all && (part->first || at[0] == 0) &&
                 (part->first + blocks < part->index->blocks || at[blocks] == all);
    for (int64_t b = 0; b < blocks && rises; b++)
        rises = at[b] <= at[b + 1];
    if (!rises) {
        code = bl_error_set(e, BL_EDATA, "block_ptr does not rise from 0 to the number of pieces");
        goto out;
    }
    part->piece = at[0];
    for (int64_t b = 0; b <= blocks; b++)
        at[b] -= part->piece;
    plan->pieces = (size_t)at[blocks];
    plan->sequence = calloc(plan->pieces + 1, sizeof *plan->sequence);
    plan->length = has_length ? calloc(plan->pieces + 1, sizeof *plan->length) : NULL;
    plan->source_start = has_start ? calloc(plan->pieces + 1, sizeof *plan->source_start) : NULL;
    if (!plan->sequence || (has_length && !plan->length) || (has_start && !plan->source_start))
        code = bl_error_memory(e);
    for (int64_t p = 0, left; (left = (int64_t)plan->pieces - p) > 0 && !code; p += CHUNK)
        code = index_read_pieces(part, p, left < CHUNK ? left : CHUNK, e);
    if (!code && !part->is_members)
        code = index_check_starts(part, e);
    if (!code && !part->is_members)
        code = index_read_own(part, e);
out:
    if (code == BL_EDATA)
        bl_error_prefix(e, "%s", part->index->path);
    if (code)
        bl_plan_free(plan);
    return code;
}

int bl_index_read_part(const struct bl_index *index, int64_t T, int64_t align, int64_t first, int64_t end,
                       struct bl_plan *plan, struct bl_error *e)
{
    *plan = (struct bl_plan){.T = T, .align = align, .blocks = (size_t)(end - first)};
    struct part part = {.index = index, .plan = plan, .first = first};
    return index_read_part(&part, e);
}

int bl_index_read_plan(const struct bl_index *index, int64_t T, int64_t align, struct bl_plan *plan, struct bl_error *e)
{
    return bl_index_read_part(index, T, align, 0, index->blocks, plan, e);
}

int bl_index_read_members(const struct bl_index *index, bool is_cut, struct bl_plan *plan, struct bl_error *e)
{
    *plan = (struct bl_plan){.blocks = (size_t)index->blocks};
    struct part part = {.index = index, .plan = plan, .is_members = true, .is_cut = is_cut};
    return index_read_part(&part, e);
}

/* Checks that the plan was made from these lengths, for blocks of *T steps and the alignment *align. If *T or *align is
 * 0, it is set to the value in the file. */
static int index_check_origin(const struct bl_index *index, int64_t *T, int64_t *align, const int64_t *length,
                              size_t count, struct bl_error *e)
{
    int64_t its_T, its_align;
    char table[BL_DIGEST_SIZE];
    bl_index_digest_lengths(length, count, table);
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

/* The plan is read only after its origin and its digest are checked, so that a file of other lengths, or a damaged one,
 * gets the message that names the cause. The lower bound that was proven, and the balance, cannot be computed from the
 * tables: they come from the information about the plan. */
int bl_index_load(struct bl_plan *plan, const char *path, int64_t T, int64_t align, const int64_t *length, size_t count,
                  const struct bl_plan_own *own, struct bl_plan_info *plan_info, struct bl_error *e)
{
    struct bl_index index;
    struct bl_plan_info its = {0};
    char digest[BL_DIGEST_SIZE];
    *plan = (struct bl_plan){0};
    BL_TRY(bl_index_open_plan(&index, path, e));
    int code = index_check_origin(&index, &T, &align, length, count, e);
    if (!code)
        code = bl_index_plan_digest(&index, T, digest, e);
    if (!code && strcmp(digest, index.plan_digest) != 0)
        code = bl_error_set(e, BL_EDATA, "its tables are not those that were written: it is damaged (plan_digest)");
    if (!code)
        code = bl_index_read_plan(&index, T, align, plan, e);
    if (!code && index.plan_info[0])
        code = bl_plan_info_parse(&its, index.plan_info, strlen(index.plan_info), e);
    plan->is_store = !code && bl_plan_info_is_store(&its);
    plan->overlap = its.overlap;
    if (!code && own)
        code = bl_plan_own_join(&plan->own, own, e);
    if (!code)
        code = bl_plan_check(plan, length, count, e);
    if (code || !plan_info)
        goto out;
    *plan_info = its;
    if (!its.blocks)
        goto out;
    if (its.T != plan->T || its.blocks != (int64_t)plan->blocks || its.lower_bound > its.blocks)
        code = bl_error_set(e, BL_EDATA, "its metadata (words) belongs to another plan");
    plan->lower_bound = its.lower_bound > plan->lower_bound ? its.lower_bound : plan->lower_bound;
    plan->balance = its.balance;
out:
    if (code && !strstr(e->text, path))
        bl_error_prefix(e, "%s", path);
    if (code)
        bl_plan_free(plan);
    bl_index_close(&index);
    return code;
}
