/* Megatron's IndexedDataset: TOKENS.bin has the tokens of all sequences one after the other, without padding, and
 * TOKENS.idx their lengths and offsets, and which sequences are a document: those of a block
 * (megatron/core/datasets/indexed_dataset.py).
 *
 *     "MMIDIDX\0\0" | u64 1 | u8 type | u64 sequences | u64 documents + 1
 *     i32 length[] | i64 offset[] | i64 document[] */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "export/export.h"

#define CHUNK 4096 /* entries of a table that are put at a time: a call for each would take longer than the hash */

/* Returns Megatron's number for a type of tokens (DType of indexed_dataset.py); 0: Megatron does not have the type. U32
 * is stored as I32, since token ids are far below 2^31. */
static uint8_t type_code(enum bl_dtype dtype)
{
    static const uint8_t codes[] = {
        [BL_U8] = 1, [BL_I8] = 2, [BL_I16] = 3, [BL_I32] = 4, [BL_U32] = 4, [BL_I64] = 5, [BL_U16] = 8, [BL_F64] = 0};
    return codes[dtype];
}

/* Returns the index of the array of tokens: the array that --field names, or the only one that fits. Returns -1 if no
 * array fits, or several do: then the export is refused (megatron_check). */
static int tokens_array(const struct bl_export_job *job)
{
    int found = -1, count = 0;
    for (int a = 0; a < job->arrays.count; a++) {
        const struct bl_export_array *array = &job->arrays.array[a];
        bool has_tokens = array->field >= 0 && array->rank == 1 && type_code(array->dtype);
        if (!has_tokens || (job->field && strcmp(job->field, array->name) != 0))
            continue;
        found = a;
        count++;
    }
    return count == 1 ? found : -1;
}

/* Returns the index of the array that holds a table. All blocks have the tables that Megatron files are made from. */
static int array_find(const struct bl_export_job *job, int table)
{
    int a = 0;
    while (job->arrays.array[a].table != table)
        a++;
    return a;
}

/* Checks that one field has tokens, and that no step would be learned twice. */
static int megatron_check(const struct bl_export_job *job, struct bl_error *e)
{
    if (job->arrays.overlap)
        return bl_error_set(e, BL_EUSAGE,
                            "the dataset repeats steps (--overlap %" PRId64
                            "), and --to megatron has no mask that excludes them from the loss: export a "
                            "dataset or view without --overlap",
                            job->arrays.overlap);
    if (tokens_array(job) >= 0)
        return BL_OK;
    return job->field
               ? bl_error_set(e, BL_EUSAGE, "--field %s: there is no such field with one integer a step", job->field)
               : bl_error_set(e, BL_EUSAGE,
                              "--to megatron exports one field with one integer a step: choose it with --field");
}

/* The maximum size of a part is that of blocks without padding. */
static int64_t megatron_bytes(const struct bl_export_job *job, int64_t blocks)
{
    return blocks * (int64_t)job->arrays.array[tokens_array(job)].bytes;
}

/* Formats "tokens.bin", or "tokens-00003.bin" if there are several parts. */
static void part_name(const struct bl_export_job *job, int64_t part, const char *suffix, char out[BL_EXPORT_NAME_MAX])
{
    const char *name = job->arrays.array[tokens_array(job)].name;
    if (job->parts == 1)
        snprintf(out, BL_EXPORT_NAME_MAX, "%s.%s", name, suffix);
    else
        snprintf(out, BL_EXPORT_NAME_MAX, "%s-%05" PRId64 ".%s", name, part, suffix);
}

/* The name of the file of tokens; the index has the same one with another suffix. */
static void megatron_name_part(const struct bl_export_job *job, int64_t part, char out[BL_EXPORT_NAME_MAX])
{
    part_name(job, part, "bin", out);
}

/* Puts the tokens of the sequences of a block, without padding. A piece of length 0 is an unused place of the tables.
 */
static int megatron_block(const struct bl_export_job *job, int64_t b, const struct bl_export_block *block,
                          struct bl_export_part *part, struct bl_error *e)
{
    int tokens = tokens_array(job);
    size_t size = bl_dtype_size(job->arrays.array[tokens].dtype);
    const int32_t *start = (const void *)block->data[array_find(job, BL_TABLE_CU_SEQLENS)];
    const int32_t *length = (const void *)block->data[array_find(job, BL_TABLE_LENGTH)];
    int code = BL_OK;
    (void)b;
    for (int64_t i = 0; i < job->arrays.format.S && !code; i++) {
        if (length[i] > 0)
            code = bl_export_part_put(part, block->data[tokens] + (size_t)start[i] * size, (size_t)length[i] * size, e);
    }
    return code;
}

/* --- the index -------------------------------------------------------------------------------------------------- */

/* A table of the index, which is put a chunk at a time. */
struct table {
    struct bl_export_part *part;
    size_t count, width;
    union {
        int32_t narrow[CHUNK];
        int64_t wide[CHUNK];
    } chunk;
};

/* Puts the values of the chunk, and empties it. */
static int table_flush(struct table *table, struct bl_error *e)
{
    size_t count = table->count;
    table->count = 0;
    return bl_export_part_put(table->part, &table->chunk, count * table->width, e);
}

/* Adds a value to a table of the index, in the width of the table. */
static int index_put(struct table *table, int64_t value, struct bl_error *e)
{
    if (table->width == sizeof *table->chunk.narrow)
        table->chunk.narrow[table->count++] = (int32_t)value;
    else
        table->chunk.wide[table->count++] = value;
    return table->count == CHUNK ? table_flush(table, e) : BL_OK;
}

/* The tables of an index, in their order in the file. */
enum index_table { LENGTHS, OFFSETS, DOCUMENTS, COUNTS };

/* What an index counts: sequences, documents, and bytes of tokens. */
struct counts {
    int64_t sequences, documents, bytes;
};

/* Puts one table of the index for the sequences of a part, and counts them. which: the table; COUNTS: only count, since
 * the header has the counts and comes before the tables. A block without a sequence, which is all padding, is no
 * document. */
static int part_walk(const struct bl_export_job *job, int64_t part, enum index_table which, struct table *table,
                     struct counts *counts, struct bl_error *e)
{
    int64_t size = (int64_t)bl_dtype_size(job->arrays.array[tokens_array(job)].dtype);
    int64_t first = bl_export_first_block(job, part), end = first + bl_export_blocks_of(job, part);
    int code = BL_OK;
    *counts = (struct counts){0};
    for (int64_t b = first; b < end && !code; b++) {
        const struct bl_block *block;
        int64_t before = counts->sequences;
        code = bl_blocks_tables(job->blocks, b, &block, e);
        for (int i = 0; !code && i < block->num_sequences; i++) {
            if (block->length[i] <= 0)
                continue;
            if (which == LENGTHS || which == OFFSETS)
                code = index_put(table, which == LENGTHS ? block->length[i] : counts->bytes, e);
            counts->sequences++;
            counts->bytes += block->length[i] * size;
        }
        if (counts->sequences == before) /* a document must have a sequence */
            continue;
        counts->documents++;
        if (!code && which == DOCUMENTS)
            code = index_put(table, counts->sequences, e);
    }
    return code;
}

/* Puts one table of the index. Documents begin with a 0: entry i is the first sequence of document i, and the last
 * entry is the number of sequences. */
static int index_write_table(const struct bl_export_job *job, int64_t part, enum index_table which,
                             struct bl_export_part *file, struct bl_error *e)
{
    struct table table = {.part = file, .width = which == LENGTHS ? 4 : 8};
    struct counts counts;
    BL_TRY(which == DOCUMENTS ? index_put(&table, 0, e) : BL_OK);
    BL_TRY(part_walk(job, part, which, &table, &counts, e));
    return table_flush(&table, e);
}

/* Puts the bytes before the tables. */
static int header_write(const struct bl_export_job *job, const struct counts *counts, struct bl_export_part *file,
                        struct bl_error *e)
{
    uint64_t version = 1, sequences = (uint64_t)counts->sequences, entries = (uint64_t)counts->documents + 1;
    uint8_t type = type_code(job->arrays.array[tokens_array(job)].dtype);
    BL_TRY(bl_export_part_put(file, "MMIDIDX\0", 9, e));
    BL_TRY(bl_export_part_put(file, &version, sizeof version, e));
    BL_TRY(bl_export_part_put(file, &type, sizeof type, e));
    BL_TRY(bl_export_part_put(file, &sequences, sizeof sequences, e));
    return bl_export_part_put(file, &entries, sizeof entries, e);
}

/* Writes TOKENS.idx of a part, or compares it. The tables are made in a pass each over the tables of the blocks, so
 * that an index of any size needs no memory. */
static int index_write(const struct bl_export_job *job, int64_t part, struct bl_error *e)
{
    struct bl_export_part file = BL_EXPORT_PART_NONE;
    struct table none = {.part = &file};
    struct counts counts;
    char name[BL_EXPORT_NAME_MAX];
    part_name(job, part, "idx", name);
    int code = part_walk(job, part, COUNTS, &none, &counts, e);
    if (!code)
        code = bl_export_open_file(job, name, &file, e);
    if (!code)
        code = header_write(job, &counts, &file, e);
    for (int t = LENGTHS; t <= DOCUMENTS && !code; t++)
        code = index_write_table(job, part, (enum index_table)t, &file, e);
    if (!code)
        code = bl_export_part_commit(&file, e);
    if (code == BL_EDATA && job->compares)
        bl_error_prefix(e, "%s", name);
    bl_export_part_abort(&file);
    return code;
}

/* Writes the index of each part, or compares it. */
static int megatron_finish(const struct bl_export_job *job, struct bl_error *e)
{
    int code = BL_OK;
    for (int64_t part = 0; part < job->parts && !code; part++)
        code = index_write(job, part, e);
    return code;
}

const struct bl_export_format bl_export_megatron = {
    .name = "megatron",
    .reader = "Megatron: megatron.core.datasets.indexed_dataset.IndexedDataset",
    .shard_size = INT64_MAX,
    .most = INT64_MAX,
    .check = megatron_check,
    .only = tokens_array,
    .bytes = megatron_bytes,
    .name_part = megatron_name_part,
    .block = megatron_block,
    .finish = megatron_finish,
};
