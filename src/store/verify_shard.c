/* Verification of one shard.
 *
 * A shard is read once, in file order. The header is compared with the one that follows from the manifest; tables are
 * compared with the plan, row by row; fields are compared with the checksums of the index, block by block. The checksum
 * of the shard is computed from these, and is compared only if no other fault was found.
 *
 * A check that cannot continue after a fault reports the fault and returns BL_EDATA. The checks that follow still run.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/fs.h"
#include "store/dataset_file.h"
#include "store/block.h"
#include "store/format.h"
#include "store/shard_reader.h"
#include "store/verify.h"

struct bl_shard_check {
    const struct bl_verify *verify;
    const struct bl_format *format;
    char name[BL_SHARD_NAME_MAX];
    struct bl_layout layout;
    struct bl_shard_reader file;
    struct bl_checksum_state sum; /* plain shards: over the checksums of the regions */
    uint8_t *chunk;               /* rows of a table, or part of a block */
    int64_t chunk_size;
    struct bl_block expected; /* the tables that one block must have */
    void *row;                /* its row of one table */
    uint8_t *step;            /* [T] enum bl_step of one block */
    int64_t *offsets;         /* [T + 1] of one block of the field being read */
    struct bl_jpeg_decoder *decoder;
    int64_t *lost; /* pieces of the plan that failed, ascending */
    size_t lost_count, lost_capacity;
    int64_t failed_steps;
    int faults;
    bl_fault *fault;
    void *context;
};

/* --- reading and reporting ---------------------------------------------------------------------------------------- */

/* Reports a fault of the shard. */
static BL_PRINTF(2, 3) void shard_check_report(struct bl_shard_check *w, const char *format, ...)
{
    char text[1200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    w->faults++;
    w->fault(w->context, w->name, text);
}

/* Copies uncompressed bytes of the shard. BL_EDATA: they cannot be read, which is reported as a fault of `what`. */
static int shard_check_read(struct bl_shard_check *w, int64_t offset, int64_t size, void *out, const char *what,
                            struct bl_error *e)
{
    struct bl_error why = {0};
    if (bl_cancelled(w->verify->cancel))
        return BL_ECANCEL;
    int code = bl_shard_reader_read(&w->file, offset, size, out, &why);
    if (code == BL_EDATA || (code == BL_EFAIL && !bl_far_failed())) { /* what a store refused is not damaged */
        shard_check_report(w, "%s: %s", what, why.text);
        return BL_EDATA;
    }
    return bl_error_pass(e, code, &why);
}

/* Adds the checksum of the next region to the shard's. */
static void shard_check_add_region(struct bl_shard_check *w, uint64_t checksum)
{
    bl_checksum_add(&w->sum, &checksum, sizeof checksum);
}

/* --- tables ------------------------------------------------------------------------------------------------------- */

/* Checks of the tables of a shard. The plan does not say which pieces failed. The table "sequence", which comes first,
 * says it by -1. Only sequences with the status failed in sequences.tsv may have -1, and the other tables must agree.
 */

/* Orders numbers of pieces for bsearch. */
static int check_compare_piece(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Sets the tables that block b must have. row: the block's row of the table "sequence", while that table is checked;
 * later NULL, since w->lost has all failed pieces then. */
static int shard_check_expect(struct bl_shard_check *w, int64_t b, const int64_t *row, struct bl_error *e)
{
    const struct bl_verify *v = w->verify;
    struct bl_block *block = &w->expected;
    bl_block_plan(block, w->format, &v->plan, v->sequences.length, b - v->first_block);
    for (int i = 0; v->failed && i < block->num_sequences; i++) {
        int64_t piece = v->plan.block_ptr[b - v->first_block] + i, sequence;
        if (!v->failed[block->sequence[i]])
            continue;
        memcpy(&sequence, row ? &row[i] : &block->sequence[i], sizeof sequence);
        if (row && sequence == -1) {
            BL_TRY(BL_ARRAY_RESERVE(w->lost, w->lost_capacity, w->lost_count + 1, e));
            w->lost[w->lost_count++] = piece;
            w->failed_steps += block->length[i];
        }
        if (w->lost && bsearch(&piece, w->lost, w->lost_count, sizeof *w->lost, check_compare_piece))
            bl_block_fail(block, w->format, i);
    }
    return BL_OK;
}

/* Checks a table against the plan, and an attribute against sequences.tsv, row by row. Many wrong rows make one fault.
 */
static int shard_check_table(struct bl_shard_check *w, const struct bl_shard_tensor *tensor, struct bl_error *e)
{
    struct bl_checksum_state sum;
    int64_t first = 0, wrong = 0; /* the first block with a wrong row, and the number of wrong rows */
    bool known =
        w->verify->has_plan && (tensor->table < BL_TABLES || tensor->table >= BL_TABLE_OWN || w->verify->has_values);
    /* Several rows are read at once: rows of the table num_sequences have 4 bytes. */
    int64_t batch = w->chunk_size / tensor->row_bytes;
    int code = BL_OK;
    bl_checksum_begin(&sum);
    for (int64_t at = 0; at < w->layout.blocks && !code; at += batch) {
        int64_t rows = w->layout.blocks - at < batch ? w->layout.blocks - at : batch;
        code = shard_check_read(w, bl_layout_offset(&w->layout, tensor, at), rows * tensor->row_bytes, w->chunk,
                                tensor->tensor.name, e);
        if (!code)
            bl_checksum_add(&sum, w->chunk, (size_t)(rows * tensor->row_bytes));
        for (int64_t i = 0; known && !code && i < rows; i++) {
            const uint8_t *row = w->chunk + i * tensor->row_bytes;
            const int64_t b = w->layout.first_block + at + i;
            const void *sequence = tensor->table == BL_TABLE_SEQUENCE ? row : NULL;
            code = shard_check_expect(w, b, sequence, e);
            bl_block_copy_table(&w->expected, w->format, tensor->table, w->row);
            if (!code && memcmp(row, w->row, (size_t)tensor->row_bytes) != 0 && !wrong++)
                first = b;
        }
    }
    bool is_attribute = tensor->table >= BL_TABLES && tensor->table < BL_TABLE_OWN;
    const char *what = is_attribute ? "sequences.tsv" : "the plan";
    if (wrong == 1)
        shard_check_report(w, "%s of block %" PRId64 " differs from %s", tensor->tensor.name, first, what);
    else if (wrong)
        shard_check_report(w, "%s of block %" PRId64 " and %" PRId64 " more differ from %s", tensor->tensor.name, first,
                           wrong - 1, what);
    if (!code)
        shard_check_add_region(w, bl_checksum_end(&sum));
    return code == BL_EDATA ? BL_OK : code;
}

/* Compares the steps before each block of a flat field, which the layout has read, with the plan. */
static int shard_check_flat(struct bl_shard_check *w, const struct bl_shard_tensor *tensor, struct bl_error *e)
{
    const int64_t *steps = w->layout.steps[tensor->field], size = tensor->tensor.end - tensor->tensor.begin;
    int64_t wrong = 0;
    /* It is read once more, so that the checksums of frames have it. */
    struct bl_checksum_state sum;
    int code = BL_OK;
    bl_checksum_begin(&sum);
    for (int64_t at = 0; at < size && !code; at += w->chunk_size) {
        int64_t part = size - at < w->chunk_size ? size - at : w->chunk_size;
        code =
            shard_check_read(w, bl_layout_offset(&w->layout, tensor, 0) + at, part, w->chunk, tensor->tensor.name, e);
        if (!code)
            bl_checksum_add(&sum, w->chunk, (size_t)part);
    }
    if (code)
        return code == BL_EDATA ? BL_OK : code;
    for (int64_t row = 0; row < w->layout.blocks && w->verify->has_plan; row++) {
        const int64_t b = w->layout.first_block + row;
        BL_TRY(shard_check_expect(w, b, NULL, e));
        if (steps[row + 1] - steps[row] != w->expected.own[tensor->field][w->format->S] && !wrong++)
            shard_check_report(w, "%s: block %" PRId64 " has %" PRId64 " steps, the plan says %d", tensor->tensor.name,
                               b, steps[row + 1] - steps[row], (int)w->expected.own[tensor->field][w->format->S]);
    }
    shard_check_add_region(w, bl_checksum_end(&sum));
    return BL_OK;
}

/* --- JPEG fields -------------------------------------------------------------------------------------------------- */

/* In a JPEG field, the offsets of its steps are checked first, then each step's JPEG header while the bytes are
 * checksummed. */

/* Checks the offsets of a block: they must begin at *at, must not decrease, and must stay within the tensor. Sets *at
 * to their end. *at -1: the beginning is unknown. BL_EDATA: the offsets are wrong, which is reported. */
static int check_block_offsets(struct bl_shard_check *w, const struct bl_shard_tensor *tensor, int64_t row, int64_t *at)
{
    const struct bl_shard_tensor *data = bl_layout_field(&w->layout, tensor->field);
    const int64_t b = w->layout.first_block + row, *offsets = w->offsets;
    int64_t end = data->tensor.end - data->tensor.begin;
    if (*at >= 0 && offsets[0] != *at) {
        shard_check_report(w, "%s of block %" PRId64 " begins at %" PRId64 ", not at %" PRId64, tensor->tensor.name, b,
                           offsets[0], *at);
        *at = -1;
        return BL_EDATA;
    }
    int64_t t = bl_codec_check_offsets(w->format, offsets, end);
    if (t >= 0)
        shard_check_report(
            w, "%s of block %" PRId64 ", step %" PRId64 ": goes from %" PRId64 " to %" PRId64 " of %" PRId64 " bytes",
            tensor->tensor.name, b, t, offsets[t], offsets[t + 1], end);
    *at = t >= 0 ? -1 : offsets[w->format->T];
    return t >= 0 ? BL_EDATA : BL_OK;
}

/* Checks that exactly those steps have bytes that belong to a sequence or repeat such a step. Reports the first step
 * that differs. */
static int check_steps(struct bl_shard_check *w, const struct bl_shard_tensor *tensor, int64_t row, struct bl_error *e)
{
    int64_t b = w->layout.first_block + row;
    const int64_t *offsets = w->offsets;
    BL_TRY(shard_check_expect(w, b, NULL, e));
    bl_block_steps(&w->expected, w->format, w->step);
    for (int64_t t = 0; t < w->format->T; t++) {
        int64_t size = offsets[t + 1] - offsets[t], before = t ? offsets[t] - offsets[t - 1] : 0;
        if (w->step[t] == BL_STEP_OWN && !size)
            shard_check_report(w, "%s of block %" PRId64 ", step %" PRId64 ": no bytes, but it belongs to a sequence",
                               tensor->tensor.name, b, t);
        else if (w->step[t] == BL_STEP_EMPTY && size)
            shard_check_report(w, "%s of block %" PRId64 ", step %" PRId64 ": has bytes, but belongs to no sequence",
                               tensor->tensor.name, b, t);
        else if (w->step[t] == BL_STEP_REPEAT && size != before)
            shard_check_report(w, "%s of block %" PRId64 ", step %" PRId64 ": does not repeat the step before",
                               tensor->tensor.name, b, t);
        else
            continue;
        break;
    }
    return BL_OK;
}

/* Reads the offsets of the steps of a block into w->offsets. */
static int check_read_offsets(struct bl_shard_check *w, const struct bl_shard_tensor *tensor, int64_t row,
                              struct bl_error *e)
{
    return shard_check_read(w, bl_layout_offset(&w->layout, tensor, row), tensor->row_bytes, w->offsets,
                            tensor->tensor.name, e);
}

/* Checks the offsets of all blocks of a field: each block begins where the one before it ends. */
static int shard_check_offsets(struct bl_shard_check *w, const struct bl_shard_tensor *tensor, struct bl_error *e)
{
    const struct bl_shard_tensor *data = bl_layout_field(&w->layout, tensor->field);
    int64_t at = 0;
    struct bl_checksum_state sum;
    bl_checksum_begin(&sum);
    int code = BL_OK;
    for (int64_t row = 0; row < w->layout.blocks && !code; row++) {
        code = check_read_offsets(w, tensor, row, e);
        if (!code)
            bl_checksum_add(&sum, w->offsets, (size_t)tensor->row_bytes);
        if (!code && !check_block_offsets(w, tensor, row, &at) && w->verify->has_plan)
            code = check_steps(w, tensor, row, e);
    }
    if (!code && at >= 0 && at != data->tensor.end - data->tensor.begin)
        shard_check_report(w, "%s ends at %" PRId64 " of %" PRId64 " bytes", tensor->tensor.name, at,
                           data->tensor.end - data->tensor.begin);
    if (!code)
        shard_check_add_region(w, bl_checksum_end(&sum));
    return code == BL_EDATA ? BL_OK : code;
}

/* Reads all steps of a block of a JPEG field, checks their JPEG headers, and computes the checksum of the block.
 * BL_EDATA: the block cannot be read. Wrong offsets have been reported by shard_check_offsets. */
static int shard_check_read_steps(struct bl_shard_check *w, const struct bl_shard_tensor *tensor, int64_t row,
                                  const char *what, uint64_t *checksum, struct bl_error *e)
{
    const int64_t *shape = w->format->fields.field[tensor->field].shape, *offsets = w->offsets;
    const int64_t begin = bl_layout_offset(&w->layout, tensor, 0);
    struct bl_checksum_state sum;
    BL_TRY(check_read_offsets(w, bl_layout_offsets(&w->layout, tensor->field), row, e));
    if (bl_codec_check_offsets(w->format, offsets, tensor->tensor.end - tensor->tensor.begin) >= 0)
        return BL_EDATA;
    bl_checksum_begin(&sum);
    for (int64_t t = 0; t < w->format->T; t++) {
        struct bl_error why = {0};
        int64_t size = offsets[t + 1] - offsets[t];
        if (size > w->chunk_size) {
            shard_check_report(
                w, "%s, step %" PRId64 ": %" PRId64 " bytes exceed the maximum of a JPEG file of %" PRId64 "x%" PRId64,
                what, t, size, shape[1], shape[0]);
            return BL_EDATA;
        }
        BL_TRY(shard_check_read(w, begin + offsets[t], size, w->chunk, what, e));
        int code = size ? bl_jpeg_check(w->decoder, w->chunk, (size_t)size, shape, &why) : BL_OK;
        if (code == BL_EDATA)
            shard_check_report(w, "%s, step %" PRId64 ": %s", what, t, why.text);
        else if (code)
            return bl_error_pass(e, code, &why);
        bl_checksum_add(&sum, w->chunk, (size_t)size);
    }
    *checksum = bl_checksum_end(&sum);
    return BL_OK;
}

/* --- shard -------------------------------------------------------------------------------------------------------- */

#define CHUNK ((int64_t)1 << 20) /* bytes of a block that are read at a time */

/* Compares a block of a field with its checksum in the index. */
static int check_block(struct bl_shard_check *w, const struct bl_shard_tensor *tensor, int64_t row, struct bl_error *e)
{
    const struct bl_verify *v = w->verify;
    int64_t b = w->layout.first_block + row;
    char what[BL_FIELD_NAME_MAX + 32];
    struct bl_checksum_state sum;
    uint64_t checksum = 0;
    int64_t listed = 0, size = bl_layout_block_bytes(&w->layout, tensor, row);
    int code = BL_OK;
    snprintf(what, sizeof what, "block %" PRId64 " of %s", b, tensor->tensor.name);
    bl_checksum_begin(&sum);
    for (int64_t at = 0; !tensor->varies && at < size && !code; at += w->chunk_size) {
        int64_t part = size - at < w->chunk_size ? size - at : w->chunk_size;
        code = shard_check_read(w, bl_layout_offset(&w->layout, tensor, row) + at, part, w->chunk, what, e);
        if (!code)
            bl_checksum_add(&sum, w->chunk, (size_t)part);
    }
    checksum = bl_checksum_end(&sum);
    if (tensor->varies)
        code = shard_check_read_steps(w, tensor, row, what, &checksum, e);
    if (code)
        return code == BL_EDATA ? BL_OK : code;
    shard_check_add_region(w, checksum);
    if (!v->has_index)
        return BL_OK;
    BL_TRY(
        bl_index_read(&v->index, BL_INDEX_BLOCK_CHECKSUM, b * w->format->fields.count + tensor->field, 1, &listed, e));
    if ((uint64_t)listed != checksum)
        shard_check_report(w, "%s: checksum %016" PRIx64 ", the index says %016" PRIx64, what, checksum,
                           (uint64_t)listed);
    return BL_OK;
}

/* Returns true if a frame begins at the header, at each table and at each block, and within these after every
 * bl_format_frame_size bytes. */
static bool check_frames_are_aligned(const struct bl_shard_check *w)
{
    const struct bl_seekable *s = &w->file.seekable;
    size_t i = 0;
    int64_t at = 0, most = (int64_t)bl_format_frame_size(w->format);
    for (int t = -1; t < w->layout.tensors; t++) {
        const struct bl_shard_tensor *tensor = t < 0 ? NULL : &w->layout.tensor[t];
        bool by_block = tensor && tensor->field >= 0 && !tensor->offsets;
        for (int64_t n = 0; n < (by_block ? w->layout.blocks : 1); n++) {
            int64_t size = !tensor    ? (int64_t)w->layout.header.size
                           : by_block ? bl_layout_block_bytes(&w->layout, tensor, n)
                                      : tensor->tensor.end - tensor->tensor.begin;
            for (int64_t part = 0; part < size; part += most, i++) {
                if (i >= s->frames || s->frame[i].content != at + part)
                    return false;
            }
            at += size;
        }
    }
    return i == s->frames;
}

/* Checks all regions in file order: the header, then each tensor. */
static int check_contents(struct bl_shard_check *w, struct bl_error *e)
{
    const struct bl_buffer *header = &w->layout.header;
    char *head = malloc(header->size);
    int code = head ? shard_check_read(w, 0, (int64_t)header->size, head, "the header", e) : bl_error_memory(e);
    if (!code && memcmp(head, header->data, header->size) != 0)
        shard_check_report(w, "its header does not match the manifest");
    if (!code)
        shard_check_add_region(w, bl_checksum(head, header->size));
    free(head);
    code = code == BL_EDATA ? BL_OK : code; /* a header that cannot be read is reported */
    for (int t = 0; t < w->layout.tensors && !code; t++) {
        const struct bl_shard_tensor *tensor = &w->layout.tensor[t];
        if (tensor->table >= 0)
            code = shard_check_table(w, tensor, e);
        else if (tensor->offsets && tensor->flat)
            code = shard_check_flat(w, tensor, e);
        else if (tensor->offsets)
            code = shard_check_offsets(w, tensor, e);
        for (int64_t row = 0; tensor->field >= 0 && !tensor->offsets && row < w->layout.blocks && !code; row++)
            code = check_block(w, tensor, row, e);
    }
    return code;
}

/* Allocates what the checks need. A chunk holds a row of any table, the JPEG file of any step, or a part of a block. */
static int check_prepare(struct bl_shard_check *w, struct bl_error *e)
{
    const struct bl_format *format = w->format;
    w->chunk_size = CHUNK;
    for (int t = 0; t < w->layout.tensors; t++) {
        const struct bl_shard_tensor *tensor = &w->layout.tensor[t];
        int64_t needed = 0;
        if (tensor->table >= 0)
            needed = tensor->row_bytes;
        else if (tensor->varies)
            needed = (int64_t)(bl_codec_max_size(format, tensor->field) / (size_t)format->T);
        w->chunk_size = needed > w->chunk_size ? needed : w->chunk_size;
    }
    w->chunk = malloc((size_t)w->chunk_size);
    /* The longest row is that of cu_seqlens, S + 1, or of segment_ids, T. */
    w->row = calloc((size_t)(format->S > format->T ? format->S : format->T) + 1, sizeof(int64_t));
    if (!w->chunk || !w->row)
        return bl_error_memory(e);
    BL_TRY(bl_block_make(&w->expected, 1, format, false, e));
    w->expected.values = &w->verify->values;
    if (bl_format_encodes(format, BL_ENCODING_JPEG)) {
        w->step = malloc((size_t)format->T);
        w->offsets = calloc((size_t)format->T + 1, sizeof *w->offsets);
        BL_TRY(w->step && w->offsets ? bl_jpeg_decoder_open(&w->decoder, e) : bl_error_memory(e));
    }
    bl_checksum_begin(&w->sum);
    return w->file.compressed ? bl_shard_reader_keep_checksums(&w->file, e) : BL_OK;
}

/* Opens the shard, makes its layout from the header of the file, and checks sizes and frames. BL_EDATA: the shard
 * cannot be read further, which is reported. row: of shards.tsv, or NULL. */
static int check_open_file(struct bl_shard_check *w, int64_t shard, const struct bl_shard_row *row, struct bl_error *e)
{
    struct bl_error why = {0};
    char *path = bl_path_join(w->verify->dir, w->name);
    if (!path)
        return bl_error_memory(e);
    bool exists = true;
    int code = bl_input_file_exists(path, &exists, &why);
    if (!code)
        code = exists ? bl_shard_reader_open(&w->file, path, w->format->compressed, &why) : BL_EDATA;
    free(path);
    if (code && bl_far_failed())
        return bl_error_pass(e, code, &why);
    if (code) {
        shard_check_report(w, "%s", exists ? why.text : "is missing");
        return BL_EDATA;
    }
    code = bl_shard_reader_layout(&w->file, w->format, shard, &w->layout, &why);
    if (code && code != BL_EDATA)
        return bl_error_pass(e, code, &why);
    if (code) {
        shard_check_report(w, "%s", why.text);
        return BL_EDATA;
    }
    if (w->file.size != w->layout.file_size) {
        shard_check_report(w, "has %" PRId64 " bytes%s, expected %" PRId64, w->file.size,
                           w->file.compressed ? " of content" : "", w->layout.file_size);
        return BL_EDATA;
    }
    if (row && w->file.bytes != row->bytes)
        shard_check_report(w, "has %" PRId64 " bytes, " BL_SHARDS_FILE " says %" PRId64, w->file.bytes, row->bytes);
    if (!w->file.compressed || check_frames_are_aligned(w))
        return BL_OK;
    shard_check_report(w, "its frames do not match header, tables and blocks");
    return BL_EDATA;
}

/* The checksum of the shard is compared with shards.tsv only without another fault, which would explain a difference.
 */
int bl_verify_shard(const struct bl_verify *verify, int64_t shard, bl_fault *fault, void *context,
                    int64_t *failed_steps, struct bl_error *e)
{
    const struct bl_format *format = &verify->manifest.format;
    const struct bl_shard_row *row = verify->shards ? &verify->shards[shard] : NULL;
    struct bl_shard_check w = {.verify = verify, .format = format, .file.fd = -1, .fault = fault, .context = context};
    bl_format_shard_name(format, shard, w.name);
    int code = check_open_file(&w, shard, row, e);
    if (!code)
        code = check_prepare(&w, e);
    if (!code)
        code = check_contents(&w, e);
    const bool is_compared = !code && row && !w.faults;
    if (is_compared && w.file.compressed) { /* the regions are the frames, and the frame of the seek table */
        uint64_t table = 0;
        code = bl_shard_reader_table_checksum(&w.file, &table, e);
        bl_checksum_begin(&w.sum);
        bl_checksum_add(&w.sum, w.file.frame_checksum, w.file.seekable.frames * sizeof *w.file.frame_checksum);
        bl_checksum_add(&w.sum, &table, sizeof table);
    }
    uint64_t checksum = is_compared ? bl_checksum_end(&w.sum) : 0;
    if (is_compared && !code && checksum != row->checksum)
        shard_check_report(&w, "checksum %016" PRIx64 ", " BL_SHARDS_FILE " says %016" PRIx64, checksum, row->checksum);
    *failed_steps = w.failed_steps;
    bl_shard_reader_close(&w.file);
    bl_layout_free(&w.layout);
    bl_block_free(&w.expected);
    bl_jpeg_decoder_close(w.decoder);
    free(w.step);
    free(w.offsets);
    free(w.row);
    free(w.lost);
    free(w.chunk);
    return code == BL_EDATA ? BL_OK : code;
}
