#include "store/shard_contents.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/io.h"

/* The number of frames of one block of field f. */
static size_t shard_frames_of_block(const struct bl_format *format, int f)
{
    return bl_frames_of(bl_format_block_bytes(format, f), bl_format_frame_size(format));
}

size_t bl_shard_contents_frames_before(const struct bl_format *format, int64_t blocks, int f)
{
    size_t frames = 0;
    for (int i = 0; i < f; i++)
        frames += (size_t)blocks * shard_frames_of_block(format, i);
    return frames;
}

struct bl_frame *bl_shard_contents_frames(struct bl_shard_writer *shard, int f, int64_t row)
{
    return shard->frame + bl_shard_contents_frames_before(shard->format, shard->layout.blocks, f) +
           (size_t)row * shard_frames_of_block(shard->format, f);
}

static void checksum_fold(struct bl_checksum_state *sum, uint64_t checksum)
{
    bl_checksum_add(sum, &checksum, sizeof checksum);
}

/* Called when all blocks are there: makes the offsets of encoded steps relative to the tensor, and sets their sizes in
 * the layout. */
static int shard_resolve_offsets(struct bl_shard_writer *shard, struct bl_error *e)
{
    int64_t bytes[BL_FIELDS_MAX] = {0}, T = shard->format->T;
    for (int f = 0; f < shard->format->fields.count; f++) {
        if (!shard->offsets[f])
            continue;
        for (int64_t row = 0; row < shard->layout.blocks; row++) {
            int64_t *offsets = shard->offsets[f] + row * (T + 1), size = offsets[T];
            for (int64_t t = 0; t <= T; t++)
                offsets[t] += bytes[f];
            bytes[f] += size;
        }
    }
    return shard->encoded ? bl_layout_resolve(&shard->layout, shard->format, bytes, e) : BL_OK;
}

/* Writes a table, or a field's offsets. */
static int shard_write_table(struct bl_shard_writer *shard, const struct bl_shard_tensor *tensor, const void *data,
                             struct bl_checksum_state *sum, struct bl_error *e)
{
    size_t size = (size_t)(shard->layout.blocks * tensor->row_bytes);
    checksum_fold(sum, bl_checksum(data, size));
    return bl_io_pwrite(shard->fd, data, size, bl_layout_offset(&shard->layout, tensor, 0), shard->temporary, e);
}

/* Writes the encoded steps of a field, block by block. */
static int shard_write_encoded(struct bl_shard_writer *shard, const struct bl_shard_tensor *tensor, struct bl_error *e)
{
    int64_t at = bl_layout_offset(&shard->layout, tensor, 0);
    int code = BL_OK;
    for (int64_t row = 0; row < shard->layout.blocks && !code; row++) {
        struct bl_shard_encoded *encoded = &shard->encoded[row * shard->format->fields.count + tensor->field];
        code = bl_io_pwrite(shard->fd, encoded->data, encoded->size, at, shard->temporary, e);
        at += (int64_t)encoded->size;
        free(encoded->data);
        encoded->data = NULL;
    }
    return code;
}

int bl_shard_contents_write_plain(struct bl_shard_writer *shard, struct bl_shard_record *record, struct bl_error *e)
{
    const struct bl_layout *layout = &shard->layout;
    struct bl_checksum_state sum;
    bl_checksum_begin(&sum);
    int code = shard_resolve_offsets(shard, e);
    if (code)
        return code;
    checksum_fold(&sum, bl_checksum(layout->header.data, layout->header.size));
    code = bl_io_pwrite(shard->fd, layout->header.data, layout->header.size, 0, shard->temporary, e);
    for (int i = 0; i < layout->tensors && !code; i++) {
        const struct bl_shard_tensor *tensor = &layout->tensor[i];
        if (tensor->table >= 0)
            code = shard_write_table(shard, tensor, shard->table[tensor->table], &sum, e);
        else if (tensor->offsets)
            code = shard_write_table(shard, tensor, shard->offsets[tensor->field], &sum, e);
        for (int64_t row = 0; tensor->field >= 0 && !tensor->offsets && row < layout->blocks; row++)
            checksum_fold(&sum, shard->block_checksum[row * shard->format->fields.count + tensor->field]);
        if (!code && tensor->varies)
            code = shard_write_encoded(shard, tensor, e);
    }
    record->checksum = bl_checksum_end(&sum);
    record->bytes = layout->file_size;
    return code;
}

/* A compressed shard while it is written. */
struct frames_out {
    struct bl_shard_writer *shard;
    struct bl_compressor *compressor;
    struct bl_checksum_state sum;
    struct bl_buffer entries;
    int64_t bytes;
};

static int frames_write_one(struct frames_out *out, const struct bl_frame *frame, struct bl_error *e)
{
    checksum_fold(&out->sum, frame->checksum);
    bl_seekable_entry(&out->entries, frame);
    out->bytes += frame->size;
    return bl_io_write(out->shard->fd, frame->data, frame->size, out->shard->temporary, e);
}

/* Compresses a header or table, and writes it. */
static int frames_write_region(struct frames_out *out, const void *data, size_t size, struct bl_error *e)
{
    size_t most = bl_format_frame_size(out->shard->format);
    int code = BL_OK;
    for (size_t at = 0; at < size && !code; at += most) {
        struct bl_frame frame;
        code = bl_compressor_frame(out->compressor, (const char *)data + at, size - at < most ? size - at : most,
                                   &frame, e);
        if (!code)
            code = frames_write_one(out, &frame, e);
        bl_frame_free(&frame);
    }
    return code;
}

static int frames_write_field(struct frames_out *out, int f, struct bl_error *e)
{
    struct bl_shard_writer *shard = out->shard;
    size_t count = (size_t)shard->layout.blocks * shard_frames_of_block(shard->format, f);
    struct bl_frame *frame = bl_shard_contents_frames(shard, f, 0);
    int code = BL_OK;
    for (size_t i = 0; i < count && !code; i++) {
        code = frames_write_one(out, &frame[i], e);
        bl_frame_free(&frame[i]);
    }
    return code;
}

static int frames_write(struct frames_out *out, struct bl_error *e)
{
    const struct bl_layout *layout = &out->shard->layout;
    int code = frames_write_region(out, layout->header.data, layout->header.size, e);
    for (int i = 0; i < layout->tensors && !code; i++) {
        const struct bl_shard_tensor *tensor = &layout->tensor[i];
        if (tensor->table < 0)
            code = frames_write_field(out, tensor->field, e);
        else
            code = frames_write_region(out, out->shard->table[tensor->table],
                                       (size_t)(layout->blocks * tensor->row_bytes), e);
    }
    return code;
}

int bl_shard_contents_write_compressed(struct bl_shard_writer *shard, struct bl_compressor *compressor,
                                       struct bl_shard_record *record, struct bl_error *e)
{
    struct frames_out out = {.shard = shard, .compressor = compressor};
    struct bl_buffer table = {0};
    bl_checksum_begin(&out.sum);
    int code = frames_write(&out, e);
    if (code)
        goto out;
    code = bl_seekable_table(&out.entries, &table, e);
    if (code)
        goto out;
    code = bl_io_write(shard->fd, table.data, table.size, shard->temporary, e);
    if (code)
        goto out;
    checksum_fold(&out.sum, bl_checksum(table.data, table.size));
out:
    record->checksum = bl_checksum_end(&out.sum);
    record->bytes = out.bytes + (int64_t)table.size;
    bl_buffer_free(&table);
    bl_buffer_free(&out.entries);
    return code;
}
