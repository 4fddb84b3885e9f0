#include "store/shard_reader.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/checksum.h"
#include "base/fs.h"
#include "base/io.h"

static size_t frame_content_size(const struct bl_shard_reader *file, size_t i)
{
    return (size_t)(file->seekable.frame[i + 1].content - file->seekable.frame[i].content);
}

static void reader_prepare_kept(struct bl_shard_reader *file)
{
    size_t largest = 1;
    for (size_t i = 0; i < file->seekable.frames; i++)
        largest = frame_content_size(file, i) > largest ? frame_content_size(file, i) : largest;
    size_t most = BL_KEPT_BYTES / largest;
    file->keeps = most > BL_KEPT_FRAMES ? BL_KEPT_FRAMES : most > 1 ? (int)most : 1;
    for (int k = 0; k < file->keeps; k++)
        file->kept[k].number = SIZE_MAX;
}

static int reader_read_seek_table(struct bl_shard_reader *file, struct bl_error *e)
{
    uint8_t footer[BL_SEEKABLE_FOOTER];
    int64_t size = 0;
    if (file->bytes < BL_SEEKABLE_FOOTER)
        return bl_error_set(e, BL_EDATA, "too short for a seek table");
    int code = bl_io_pread(file->fd, footer, sizeof footer, file->bytes - BL_SEEKABLE_FOOTER, file->path, e);
    if (code)
        return code;
    code = bl_seekable_footer(footer, file->bytes, &size, e);
    if (code)
        return code;
    uint8_t *table = malloc((size_t)size);
    if (!table)
        return bl_error_memory(e);
    code = bl_io_pread(file->fd, table, (size_t)size, file->bytes - size, file->path, e);
    if (!code)
        code = bl_seekable_parse(table, (size_t)size, file->bytes, &file->seekable, e);
    free(table);
    if (code)
        return code;
    file->size = file->seekable.frame[file->seekable.frames].content;
    reader_prepare_kept(file);
    return bl_decompressor_open(&file->decompressor, e);
}

int bl_shard_reader_open(struct bl_shard_reader *file, const char *path, bool compressed, struct bl_error *e)
{
    *file = (struct bl_shard_reader){.fd = -1, .compressed = compressed, .path = strdup(path)};
    if (!file->path)
        return bl_error_memory(e);
    int code = BL_OK;
    struct stat status;
    file->fd = bl_regular_open(path, e);
    if (file->fd < 0)
        code = file->fd;
    else if (fstat(file->fd, &status) != 0)
        code = bl_error_errno(e, BL_EFAIL, "cannot stat %s", path);
    if (code) {
        bl_shard_reader_close(file);
        return code;
    }
    file->bytes = file->size = status.st_size;
    if (compressed)
        code = reader_read_seek_table(file, e);
    if (code == BL_EDATA)
        bl_error_prefix(e, "%s", path);
    if (code)
        bl_shard_reader_close(file);
    return code;
}

void bl_shard_reader_close(struct bl_shard_reader *file)
{
    if (file->fd >= 0)
        close(file->fd); /* opened for reading only: there is nothing to lose */
    free(file->path);
    bl_seekable_free(&file->seekable);
    bl_decompressor_close(file->decompressor);
    free(file->packed);
    for (int k = 0; k < file->keeps; k++)
        free(file->kept[k].content);
    free(file->frame_checksum);
    *file = (struct bl_shard_reader){.fd = -1};
}

/* --- frames ----------------------------------------------------------------------------------------------------- */

/* Reads the compressed bytes of frame i and decompresses them to out. */
static int reader_decompress_frame(struct bl_shard_reader *file, size_t i, void *out, struct bl_error *e)
{
    const struct bl_seekable_frame *frame = &file->seekable.frame[i];
    size_t size = (size_t)(frame[1].offset - frame[0].offset);
    int code = BL_ARRAY_RESERVE(file->packed, file->packed_capacity, size, e);
    if (code)
        return code;
    code = bl_io_pread(file->fd, file->packed, size, frame->offset, file->path, e);
    if (code)
        return code;
    if (file->frame_checksum)
        file->frame_checksum[i] = bl_checksum(file->packed, size);
    code = bl_decompressor_frame(file->decompressor, &file->seekable, i, file->packed, out, e);
    if (code == BL_EDATA)
        bl_error_prefix(e, "%s", file->path);
    return code;
}

/* Makes kept frame k the first. */
static void reader_use_kept(struct bl_shard_reader *file, int k)
{
    struct bl_kept_frame used = file->kept[k];
    memmove(file->kept + 1, file->kept, (size_t)k * sizeof *file->kept);
    file->kept[0] = used;
}

/* Makes frame i the first of those that are kept, if it is one of them. */
static bool reader_find_kept(struct bl_shard_reader *file, size_t i)
{
    for (int k = 0; k < file->keeps; k++) {
        if (file->kept[k].number == i) {
            reader_use_kept(file, k);
            return true;
        }
    }
    return false;
}

/* Decompresses frame i in the place of the kept one that was not used for longest, and makes it the first. */
static int reader_load_frame(struct bl_shard_reader *file, size_t i, struct bl_error *e)
{
    struct bl_kept_frame *frame = &file->kept[0];
    reader_use_kept(file, file->keeps - 1);
    frame->number = SIZE_MAX;
    int code = BL_ARRAY_RESERVE(frame->content, frame->capacity, frame_content_size(file, i) + 1, e);
    if (code)
        return code;
    code = reader_decompress_frame(file, i, frame->content, e);
    if (code)
        return code;
    frame->number = i;
    return BL_OK;
}

/* The frame that contains the byte at offset. */
static size_t reader_find_frame(const struct bl_shard_reader *file, int64_t offset)
{
    size_t low = 0, high = file->seekable.frames; /* frame[low] begins at offset or before, frame[high] after */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (file->seekable.frame[middle].content <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Frames that are wanted whole are decompressed to out directly; of others a part is copied. */
static int reader_read_frames(struct bl_shard_reader *file, int64_t offset, int64_t size, uint8_t *out,
                              struct bl_error *e)
{
    int code = BL_OK;
    while (size > 0 && !code) {
        size_t i = reader_find_frame(file, offset);
        size_t content = frame_content_size(file, i), skip = (size_t)(offset - file->seekable.frame[i].content);
        size_t part = content - skip < (size_t)size ? content - skip : (size_t)size;
        bool is_kept = reader_find_kept(file, i);
        if (part == content && !is_kept) {
            code = reader_decompress_frame(file, i, out, e);
        } else {
            code = is_kept ? BL_OK : reader_load_frame(file, i, e);
            if (!code)
                memcpy(out, file->kept[0].content + skip, part);
        }
        offset += (int64_t)part;
        size -= (int64_t)part;
        out += part;
    }
    return code;
}

int bl_shard_reader_read(struct bl_shard_reader *file, int64_t offset, int64_t size, void *out, struct bl_error *e)
{
    if (offset < 0 || size < 0 || offset > file->size || size > file->size - offset)
        return bl_error_set(e, BL_EDATA, "%s: ends at byte %" PRId64 ", cannot read %" PRId64 " bytes from %" PRId64,
                            file->path, file->size, size, offset);
    return file->compressed ? reader_read_frames(file, offset, size, out, e)
                            : bl_io_pread(file->fd, out, (size_t)size, offset, file->path, e);
}

/* Reads the sizes of tensors that vary from the file's header. */
static int reader_read_sizes(struct bl_shard_reader *file, const struct bl_layout *layout, int64_t bytes[BL_FIELDS_MAX],
                             struct bl_error *e)
{
    struct bl_safetensors found = {0};
    char *head = malloc(layout->header.size);
    int code = head ? bl_shard_reader_read(file, 0, (int64_t)layout->header.size, head, e) : bl_error_memory(e);
    if (code)
        goto out;
    if ((code = bl_safetensors_parse(head, layout->header.size, file->size, &found, e)) == BL_EDATA)
        bl_error_prefix(e, "%s", file->path);
    if (code)
        goto out;
    for (int i = 0; i < layout->tensors && !code; i++) {
        const struct bl_shard_tensor *tensor = &layout->tensor[i];
        const struct bl_tensor *there = bl_safetensors_find(&found, tensor->tensor.name);
        if (tensor->varies && !there)
            code = bl_error_set(e, BL_EDATA, "%s: no tensor \"%s\"", file->path, tensor->tensor.name);
        else if (tensor->varies)
            bytes[tensor->field] = there->end - there->begin;
    }
out:
    bl_safetensors_free(&found);
    free(head);
    return code;
}

int bl_shard_reader_layout(struct bl_shard_reader *file, const struct bl_format *format, int64_t shard,
                           struct bl_layout *layout, struct bl_error *e)
{
    int64_t bytes[BL_FIELDS_MAX] = {0};
    int code = bl_layout_make(layout, format, shard, e);
    if (code || !bl_format_encodes(format, BL_ENCODING_JPEG))
        return code;
    code = reader_read_sizes(file, layout, bytes, e);
    if (code)
        goto out;
    code = bl_layout_resolve(layout, format, bytes, e);
out:
    if (code)
        bl_layout_free(layout);
    return code;
}

int bl_shard_reader_compare_header(struct bl_shard_reader *file, const struct bl_layout *layout, bool *same,
                                   struct bl_error *e)
{
    size_t size = layout->header.size;
    char *header = malloc(size);
    if (!header)
        return bl_error_memory(e);
    int code = bl_shard_reader_read(file, 0, (int64_t)size, header, e);
    *same = !code && memcmp(header, layout->header.data, size) == 0;
    free(header);
    return code;
}

int bl_shard_reader_keep_checksums(struct bl_shard_reader *file, struct bl_error *e)
{
    file->frame_checksum = calloc(file->seekable.frames + 1, sizeof *file->frame_checksum);
    return file->frame_checksum ? BL_OK : bl_error_memory(e);
}

int bl_shard_reader_table_checksum(const struct bl_shard_reader *file, uint64_t *checksum, struct bl_error *e)
{
    int64_t offset = file->seekable.frame[file->seekable.frames].offset;
    return bl_checksum_range(file->fd, offset, file->bytes - offset, file->path, checksum, e);
}
