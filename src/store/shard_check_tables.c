/* Checks of a shard's tables. The plan does not say which pieces failed. The table "sequence", which comes first, does
 * (-1), and only sequences that have failed in sequences.tsv may; the other tables must agree with it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "store/shard_check.h"

static int piece_compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int check_add_lost(struct bl_shard_check *w, int64_t piece, int64_t steps, struct bl_error *e)
{
    if (BL_ARRAY_RESERVE(w->lost, w->lost_capacity, w->lost_count + 1, e))
        return BL_EFAIL;
    w->lost[w->lost_count++] = piece;
    w->failed_steps += steps;
    return BL_OK;
}

int bl_shard_check_expect(struct bl_shard_check *w, int64_t b, const int64_t *row, struct bl_error *e)
{
    const struct bl_verify *v = w->verify;
    struct bl_block *block = &w->expected;
    int code = BL_OK;
    bl_block_plan(block, w->format, &v->plan, v->sequences.length, b - v->first_block);
    for (int i = 0; v->failed && i < block->num_sequences && !code; i++) {
        int64_t piece = v->plan.block_ptr[b - v->first_block] + i, sequence;
        if (!v->failed[block->sequence[i]])
            continue;
        memcpy(&sequence, row ? &row[i] : &block->sequence[i], sizeof sequence);
        if (row && sequence == -1)
            code = check_add_lost(w, piece, block->length[i], e);
        if (!code && w->lost && bsearch(&piece, w->lost, w->lost_count, sizeof *w->lost, piece_compare))
            bl_block_fail(block, w->format, i);
    }
    return code;
}

static const void *check_expected_row(struct bl_shard_check *w, int table)
{
    const struct bl_block *block = &w->expected;
    if (table >= BL_TABLES) {
        bl_block_attribute(block, w->format, table - BL_TABLES, w->attribute);
        return w->attribute;
    }
    switch (table) {
    case BL_TABLE_CU_SEQLENS:
        return block->cu_seqlens;
    case BL_TABLE_NUM_SEQUENCES:
        return &block->num_sequences;
    case BL_TABLE_SEQUENCE:
        return block->sequence;
    case BL_TABLE_LENGTH:
        return block->length;
    case BL_TABLE_SOURCE_START:
        return block->source_start;
    default:
        bl_block_segment_ids(block, w->format, w->segment_ids);
        return w->segment_ids;
    }
}

/* The rows of a table that are wrong: the first one, and their number. */
struct wrong {
    int64_t first, count;
};

/* Compares rows in chunk, of the blocks from first on. */
static int check_compare_rows(struct bl_shard_check *w, const struct bl_shard_tensor *tensor, int64_t first,
                              int64_t rows, struct wrong *wrong, struct bl_error *e)
{
    for (int64_t i = 0; i < rows; i++) {
        const uint8_t *row = w->chunk + i * tensor->row_bytes;
        int code = bl_shard_check_expect(
            w, first + i, tensor->table == BL_TABLE_SEQUENCE ? (const int64_t *)(const void *)row : NULL, e);
        if (code)
            return code;
        if (memcmp(row, check_expected_row(w, tensor->table), (size_t)tensor->row_bytes) != 0 && !wrong->count++)
            wrong->first = first + i;
    }
    return BL_OK;
}

static void check_report_rows(struct bl_shard_check *w, const struct bl_shard_tensor *tensor, const struct wrong *wrong)
{
    const char *what = tensor->table < BL_TABLES ? "the plan" : "sequences.tsv";
    if (wrong->count == 1)
        bl_shard_check_report(w, "%s of block %" PRId64 " differs from %s", tensor->tensor.name, wrong->first, what);
    else if (wrong->count)
        bl_shard_check_report(w, "%s of block %" PRId64 " and %" PRId64 " more differ from %s", tensor->tensor.name,
                              wrong->first, wrong->count - 1, what);
}

int bl_shard_check_table(struct bl_shard_check *w, const struct bl_shard_tensor *tensor, struct bl_error *e)
{
    struct bl_checksum_state sum;
    struct wrong wrong = {0};
    bool known = w->verify->has_plan && (tensor->table < BL_TABLES || w->verify->has_values);
    int64_t batch = w->chunk_size / tensor->row_bytes;
    int code = BL_OK;
    bl_checksum_begin(&sum);
    for (int64_t at = 0; at < w->layout.blocks && !code; at += batch) {
        int64_t rows = w->layout.blocks - at < batch ? w->layout.blocks - at : batch;
        code = bl_shard_check_read(w, bl_layout_offset(&w->layout, tensor, at), rows * tensor->row_bytes, w->chunk,
                                   tensor->tensor.name, e);
        if (!code)
            bl_checksum_add(&sum, w->chunk, (size_t)(rows * tensor->row_bytes));
        if (!code && known)
            code = check_compare_rows(w, tensor, w->layout.first_block + at, rows, &wrong, e);
    }
    check_report_rows(w, tensor, &wrong);
    if (!code)
        bl_shard_check_add_region(w, bl_checksum_end(&sum));
    return code == BL_EDATA ? BL_OK : code;
}
