/* A shard is read in file order: the header, which follows from the manifest to the byte; tables row by row against the
 * rows that the plan gives; fields block by block against the checksums of the index. What was read is added up to the
 * shard's own checksum, which is told of only when nothing else explains it. Of an encoded field, offsets are looked at
 * first, then each step's JPEG header together with the bytes that are summed up.
 *
 * Which pieces failed is not in the plan. The table "sequence", which comes before the others, says so (-1), and only
 * sequences that failed by sequences.tsv may; the other tables must agree with it. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "store/block.h"
#include "store/codec.h"
#include "store/jpeg.h"
#include "store/shard_reader.h"
#include "store/verify.h"

#define CHUNK ((int64_t)1 << 20)

struct shard_check {
    const struct bl_verify *verify;
    const struct bl_format *format;
    char name[BL_SHARD_NAME_MAX];
    struct bl_layout layout;
    struct bl_shard_reader file;
    struct bl_checksum_state sum; /* plain: over the regions */
    uint8_t *chunk;               /* rows or parts of blocks as they were read */
    int64_t chunk_size;
    struct bl_block expected; /* tables of one block */
    int32_t *segment_ids;
    int64_t *attribute; /* [S] of one block */
    bool pad_repeat;
    uint8_t *step;    /* [T] enum bl_step of one block */
    int64_t *offsets; /* [T + 1] of one block of the field that is being read */
    struct bl_jpeg_decoder *decoder;
    int64_t *lost; /* pieces of the plan that failed, rising */
    size_t lost_count, lost_capacity;
    int64_t failed_steps;
    int faults;
    bl_fault *fault;
    void *context;
};

static void check_report(struct shard_check *w, const char *format, ...) BL_PRINTF(2, 3);

static void check_report(struct shard_check *w, const char *format, ...)
{
    char text[1200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    w->faults++;
    w->fault(w->context, w->name, text);
}

/* Uncompressed bytes from the shard. 1: they cannot be had, which has been told as a fault of what. */
static int check_read(struct shard_check *w, int64_t offset, int64_t size, void *out, const char *what,
                      struct bl_error *e)
{
    struct bl_error why = {0};
    if (bl_cancelled(w->verify->cancel))
        return BL_ECANCEL;
    int code = bl_shard_reader_read(&w->file, offset, size, out, &why);
    if (code == BL_EDATA || code == BL_EFAIL) {
        check_report(w, "%s: %s", what, why.text);
        return 1;
    }
    return code ? bl_error_set(e, code, "%s", why.text) : BL_OK;
}

static void check_add_region(struct shard_check *w, uint64_t checksum)
{
    bl_checksum_add(&w->sum, &checksum, sizeof checksum);
}

/* --- tables ----------------------------------------------------------------------------------------------------- */

static bool check_is_lost(const struct shard_check *w, int64_t piece)
{
    size_t low = 0, high = w->lost_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (w->lost[middle] < piece)
            low = middle + 1;
        else
            high = middle;
    }
    return low < w->lost_count && w->lost[low] == piece;
}

static int check_add_lost(struct shard_check *w, int64_t piece, int64_t steps, struct bl_error *e)
{
    if (w->lost_count == w->lost_capacity) {
        size_t capacity = w->lost_capacity ? 2 * w->lost_capacity : 64;
        int64_t *grown = realloc(w->lost, capacity * sizeof *grown);
        if (!grown)
            return bl_error_memory(e);
        w->lost = grown;
        w->lost_capacity = capacity;
    }
    w->lost[w->lost_count++] = piece;
    w->failed_steps += steps;
    return BL_OK;
}

/* The tables that block b must have; row is what its row of the table "sequence" says, when that is the one being read.
 */
static int check_expect_block(struct shard_check *w, int64_t b, const int64_t *row, struct bl_error *e)
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
        if (!code && check_is_lost(w, piece))
            bl_block_fail(block, w->format, i);
    }
    return code;
}

static const void *check_expected_row(struct shard_check *w, int table)
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

/* A table's rows that are wrong: the first, and how many. */
struct wrong {
    int64_t first, count;
};

/* Compares rows that have been read, of blocks from first on. */
static int check_compare_rows(struct shard_check *w, const struct bl_shard_tensor *tensor, int64_t first, int64_t rows,
                              struct wrong *wrong, struct bl_error *e)
{
    for (int64_t i = 0; i < rows; i++) {
        const uint8_t *row = w->chunk + i * tensor->row_bytes;
        int code = check_expect_block(
            w, first + i, tensor->table == BL_TABLE_SEQUENCE ? (const int64_t *)(const void *)row : NULL, e);
        if (code)
            return code;
        if (memcmp(row, check_expected_row(w, tensor->table), (size_t)tensor->row_bytes) != 0 && !wrong->count++)
            wrong->first = first + i;
    }
    return BL_OK;
}

static void check_report_rows(struct shard_check *w, const struct bl_shard_tensor *tensor, const struct wrong *wrong)
{
    const char *what = tensor->table < BL_TABLES ? "as planned" : "as sequences.tsv has it";
    if (wrong->count == 1)
        check_report(w, "%s of block %" PRId64 " is not %s", tensor->tensor.name, wrong->first, what);
    else if (wrong->count)
        check_report(w, "%s of block %" PRId64 " and %" PRId64 " more is not %s", tensor->tensor.name, wrong->first,
                     wrong->count - 1, what);
}

static int check_table(struct shard_check *w, const struct bl_shard_tensor *tensor, struct bl_error *e)
{
    struct bl_checksum_state sum;
    struct wrong wrong = {0};
    bool known = w->verify->has_plan && (tensor->table < BL_TABLES || w->verify->has_values);
    int64_t batch = w->chunk_size / tensor->row_bytes, offset = (int64_t)w->layout.header.size + tensor->tensor.begin;
    int code = BL_OK;
    bl_checksum_begin(&sum);
    for (int64_t at = 0; at < w->layout.blocks && !code; at += batch) {
        int64_t rows = w->layout.blocks - at < batch ? w->layout.blocks - at : batch;
        code =
            check_read(w, offset + at * tensor->row_bytes, rows * tensor->row_bytes, w->chunk, tensor->tensor.name, e);
        if (!code)
            bl_checksum_add(&sum, w->chunk, (size_t)(rows * tensor->row_bytes));
        if (!code && known)
            code = check_compare_rows(w, tensor, w->layout.first_block + at, rows, &wrong, e);
    }
    check_report_rows(w, tensor, &wrong);
    if (!code)
        check_add_region(w, bl_checksum_end(&sum));
    return code < 0 ? code : BL_OK;
}

/* --- encoded fields --------------------------------------------------------------------------------------------- */

/* Where a block's steps lie, which must begin at *at and lie one after the other within the tensor; *at is where they
 * end. 1: they do not, which has been told, and *at is -1 where it is not known. */
static int check_block_offsets(struct shard_check *w, const struct bl_shard_tensor *tensor, int64_t row, int64_t *at)
{
    const struct bl_shard_tensor *data = bl_layout_field(&w->layout, tensor->field);
    const int64_t b = w->layout.first_block + row, *offsets = w->offsets;
    int64_t end = data->tensor.end - data->tensor.begin;
    if (*at >= 0 && offsets[0] != *at) {
        check_report(w, "%s of block %" PRId64 " begins at %" PRId64 ", not where the one before ends, %" PRId64,
                     tensor->tensor.name, b, offsets[0], *at);
        *at = -1;
        return 1;
    }
    int64_t t = bl_codec_check_offsets(w->format, offsets, end);
    if (t >= 0)
        check_report(
            w, "%s of block %" PRId64 ", step %" PRId64 ": goes from %" PRId64 " to %" PRId64 " of %" PRId64 " bytes",
            tensor->tensor.name, b, t, offsets[t], offsets[t + 1], end);
    *at = t >= 0 ? -1 : offsets[w->format->T];
    return t >= 0;
}

/* A step has bytes where a sequence lies, or what it repeats has; the first one that is otherwise is told. */
static int check_steps(struct shard_check *w, const struct bl_shard_tensor *tensor, int64_t row, struct bl_error *e)
{
    int64_t b = w->layout.first_block + row;
    const int64_t *offsets = w->offsets;
    int code = check_expect_block(w, b, NULL, e);
    if (code)
        return code;
    bl_block_steps(&w->expected, w->format, w->pad_repeat, w->step);
    for (int64_t t = 0; t < w->format->T; t++) {
        int64_t size = offsets[t + 1] - offsets[t], before = t ? offsets[t] - offsets[t - 1] : 0;
        if (w->step[t] == BL_STEP_OWN && !size)
            check_report(w, "%s of block %" PRId64 ", step %" PRId64 ": has no bytes, where a sequence lies",
                         tensor->tensor.name, b, t);
        else if (w->step[t] == BL_STEP_EMPTY && size)
            check_report(w, "%s of block %" PRId64 ", step %" PRId64 ": has bytes, where no sequence lies",
                         tensor->tensor.name, b, t);
        else if (w->step[t] == BL_STEP_REPEAT && size != before)
            check_report(w, "%s of block %" PRId64 ", step %" PRId64 ": is not the step before again",
                         tensor->tensor.name, b, t);
        else
            continue;
        break;
    }
    return BL_OK;
}

static int check_read_offsets(struct shard_check *w, const struct bl_shard_tensor *tensor, int64_t row,
                              struct bl_error *e)
{
    return check_read(w, (int64_t)w->layout.header.size + tensor->tensor.begin + row * tensor->row_bytes,
                      tensor->row_bytes, w->offsets, tensor->tensor.name, e);
}

static int check_offsets(struct shard_check *w, const struct bl_shard_tensor *tensor, struct bl_error *e)
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
    if (code)
        goto out;
    if (at >= 0 && at != data->tensor.end - data->tensor.begin)
        check_report(w, "%s ends at %" PRId64 " of %" PRId64 " bytes", tensor->tensor.name, at,
                     data->tensor.end - data->tensor.begin);
    check_add_region(w, bl_checksum_end(&sum));
out:
    return code < 0 ? code : BL_OK;
}

/* Reads a step of so many bytes and looks at its header. 1: it cannot be, which has been told. */
static int check_read_step(struct shard_check *w, const struct bl_shard_tensor *tensor, int64_t t, const char *what,
                           struct bl_error *e)
{
    const int64_t *shape = w->format->fields.field[tensor->field].shape;
    int64_t size = w->offsets[t + 1] - w->offsets[t];
    struct bl_error why = {0};
    if (size > w->chunk_size) {
        check_report(
            w, "%s, step %" PRId64 ": %" PRId64 " bytes are more than a JPEG file of %" PRId64 "x%" PRId64 " takes",
            what, t, size, shape[1], shape[0]);
        return 1;
    }
    int code =
        check_read(w, (int64_t)w->layout.header.size + tensor->tensor.begin + w->offsets[t], size, w->chunk, what, e);
    if (code || !size)
        return code;
    code = bl_jpeg_check(w->decoder, w->chunk, (size_t)size, (size_t)shape[0], (size_t)shape[1], &why);
    if (code != BL_EDATA)
        return code ? bl_error_set(e, code, "%s", why.text) : BL_OK;
    check_report(w, "%s, step %" PRId64 ": %s", what, t, why.text);
    return BL_OK;
}

/* The same of a block's steps, one by one. Offsets that are wrong have been told before. */
static int check_read_steps(struct shard_check *w, const struct bl_shard_tensor *tensor, int64_t row, const char *what,
                            uint64_t *checksum, struct bl_error *e)
{
    struct bl_checksum_state sum;
    int code = check_read_offsets(w, bl_layout_offsets(&w->layout, tensor->field), row, e);
    if (code)
        goto out;
    if (bl_codec_check_offsets(w->format, w->offsets, tensor->tensor.end - tensor->tensor.begin) >= 0)
        code = 1;
out:
    bl_checksum_begin(&sum);
    for (int64_t t = 0; t < w->format->T && !code; t++) {
        code = check_read_step(w, tensor, t, what, e);
        if (!code)
            bl_checksum_add(&sum, w->chunk, (size_t)(w->offsets[t + 1] - w->offsets[t]));
    }
    *checksum = bl_checksum_end(&sum);
    return code;
}

/* --- fields ----------------------------------------------------------------------------------------------------- */

static int check_read_block(struct shard_check *w, int64_t offset, int64_t size, const char *what, uint64_t *checksum,
                            struct bl_error *e)
{
    struct bl_checksum_state sum;
    int code = BL_OK;
    bl_checksum_begin(&sum);
    for (int64_t at = 0; at < size && !code; at += w->chunk_size) {
        int64_t part = size - at < w->chunk_size ? size - at : w->chunk_size;
        code = check_read(w, offset + at, part, w->chunk, what, e);
        if (!code)
            bl_checksum_add(&sum, w->chunk, (size_t)part);
    }
    *checksum = bl_checksum_end(&sum);
    return code;
}

static int check_block(struct shard_check *w, const struct bl_shard_tensor *tensor, int64_t row, struct bl_error *e)
{
    const struct bl_verify *v = w->verify;
    int64_t b = w->layout.first_block + row;
    char what[BL_FIELD_NAME_MAX + 32];
    uint64_t checksum = 0;
    int64_t told = 0;
    snprintf(what, sizeof what, "block %" PRId64 " of %s", b, tensor->tensor.name);
    int code =
        tensor->varies
            ? check_read_steps(w, tensor, row, what, &checksum, e)
            : check_read_block(w, (int64_t)w->layout.header.size + tensor->tensor.begin + row * tensor->row_bytes,
                               tensor->row_bytes, what, &checksum, e);
    if (code)
        return code < 0 ? code : BL_OK;
    check_add_region(w, checksum);
    if (v->has_index)
        code =
            bl_index_read(&v->index, BL_INDEX_BLOCK_CHECKSUM, b * w->format->fields.count + tensor->field, 1, &told, e);
    if (code)
        return code;
    if (v->has_index && (uint64_t)told != checksum)
        check_report(w, "%s: its checksum is %016" PRIx64 ", the index says %016" PRIx64, what, checksum,
                     (uint64_t)told);
    return BL_OK;
}

/* --- the file --------------------------------------------------------------------------------------------------- */

static int check_header(struct shard_check *w, struct bl_error *e)
{
    const struct bl_buffer *header = &w->layout.header;
    char *head = malloc(header->size);
    if (!head)
        return bl_error_memory(e);
    int code = check_read(w, 0, (int64_t)header->size, head, "the header", e);
    if (code)
        goto out;
    if (memcmp(head, header->data, header->size) != 0)
        check_report(w, "the header is not the one that follows from the manifest");
    check_add_region(w, bl_checksum(head, header->size));
out:
    free(head);
    return code < 0 ? code : BL_OK;
}

/* Frames must begin where header, tables and blocks do, and every BL_FRAME_MAX bytes within these. */
static bool check_frames_are_aligned(const struct shard_check *w)
{
    const struct bl_seekable *s = &w->file.seekable;
    size_t i = 0;
    int64_t at = 0;
    for (int t = -1; t < w->layout.tensors; t++) {
        const struct bl_shard_tensor *tensor = t < 0 ? NULL : &w->layout.tensor[t];
        int64_t regions = tensor && tensor->field >= 0 ? w->layout.blocks : 1;
        int64_t size = !tensor              ? (int64_t)w->layout.header.size
                       : tensor->field >= 0 ? tensor->row_bytes
                                            : tensor->row_bytes * w->layout.blocks;
        for (int64_t n = 0; n < regions; n++, at += size) {
            for (int64_t part = 0; part < size; part += (int64_t)BL_FRAME_MAX, i++) {
                if (i >= s->frames || s->frame[i].content != at + part)
                    return false;
            }
        }
    }
    return i == s->frames;
}

/* Sizes and frames: 1 when nothing more can be read. */
static int check_file(struct shard_check *w, const struct bl_shard_row *row)
{
    if (row && w->file.bytes != row->bytes)
        check_report(w, "has %" PRId64 " bytes, " BL_SHARDS_FILE " says %" PRId64, w->file.bytes, row->bytes);
    if (w->file.size != w->layout.file_size) {
        check_report(w, "has %" PRId64 " bytes%s, where %" PRId64 " follow from the manifest", w->file.size,
                     w->file.compressed ? " of content" : "", w->layout.file_size);
        return 1;
    }
    if (w->file.compressed && !check_frames_are_aligned(w)) {
        check_report(w, "its frames are not header, tables and blocks");
        return 1;
    }
    return 0;
}

static int check_shard_checksum(struct shard_check *w, const struct bl_shard_row *row, struct bl_error *e)
{
    uint64_t checksum = bl_checksum_end(&w->sum), table = 0;
    if (!row || w->faults)
        return BL_OK;
    if (w->file.compressed) {
        int code = bl_shard_reader_table_checksum(&w->file, &table, e);
        if (code)
            return code;
        struct bl_checksum_state sum;
        bl_checksum_begin(&sum);
        bl_checksum_add(&sum, w->file.frame_checksum, w->file.seekable.frames * sizeof *w->file.frame_checksum);
        bl_checksum_add(&sum, &table, sizeof table);
        checksum = bl_checksum_end(&sum);
    }
    if (checksum != row->checksum)
        check_report(w, "its checksum is %016" PRIx64 ", " BL_SHARDS_FILE " says %016" PRIx64, checksum, row->checksum);
    return BL_OK;
}

static int check_contents(struct shard_check *w, struct bl_error *e)
{
    int code = check_header(w, e);
    for (int t = 0; t < w->layout.tensors && !code; t++) {
        const struct bl_shard_tensor *tensor = &w->layout.tensor[t];
        if (tensor->table >= 0)
            code = check_table(w, tensor, e);
        else if (tensor->offsets)
            code = check_offsets(w, tensor, e);
        for (int64_t row = 0; tensor->field >= 0 && !tensor->offsets && row < w->layout.blocks && !code; row++)
            code = check_block(w, tensor, row, e);
    }
    return code;
}

static int check_prepare_jpeg(struct shard_check *w, struct bl_error *e)
{
    const struct bl_manifest_pairs *configuration = &w->verify->manifest.configuration;
    if (!bl_format_encodes(w->format, BL_ENCODING_JPEG))
        return BL_OK;
    for (size_t i = 0; i < configuration->count; i++) {
        const struct bl_manifest_pair *pair = &configuration->pair[i];
        w->pad_repeat |= strcmp(pair->name, "pad") == 0 && strcmp(pair->value, "repeat") == 0;
    }
    w->step = malloc((size_t)w->format->T);
    w->offsets = calloc((size_t)w->format->T + 1, sizeof *w->offsets);
    return w->step && w->offsets ? bl_jpeg_decoder_open(&w->decoder, e) : bl_error_memory(e);
}

/* What is held at once: a row of a table, the JPEG file of a step, or as much of a block. */
static int64_t check_chunk_size(const struct shard_check *w)
{
    int64_t size = CHUNK;
    for (int t = 0; t < w->layout.tensors; t++) {
        const struct bl_shard_tensor *tensor = &w->layout.tensor[t];
        int64_t needed = 0;
        if (tensor->table >= 0)
            needed = tensor->row_bytes;
        else if (tensor->varies)
            needed = (int64_t)(bl_codec_max_size(w->format, tensor->field) / (size_t)w->format->T);
        size = needed > size ? needed : size;
    }
    return size;
}

static int check_prepare(struct shard_check *w, struct bl_error *e)
{
    w->chunk_size = check_chunk_size(w);
    w->chunk = malloc((size_t)w->chunk_size);
    if (!w->chunk)
        return bl_error_memory(e);
    if (w->format->has_segment_ids && !(w->segment_ids = calloc((size_t)w->format->T, sizeof *w->segment_ids)))
        return bl_error_memory(e);
    w->attribute = calloc((size_t)w->format->S, sizeof *w->attribute);
    if (!w->attribute)
        return bl_error_memory(e);
    int code = bl_block_make(&w->expected, w->format, false, e);
    w->expected.values = &w->verify->values;
    if (code)
        goto out;
    code = check_prepare_jpeg(w, e);
    if (code)
        goto out;
    if (w->file.compressed)
        code = bl_shard_reader_keep_checksums(&w->file, e);
out:
    bl_checksum_begin(&w->sum);
    return code;
}

/* Opens the file: 1 when there is nothing to read, which has been told. */
static int check_open_file(struct shard_check *w, struct bl_error *e)
{
    struct bl_error why = {0};
    struct bl_buffer path = {0};
    bl_buffer_printf(&path, "%s/%s", w->verify->dir, w->name);
    int code = bl_buffer_check(&path, e);
    if (code)
        goto out;
    if (access(path.data, F_OK) != 0 && errno == ENOENT) {
        check_report(w, "is missing");
        code = 1;
    }
    if (code)
        goto out;
    if (bl_shard_reader_open(&w->file, path.data, w->format->compressed, &why)) {
        check_report(w, "%s", why.text);
        code = 1;
    }
out:
    bl_buffer_free(&path);
    return code;
}

/* 1: the file does not say what its layout is, which has been told. */
static int check_read_layout(struct shard_check *w, int64_t shard, struct bl_error *e)
{
    struct bl_error why = {0};
    int code = bl_shard_reader_layout(&w->file, w->format, shard, &w->layout, &why);
    if (code != BL_EDATA)
        return code ? bl_error_set(e, code, "%s", why.text) : BL_OK;
    check_report(w, "%s", why.text);
    return 1;
}

int bl_verify_shard(const struct bl_verify *verify, int64_t shard, bl_fault *fault, void *context,
                    int64_t *failed_steps, struct bl_error *e)
{
    const struct bl_format *format = &verify->manifest.format;
    const struct bl_shard_row *row = verify->shards ? &verify->shards[shard] : NULL;
    struct shard_check w = {.verify = verify, .format = format, .file.fd = -1, .fault = fault, .context = context};
    bl_format_shard_name(format, shard, w.name);
    int code = check_open_file(&w, e);
    if (code)
        goto out;
    code = check_read_layout(&w, shard, e);
    if (code)
        goto out;
    code = check_file(&w, row);
    if (code)
        goto out;
    code = check_prepare(&w, e);
    if (code)
        goto out;
    code = check_contents(&w, e);
    if (code)
        goto out;
    code = check_shard_checksum(&w, row, e);
out:
    *failed_steps = w.failed_steps;
    bl_shard_reader_close(&w.file);
    bl_layout_free(&w.layout);
    bl_block_free(&w.expected);
    bl_jpeg_decoder_close(w.decoder);
    free(w.step);
    free(w.offsets);
    free(w.segment_ids);
    free(w.attribute);
    free(w.lost);
    free(w.chunk);
    return code < 0 ? code : BL_OK;
}
