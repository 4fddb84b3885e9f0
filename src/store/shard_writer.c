/* Writing a shard: opening it, putting blocks, and finishing it.
 *
 * The bytes of a shard depend only on the format and on the content of its blocks, never on the order in which workers
 * put them. The checksum of a shard is folded from the checksums of its regions, so that finishing reads nothing back.
 */
#include "store/shard_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/output.h"
#include "store/folders.h"

/* --- contents ----------------------------------------------------------------------------------------------------- */

/* Returns the number of frames for size bytes if each frame has at most `frame` bytes. */
static size_t frames_of(size_t size, size_t frame)
{
    return (size + frame - 1) / frame;
}

/* Returns the number of frames of one block of field f. */
static size_t shard_frames_of_block(const struct bl_format *format, int f)
{
    return frames_of(bl_format_block_bytes(format, f), bl_format_frame_size(format));
}

/* Returns the number of frames of all fields before field f. With f = the number of fields, these are all frames. */
static size_t shard_contents_frames_before(const struct bl_format *format, int64_t blocks, int f)
{
    size_t frames = 0;
    for (int i = 0; i < f; i++)
        frames += (size_t)blocks * shard_frames_of_block(format, i);
    return frames;
}

/* Returns the frames of a block of field f, which follow each other. row: the block within the shard. */
static struct bl_zstd_frame *shard_contents_frames(struct bl_shard_writer *shard, int f, int64_t row)
{
    return shard->frame + shard_contents_frames_before(shard->format, shard->layout.blocks, f) +
           (size_t)row * shard_frames_of_block(shard->format, f);
}

/* Adds the checksum of a region to the checksum of the shard. */
static void checksum_fold(struct bl_checksum_state *sum, uint64_t checksum)
{
    bl_checksum_add(sum, &checksum, sizeof checksum);
}

/* Returns the content of a tensor that is in memory until the shard is finished: a table, or offsets; NULL for fields.
 */
static const void *shard_contents_table(const struct bl_shard_writer *shard, const struct bl_shard_tensor *tensor)
{
    if (tensor->table >= 0)
        return shard->table[tensor->table];
    if (!tensor->offsets)
        return NULL;
    return tensor->flat ? shard->layout.steps[tensor->field] : shard->offsets[tensor->field];
}

/* Writes the header, the tables and the JPEG files, and sets the size and the checksum of the record. The checksum
 * covers the checksums of all regions in file order, including the blocks that were written before.
 *
 * Offsets of JPEG files count from the start of their block while blocks are put. When all blocks were put, the sizes
 * of the blocks before it are added to those of each block, and the layout gets the sizes of the tensors. */
static int shard_contents_write_plain(struct bl_shard_writer *shard, struct bl_shard_record *record, struct bl_error *e)
{
    const struct bl_layout *layout = &shard->layout;
    const int64_t T = shard->format->T, fields = shard->format->fields.count;
    int64_t bytes[BL_FIELDS_MAX] = {0};
    struct bl_checksum_state sum;
    bl_checksum_begin(&sum);
    for (int f = 0; f < fields; f++) {
        for (int64_t row = 0; shard->offsets[f] && row < layout->blocks; row++) {
            int64_t *offsets = shard->offsets[f] + row * (T + 1), size = offsets[T];
            for (int64_t t = 0; t <= T; t++)
                offsets[t] += bytes[f];
            bytes[f] += size;
        }
    }
    BL_TRY(shard->encoded ? bl_layout_resolve(&shard->layout, shard->format, bytes, e) : BL_OK);
    checksum_fold(&sum, bl_checksum(layout->header.data, layout->header.size));
    int code = bl_io_pwrite(shard->fd, layout->header.data, layout->header.size, 0, shard->temporary, e);
    for (int i = 0; i < layout->tensors && !code; i++) {
        const struct bl_shard_tensor *tensor = &layout->tensor[i];
        /* Tables and offsets are in memory; the blocks of raw fields have been written. */
        const void *data = shard_contents_table(shard, tensor);
        int64_t at = bl_layout_offset(layout, tensor, 0);
        size_t size = (size_t)(tensor->tensor.end - tensor->tensor.begin);
        if (data) {
            checksum_fold(&sum, bl_checksum(data, size));
            code = bl_io_pwrite(shard->fd, data, size, at, shard->temporary, e);
        }
        for (int64_t row = 0; !data && row < layout->blocks && !code; row++) {
            int64_t place = row * fields + tensor->field;
            checksum_fold(&sum, shard->block_checksum[place]);
            if (!tensor->varies)
                continue;
            struct bl_shard_encoded *encoded = &shard->encoded[place];
            code = bl_io_pwrite(shard->fd, encoded->data, encoded->size, at, shard->temporary, e);
            at += (int64_t)encoded->size;
            free(encoded->data);
            encoded->data = NULL;
        }
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

/* Writes a frame, and adds it to the seek table and to the checksum of the shard. */
static int frames_write_one(struct frames_out *out, const struct bl_zstd_frame *frame, struct bl_error *e)
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
        struct bl_zstd_frame frame;
        code = bl_compressor_frame(out->compressor, (const char *)data + at, size - at < most ? size - at : most,
                                   &frame, e);
        if (!code)
            code = frames_write_one(out, &frame, e);
        bl_zstd_frame_free(&frame);
    }
    return code;
}

/* Writes all frames in file order, frees those of fields, and writes the seek table. */
static int shard_contents_write_compressed(struct bl_shard_writer *shard, struct bl_compressor *compressor,
                                           struct bl_shard_record *record, struct bl_error *e)
{
    struct frames_out out = {.shard = shard, .compressor = compressor};
    const struct bl_layout *layout = &shard->layout;
    struct bl_buffer table = {0};
    bl_checksum_begin(&out.sum);
    int code = frames_write_region(&out, layout->header.data, layout->header.size, e);
    for (int i = 0; i < layout->tensors && !code; i++) {
        const struct bl_shard_tensor *tensor = &layout->tensor[i];
        const void *data = shard_contents_table(shard, tensor);
        if (data) {
            code = frames_write_region(&out, data, (size_t)(tensor->tensor.end - tensor->tensor.begin), e);
            continue;
        }
        /* A block of a flat field may have fewer frames than there is room for. */
        size_t count = (size_t)layout->blocks * shard_frames_of_block(shard->format, tensor->field);
        struct bl_zstd_frame *frame = shard_contents_frames(shard, tensor->field, 0);
        for (size_t k = 0; k < count && !code; k++) {
            code = frame[k].data ? frames_write_one(&out, &frame[k], e) : BL_OK;
            bl_zstd_frame_free(&frame[k]);
        }
    }
    if (!code)
        code = bl_seekable_table(&out.entries, &table, e);
    if (!code)
        code = bl_io_write(shard->fd, table.data, table.size, shard->temporary, e);
    if (!code)
        checksum_fold(&out.sum, bl_checksum(table.data, table.size));
    record->checksum = bl_checksum_end(&out.sum);
    record->bytes = out.bytes + (int64_t)table.size;
    bl_buffer_free(&table);
    bl_buffer_free(&out.entries);
    return code;
}

/* --- making ------------------------------------------------------------------------------------------------------- */

/* More memory than any machine has, and small enough for sums. */
#define MEMORY_MAX (SIZE_MAX >> 20)

/* Allocates the tables, and the arrays with an element per block. On error some are allocated. */
static int shard_allocate(struct bl_shard_writer *shard, struct bl_error *e)
{
    const struct bl_format *format = shard->format;
    size_t blocks = (size_t)shard->layout.blocks;
    for (int i = 0; i < shard->layout.tensors; i++) {
        const struct bl_shard_tensor *tensor = &shard->layout.tensor[i];
        if (tensor->table < 0)
            continue;
        shard->table[tensor->table] = calloc(blocks, (size_t)tensor->row_bytes);
        if (!shard->table[tensor->table])
            return bl_error_memory(e);
    }
    shard->block_checksum = calloc(blocks * (size_t)format->fields.count, sizeof *shard->block_checksum);
    shard->is_put = calloc(blocks, sizeof *shard->is_put);
    if (format->compressed)
        shard->frame =
            calloc(shard_contents_frames_before(format, (int64_t)blocks, format->fields.count), sizeof *shard->frame);
    if (!shard->block_checksum || !shard->is_put || (format->compressed && !shard->frame))
        return bl_error_memory(e);
    if (!bl_format_encodes(format, BL_ENCODING_JPEG))
        return BL_OK;
    shard->encoded = calloc(blocks * (size_t)format->fields.count, sizeof *shard->encoded);
    if (!shard->encoded)
        return bl_error_memory(e);
    for (int f = 0; f < format->fields.count; f++) {
        if (format->encoding[f].kind != BL_ENCODING_JPEG)
            continue;
        shard->offsets[f] = calloc(blocks, ((size_t)format->T + 1) * sizeof **shard->offsets);
        if (!shard->offsets[f])
            return bl_error_memory(e);
    }
    return BL_OK;
}

/* Names the file and its temporary one, makes the folder of the shard, and creates the temporary file. All blocks of a
 * plain shard are allocated, so that a full disk is detected now; where the file system does not support that, writing
 * will detect it. */
static int shard_open_file(struct bl_shard_writer *shard, const char *dir, struct bl_error *e)
{
    char name[BL_SHARD_NAME_MAX];
    struct bl_buffer path = {0}, temporary = {0};
    shard->dir = strdup(dir);
    shard->final = bl_path_join(dir, bl_format_shard_name(shard->format, shard->number, name));
    bl_buffer_printf(&path, "%s/" BL_WORK_FOLDER "/%s", dir, bl_path_name(name));
    int code = shard->dir && shard->final ? bl_buffer_check(&path, e) : bl_error_memory(e), result;
    if (!code)
        code = bl_temporary_name(path.data, &temporary, e);
    bl_buffer_free(&path);
    shard->temporary = temporary.data;
    BL_TRY(code);
    char *folder = strndup(shard->final, (size_t)(bl_path_name(shard->final) - shard->final) - 1);
    code = folder ? bl_folders_make(folder, e) : bl_error_memory(e);
    free(folder);
    BL_TRY(code);
    shard->fd = bl_fs_create(shard->temporary, O_WRONLY, e);
    if (shard->fd < 0) {
        code = shard->fd;
        free(shard->temporary);
        shard->temporary = NULL; /* the file is not this writer's, so bl_shard_writer_free must not remove it */
        return code;
    }
    if (shard->format->compressed)
        return BL_OK;
    shard->direct = bl_direct_open(shard->temporary);
    do
        result = fallocate(shard->fd, 0, 0, shard->layout.file_size);
    while (result != 0 && errno == EINTR);
    if (result == 0)
        return BL_OK;
    if (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL)
        return bl_error_errno(e, BL_EFAIL, "no room for %s (%" PRId64 " bytes)", shard->final, shard->layout.file_size);
    if (ftruncate(shard->fd, shard->layout.file_size) != 0)
        return bl_error_errno(e, BL_EFAIL, "cannot write %s", shard->temporary);
    return BL_OK;
}

/* Sets the sizes of the blocks of flat fields, which the plan decides, and those of their tensors. */
static int shard_set_steps(struct bl_shard_writer *shard, const struct bl_plan *plan, struct bl_error *e)
{
    const struct bl_fields *fields = &shard->format->fields;
    const int64_t none[BL_FIELDS_MAX] = {0}, first = shard->layout.first_block;
    bool any = false;
    for (int f = 0; f < fields->count; f++) {
        if (!fields->field[f].own || !fields->field[f].flat)
            continue;
        int64_t *steps = calloc((size_t)shard->layout.blocks + 1, sizeof *steps);
        if (!steps)
            return bl_error_memory(e);
        for (int64_t b = 0; b < shard->layout.blocks; b++) {
            steps[b + 1] = steps[b];
            for (int64_t p = plan->block_ptr[first + b]; p < plan->block_ptr[first + b + 1]; p++)
                steps[b + 1] += bl_plan_own_length(plan, bl_fields_own_number(fields, f), (size_t)p);
        }
        BL_TRY(bl_layout_set_steps(&shard->layout, shard->format, f, steps, e));
        any = true;
    }
    return any ? bl_layout_resolve(&shard->layout, shard->format, none, e) : BL_OK;
}

int bl_shard_writer_open(const struct bl_format *format, const struct bl_plan *plan, const char *dir, int64_t number,
                         struct bl_shard_writer **out, struct bl_error *e)
{
    struct bl_shard_writer *shard = calloc(1, sizeof *shard);
    if (!shard)
        return bl_error_memory(e);
    shard->format = format;
    shard->number = number;
    shard->fd = shard->direct = -1;
    int code = bl_layout_make(&shard->layout, format, number, e);
    if (!code)
        code = shard_set_steps(shard, plan, e);
    if (!code)
        code = shard_allocate(shard, e);
    if (!code)
        code = shard_open_file(shard, dir, e);
    if (code) {
        bl_shard_writer_free(shard);
        return code;
    }
    *out = shard;
    return BL_OK;
}

void bl_shard_writer_free(struct bl_shard_writer *shard)
{
    if (!shard)
        return;
    size_t frames = shard->frame
                        ? shard_contents_frames_before(shard->format, shard->layout.blocks, shard->format->fields.count)
                        : 0;
    for (size_t i = 0; i < frames; i++)
        bl_zstd_frame_free(&shard->frame[i]);
    if (shard->direct >= 0)
        close(shard->direct); /* its writes were checked, and the other descriptor is synced */
    if (shard->fd >= 0) {
        close(shard->fd); /* synced before, or abandoned */
        if (shard->temporary)
            (void)bl_fs_unlink(shard->temporary);
    }
    for (int t = 0; t < BL_TABLES_ALL; t++)
        free(shard->table[t]);
    size_t encoded = shard->encoded ? (size_t)shard->layout.blocks * (size_t)shard->format->fields.count : 0;
    for (size_t i = 0; i < encoded; i++)
        free(shard->encoded[i].data);
    free(shard->encoded);
    for (int f = 0; f < BL_FIELDS_MAX; f++)
        free(shard->offsets[f]);
    bl_layout_free(&shard->layout);
    free(shard->frame);
    free(shard->block_checksum);
    free(shard->is_put);
    free(shard->dir);
    free(shard->temporary);
    free(shard->final);
    free(shard);
}

int bl_shard_writer_memory(const struct bl_format *format, int64_t *bytes, struct bl_error *e)
{
    struct bl_layout layout;
    BL_TRY(bl_layout_make(&layout, format, 0, e));
    /* The first shard has as many blocks as any other. is_put has a byte for each. */
    size_t blocks = (size_t)layout.blocks, size = layout.header.size + blocks;
    for (int i = 0; i < layout.tensors; i++) {
        size_t row = (size_t)layout.tensor[i].row_bytes;
        if (layout.tensor[i].flat) /* the offsets, or frames of full blocks */
            row = layout.tensor[i].offsets ? 8 : bl_format_block_bytes(format, layout.tensor[i].field);
        if (layout.tensor[i].table >= 0 || layout.tensor[i].offsets)
            size += blocks * row;
        else if (layout.tensor[i].varies) {
            size_t files = bl_codec_max_size(format, layout.tensor[i].field) + sizeof(struct bl_shard_encoded);
            bool fits = !__builtin_mul_overflow(files, blocks, &files) && files <= MEMORY_MAX;
            size += fits ? files : MEMORY_MAX;
        } else if (format->compressed) /* incompressible data grows by less than 1/128, plus a header */
            size += blocks * (row + row / 128 +
                              frames_of(row, bl_format_frame_size(format)) * (sizeof(struct bl_zstd_frame) + 64));
    }
    size += blocks * (size_t)format->fields.count * sizeof(uint64_t);
    bl_layout_free(&layout);
    *bytes = (int64_t)(size < MEMORY_MAX ? size : MEMORY_MAX);
    return BL_OK;
}

/* --- blocks ------------------------------------------------------------------------------------------------------- */

/* Returns the offset of block `row` of a field in a plain shard. */
static int64_t shard_field_offset(const struct bl_shard_writer *shard, int f, int64_t row)
{
    return bl_layout_offset(&shard->layout, bl_layout_field(&shard->layout, f), row);
}

void bl_shard_writer_place_blocks(const struct bl_shard_writer *shard, struct bl_block *block, int blocks)
{
    const struct bl_layout *layout = &shard->layout;
    const int64_t first = block->index - layout->first_block;
    for (int f = 0; f < shard->format->fields.count && !shard->format->compressed; f++) {
        if (shard->format->encoding[f].kind != BL_ENCODING_RAW)
            continue;
        int64_t offset = shard_field_offset(shard, f, first);
        for (int b = 0; b < blocks; b++)
            bl_block_place(&block[b], f, offset);
        /* Blocks of a flat field lie side by side, too: their sizes differ. */
        for (int b = 1; b < blocks && layout->steps[f]; b++)
            block[b].field[f] =
                block[b - 1].field[f] + bl_layout_block_bytes(layout, bl_layout_field(layout, f), first + b - 1);
    }
}

/* Returns the number of a block within the shard, or -1 and an error if the block belongs to another shard or was put
 * before. */
static int64_t shard_find_row(const struct bl_shard_writer *shard, const struct bl_block *block, struct bl_error *e)
{
    int64_t row = block->index - shard->layout.first_block;
    if (row >= 0 && row < shard->layout.blocks && !shard->is_put[row])
        return row;
    bl_error_set(e, BL_EFAIL, "block %" PRId64 " does not belong in %s, or was written before", block->index,
                 shard->final);
    return -1;
}

/* Returns the offsets of the steps of block `row` of a JPEG field: [T + 1]. */
static int64_t *shard_offsets(const struct bl_shard_writer *shard, int f, int64_t row)
{
    return shard->offsets[f] + row * (shard->format->T + 1);
}

/* Keeps the JPEG files of a block, whose offsets are set, until the shard is finished. */
static int shard_keep_files(struct bl_shard_writer *shard, int f, int64_t row, const void *bytes, struct bl_error *e)
{
    /* Files that the block already has are replaced. */
    struct bl_shard_encoded *encoded = &shard->encoded[row * shard->format->fields.count + f];
    free(encoded->data);
    encoded->size = (size_t)shard_offsets(shard, f, row)[shard->format->T];
    encoded->data = malloc(encoded->size + 1);
    if (!encoded->data)
        return bl_error_memory(e);
    if (encoded->size)
        memcpy(encoded->data, bytes, encoded->size);
    return BL_OK;
}

int bl_shard_writer_put_files(struct bl_shard_writer *shard, const struct bl_block *block, int f,
                              const int64_t *offsets, const void *bytes, struct bl_error *e)
{
    int64_t row = shard_find_row(shard, block, e);
    if (row < 0)
        return BL_EFAIL;
    memcpy(shard_offsets(shard, f, row), offsets, ((size_t)shard->format->T + 1) * sizeof *offsets);
    return shard_keep_files(shard, f, row, bytes, e);
}

int bl_shard_writer_encode_block(struct bl_shard_writer *shard, struct bl_block *block, struct bl_codec *codec,
                                 struct bl_error *e)
{
    int64_t row = shard_find_row(shard, block, e);
    const uint8_t *bytes = NULL;
    if (row < 0)
        return BL_EFAIL;
    for (int f = 0; f < shard->format->fields.count; f++) {
        enum bl_encoding_kind kind = shard->format->encoding[f].kind;
        if (kind == BL_ENCODING_JPEG) {
            BL_TRY(bl_codec_encode_jpeg(codec, block, f, shard_offsets(shard, f, row), &bytes, e));
            BL_TRY(shard_keep_files(shard, f, row, bytes, e));
        } else if (kind == BL_ENCODING_DELTA) {
            bl_delta_encode(block->field[f], (size_t)shard->format->T, shard->format->fields.field[f].shape);
        }
    }
    return BL_OK;
}

/* Puts the tables, the checksums and the compressed frames of a block. */
static int shard_put_block(struct bl_shard_writer *shard, const struct bl_block *block, int64_t row,
                           struct bl_compressor *compressor, struct bl_error *e)
{
    const struct bl_layout *layout = &shard->layout;
    const size_t most = bl_format_frame_size(shard->format);
    int code = BL_OK, fields = shard->format->fields.count;
    for (int i = 0; i < layout->tensors; i++) {
        int table = layout->tensor[i].table;
        if (table >= 0)
            bl_block_copy_table(block, shard->format, table, shard->table[table] + row * layout->tensor[i].row_bytes);
    }
    for (int f = 0; f < fields && !code; f++) {
        const struct bl_shard_encoded *encoded = shard->offsets[f] ? &shard->encoded[row * fields + f] : NULL;
        const void *data = encoded ? encoded->data : block->field[f];
        size_t size = encoded ? encoded->size : (size_t)bl_layout_block_bytes(layout, bl_layout_field(layout, f), row);
        shard->block_checksum[row * fields + f] = bl_checksum(data, size);
        if (encoded || !shard->format->compressed)
            continue;
        struct bl_zstd_frame *frame = shard_contents_frames(shard, f, row);
        for (size_t at = 0; at < size && !code; at += most)
            code =
                bl_compressor_frame(compressor, block->field[f] + at, size - at < most ? size - at : most, frame++, e);
    }
    return code;
}

/* Raw fields of consecutive blocks are written by one write per field. Direct I/O is used for a single block only:
 * several blocks at once are small, and go through the page cache. */
int bl_shard_writer_put_blocks(struct bl_shard_writer *shard, const struct bl_block *block, int blocks,
                               struct bl_compressor *compressor, struct bl_error *e)
{
    int64_t first = 0;
    int code = BL_OK, direct = blocks > 1 ? -1 : shard->direct;
    for (int b = 0; b < blocks && !code; b++) {
        int64_t row = shard_find_row(shard, &block[b], e);
        if (row < 0)
            return BL_EFAIL;
        first = b ? first : row;
        code = shard_put_block(shard, &block[b], row, compressor, e);
    }
    for (int f = 0; f < shard->format->fields.count && !shard->format->compressed && !code; f++) {
        const struct bl_shard_tensor *tensor = bl_layout_field(&shard->layout, f);
        size_t size = 0;
        for (int b = 0; b < blocks; b++)
            size += (size_t)bl_layout_block_bytes(&shard->layout, tensor, first + b);
        if (!shard->offsets[f] && size)
            code = bl_direct_pwrite(direct, shard->fd, block->field[f], size, shard_field_offset(shard, f, first),
                                    shard->temporary, e);
    }
    BL_TRY(code);
    memset(shard->is_put + first, 1, (size_t)blocks);
    return BL_OK;
}

int64_t bl_shard_writer_block_bytes(struct bl_shard_writer *shard, const struct bl_block *block)
{
    const struct bl_format *format = shard->format;
    int64_t bytes = 0, row = block->index - shard->layout.first_block;
    for (int f = 0; f < format->fields.count; f++) {
        size_t frames = shard_frames_of_block(format, f);
        if (shard->offsets[f])
            bytes += shard_offsets(shard, f, row)[format->T];
        for (size_t i = 0; i < frames && format->compressed; i++)
            bytes += shard_contents_frames(shard, f, row)[i].size;
    }
    return bytes;
}

/* --- finishing ---------------------------------------------------------------------------------------------------- */

void bl_shard_writer_expect(struct bl_shard_writer *shard, int64_t bytes, uint64_t checksum)
{
    shard->is_expected = true;
    shard->expected_bytes = bytes;
    shard->expected_checksum = checksum;
}

/* The content is synced, then the record is written, then the file is renamed. In this order, a file under its final
 * name always has complete content and a record. The record owns the checksums of blocks as soon as they are set in it.
 */
int bl_shard_writer_finish(struct bl_shard_writer *shard, struct bl_compressor *compressor, const char *user_data,
                           size_t user_data_size, struct bl_shard_record *record, struct bl_error *e)
{
    *record = (struct bl_shard_record){0};
    if (memchr(shard->is_put, 0, (size_t)shard->layout.blocks))
        return bl_error_set(e, BL_EFAIL, "%s: some of its blocks have not been written", shard->final);
    char *data = calloc(user_data_size + 1, 1);
    if (!data)
        return bl_error_memory(e);
    if (user_data_size)
        memcpy(data, user_data, user_data_size);
    *record = (struct bl_shard_record){.shard = shard->number,
                                       .first_block = shard->layout.first_block,
                                       .blocks = shard->layout.blocks,
                                       .block_checksum = shard->block_checksum,
                                       .user_data = data,
                                       .user_data_size = user_data_size};
    int code = shard->format->compressed ? shard_contents_write_compressed(shard, compressor, record, e)
                                         : shard_contents_write_plain(shard, record, e);
    if (!code && shard->is_expected &&
        (record->bytes != shard->expected_bytes || record->checksum != shard->expected_checksum))
        code = bl_error_set(e, BL_EDATA,
                            "%s differs from the one that it replaces (checksum %016" PRIx64 ", not %016" PRIx64
                            "): an input, an option or a library has changed since the dataset was made; nothing was "
                            "replaced",
                            shard->final, record->checksum, shard->expected_checksum);
    if (code)
        goto out;
    if (fsync(shard->fd) != 0) {
        code = bl_error_errno(e, BL_EFAIL, "cannot sync %s", shard->temporary);
        goto out;
    }
    if (close(shard->fd) != 0)
        code = bl_error_errno(e, BL_EFAIL, "cannot close %s", shard->temporary);
    shard->fd = -1;
    if (!code)
        code = bl_shard_record_write(record, shard->format, shard->dir, e);
    if (!code)
        code = bl_fs_rename_durable(shard->temporary, shard->final, e);
    if (code)
        (void)bl_fs_unlink(shard->temporary);
out:
    shard->block_checksum = NULL;
    if (code)
        bl_shard_record_free(record);
    return code;
}
