/* Checks of a JPEG field: first the offsets of its steps, then each step's JPEG header while the bytes are checksummed.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/codec.h"
#include "store/shard_check.h"

int bl_shard_check_open_jpeg(struct bl_shard_check *w, struct bl_error *e)
{
    if (!bl_format_encodes(w->format, BL_ENCODING_JPEG))
        return BL_OK;
    w->pad_repeat = strcmp(bl_manifest_option(&w->verify->manifest, "pad"), "repeat") == 0;
    w->step = malloc((size_t)w->format->T);
    w->offsets = calloc((size_t)w->format->T + 1, sizeof *w->offsets);
    return w->step && w->offsets ? bl_jpeg_decoder_open(&w->decoder, e) : bl_error_memory(e);
}

/* Checks the offsets of a block: they must begin at *at, rise, and stay within the tensor. *at becomes their end; -1:
 * not known. BL_EDATA: wrong, which is reported. */
static int check_block_offsets(struct bl_shard_check *w, const struct bl_shard_tensor *tensor, int64_t row, int64_t *at)
{
    const struct bl_shard_tensor *data = bl_layout_field(&w->layout, tensor->field);
    const int64_t b = w->layout.first_block + row, *offsets = w->offsets;
    int64_t end = data->tensor.end - data->tensor.begin;
    if (*at >= 0 && offsets[0] != *at) {
        bl_shard_check_report(w, "%s of block %" PRId64 " begins at %" PRId64 ", not at %" PRId64, tensor->tensor.name,
                              b, offsets[0], *at);
        *at = -1;
        return BL_EDATA;
    }
    int64_t t = bl_codec_check_offsets(w->format, offsets, end);
    if (t >= 0)
        bl_shard_check_report(
            w, "%s of block %" PRId64 ", step %" PRId64 ": goes from %" PRId64 " to %" PRId64 " of %" PRId64 " bytes",
            tensor->tensor.name, b, t, offsets[t], offsets[t + 1], end);
    *at = t >= 0 ? -1 : offsets[w->format->T];
    return t >= 0 ? BL_EDATA : BL_OK;
}

/* A step has bytes if it belongs to a sequence, or repeats one that has. The first step that differs is reported. */
static int check_steps(struct bl_shard_check *w, const struct bl_shard_tensor *tensor, int64_t row, struct bl_error *e)
{
    int64_t b = w->layout.first_block + row;
    const int64_t *offsets = w->offsets;
    int code = bl_shard_check_expect(w, b, NULL, e);
    if (code)
        return code;
    bl_block_steps(&w->expected, w->format, w->pad_repeat, w->step);
    for (int64_t t = 0; t < w->format->T; t++) {
        int64_t size = offsets[t + 1] - offsets[t], before = t ? offsets[t] - offsets[t - 1] : 0;
        if (w->step[t] == BL_STEP_OWN && !size)
            bl_shard_check_report(w,
                                  "%s of block %" PRId64 ", step %" PRId64 ": no bytes, but it belongs to a sequence",
                                  tensor->tensor.name, b, t);
        else if (w->step[t] == BL_STEP_EMPTY && size)
            bl_shard_check_report(w, "%s of block %" PRId64 ", step %" PRId64 ": has bytes, but belongs to no sequence",
                                  tensor->tensor.name, b, t);
        else if (w->step[t] == BL_STEP_REPEAT && size != before)
            bl_shard_check_report(w, "%s of block %" PRId64 ", step %" PRId64 ": does not repeat the step before",
                                  tensor->tensor.name, b, t);
        else
            continue;
        break;
    }
    return BL_OK;
}

static int check_read_offsets(struct bl_shard_check *w, const struct bl_shard_tensor *tensor, int64_t row,
                              struct bl_error *e)
{
    return bl_shard_check_read(w, bl_layout_offset(&w->layout, tensor, row), tensor->row_bytes, w->offsets,
                               tensor->tensor.name, e);
}

int bl_shard_check_offsets(struct bl_shard_check *w, const struct bl_shard_tensor *tensor, struct bl_error *e)
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
        bl_shard_check_report(w, "%s ends at %" PRId64 " of %" PRId64 " bytes", tensor->tensor.name, at,
                              data->tensor.end - data->tensor.begin);
    bl_shard_check_add_region(w, bl_checksum_end(&sum));
out:
    return code == BL_EDATA ? BL_OK : code;
}

/* Reads a step to chunk and checks its JPEG header. BL_EDATA: its size is impossible, which is reported. */
static int check_read_step(struct bl_shard_check *w, const struct bl_shard_tensor *tensor, int64_t t, const char *what,
                           struct bl_error *e)
{
    const int64_t *shape = w->format->fields.field[tensor->field].shape;
    int64_t size = w->offsets[t + 1] - w->offsets[t];
    struct bl_error why = {0};
    if (size > w->chunk_size) {
        bl_shard_check_report(
            w, "%s, step %" PRId64 ": %" PRId64 " bytes exceed the maximum of a JPEG file of %" PRId64 "x%" PRId64,
            what, t, size, shape[1], shape[0]);
        return BL_EDATA;
    }
    int code = bl_shard_check_read(w, bl_layout_offset(&w->layout, tensor, 0) + w->offsets[t], size, w->chunk, what, e);
    if (code || !size)
        return code;
    code = bl_jpeg_check(w->decoder, w->chunk, (size_t)size, shape, &why);
    if (code != BL_EDATA)
        return code ? bl_error_set(e, code, "%s", why.text) : BL_OK;
    bl_shard_check_report(w, "%s, step %" PRId64 ": %s", what, t, why.text);
    return BL_OK;
}

/* Wrong offsets have been reported by bl_shard_check_offsets. */
int bl_shard_check_read_steps(struct bl_shard_check *w, const struct bl_shard_tensor *tensor, int64_t row,
                              const char *what, uint64_t *checksum, struct bl_error *e)
{
    struct bl_checksum_state sum;
    int code = check_read_offsets(w, bl_layout_offsets(&w->layout, tensor->field), row, e);
    if (code)
        goto out;
    if (bl_codec_check_offsets(w->format, w->offsets, tensor->tensor.end - tensor->tensor.begin) >= 0)
        code = BL_EDATA;
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
