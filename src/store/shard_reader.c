#define ZSTD_STATIC_LINKING_ONLY /* to estimate the size of a context */

/* Reading shards, plain or compressed, and the seekable zstd format of the compressed ones.
 *
 * A reader of a compressed shard decompresses frame by frame. Nothing is read ahead, and no thread is started: readers
 * of training run in many processes, which share the processor already. */
#include "store/shard_reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/checksum.h"
#include "base/fs.h"
#include "base/io.h"
#include "store/dataset_file.h"

/* --- seekable zstd format ----------------------------------------------------------------------------------------- */

/* Layout of the seek table, from zstd's contrib/seekable_format/zstd_seekable_compression_format.md:
 *
 *   u32 0x184D2A5E | u32 size of what follows | entry[n] | u32 n | u8 descriptor | u32 0x8F92EAB1
 *   entry: u32 compressed size | u32 content size | u32 low half of XXH64(content, seed 0)
 *
 * Entries have the last number only if bit 7 of the descriptor is set. */

#define SKIPPABLE_MAGIC UINT32_C(0x184D2A5E)
#define SEEKABLE_MAGIC UINT32_C(0x8F92EAB1)
#define DESCRIPTOR_CHECKSUMS 0x80
#define DESCRIPTOR_RESERVED 0x7C
#define HEAD 8 /* magic and size of a skippable frame */
#define ENTRY 12
#define END_FETCHED 8192 /* bytes at the end of an object that are fetched at once: the table of 680 frames */
#define FRAME_CHECK 4    /* size of zstd's content checksum, at the end of a frame */

/* --- compressing -------------------------------------------------------------------------------------------------- */

struct bl_compressor {
    ZSTD_CCtx *context;
    int level;
    uint8_t *out; /* output buffer, large enough for the largest frame so far */
    size_t capacity;
};

int bl_compressor_open(int level, struct bl_compressor **out, struct bl_error *e)
{
    struct bl_compressor *compressor = calloc(1, sizeof *compressor);
    if (compressor)
        compressor->context = ZSTD_createCCtx();
    if (!compressor || !compressor->context) {
        free(compressor);
        return bl_error_memory(e);
    }
    /* The content checksum costs 4 bytes a frame. With it `zstd -t` finds damage too, and the seek table's entry, which
     * is the same number, need not be computed separately. */
    size_t result = ZSTD_CCtx_setParameter(compressor->context, ZSTD_c_compressionLevel, level);
    if (!ZSTD_isError(result))
        result = ZSTD_CCtx_setParameter(compressor->context, ZSTD_c_checksumFlag, 1);
    if (ZSTD_isError(result)) {
        bl_compressor_close(compressor);
        return bl_error_set(e, BL_EFAIL, "zstd: %s", ZSTD_getErrorName(result));
    }
    compressor->level = level;
    *out = compressor;
    return BL_OK;
}

void bl_compressor_close(struct bl_compressor *compressor)
{
    if (!compressor)
        return;
    ZSTD_freeCCtx(compressor->context);
    free(compressor->out);
    free(compressor);
}

const char *bl_compressor_version(void)
{
    return ZSTD_versionString();
}

size_t bl_compressor_memory(int level, size_t content)
{
    if (content > BL_FRAME_MAX)
        content = BL_FRAME_MAX;
    return ZSTD_estimateCCtxSize(level) + ZSTD_compressBound(content);
}

int bl_compressor_frame(struct bl_compressor *compressor, const void *data, size_t size, struct bl_zstd_frame *frame,
                        struct bl_error *e)
{
    *frame = (struct bl_zstd_frame){0};
    if (size > BL_FRAME_MAX)
        return bl_error_set(e, BL_EFAIL, "a frame of %zu bytes exceeds the limit", size);
    size_t bound = ZSTD_compressBound(size);
    if (bound > compressor->capacity) { /* grow to the exact size, since each worker has a compressor */
        BL_TRY(BL_ARRAY_RESIZE(compressor->out, bound, e));
        compressor->capacity = bound;
    }
    size_t n = ZSTD_compress2(compressor->context, compressor->out, compressor->capacity, data, size);
    if (ZSTD_isError(n))
        return bl_error_set(e, BL_EFAIL, "zstd cannot compress: %s", ZSTD_getErrorName(n));
    frame->data = malloc(n);
    if (!frame->data)
        return bl_error_memory(e);
    memcpy(frame->data, compressor->out, n);
    frame->size = (uint32_t)n;
    frame->content = (uint32_t)size;
    memcpy(&frame->check, compressor->out + n - FRAME_CHECK, FRAME_CHECK);
    frame->checksum = bl_checksum(compressor->out, n);
    return BL_OK;
}

void bl_zstd_frame_free(struct bl_zstd_frame *frame)
{
    free(frame->data);
    *frame = (struct bl_zstd_frame){0};
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

void bl_seekable_entry(struct bl_buffer *entries, const struct bl_zstd_frame *frame)
{
    const uint32_t entry[3] = {frame->size, frame->content, frame->check};
    bl_buffer_append(entries, entry, sizeof entry);
}

int bl_seekable_table(const struct bl_buffer *entries, struct bl_buffer *out, struct bl_error *e)
{
    if (entries->size > UINT32_MAX - BL_SEEKABLE_FOOTER)
        return bl_error_set(e, BL_EFAIL, "too many frames for one seek table");
    const uint32_t head[2] = {SKIPPABLE_MAGIC, (uint32_t)entries->size + BL_SEEKABLE_FOOTER};
    const uint32_t frames = (uint32_t)(entries->size / ENTRY), magic = SEEKABLE_MAGIC;
    bl_buffer_append(out, head, sizeof head);
    bl_buffer_append(out, entries->data, entries->size);
    bl_buffer_append(out, &frames, sizeof frames);
    bl_buffer_byte(out, (char)DESCRIPTOR_CHECKSUMS);
    bl_buffer_append(out, &magic, sizeof magic);
    return bl_buffer_check(entries, e) ? BL_EFAIL : bl_buffer_check(out, e);
}

/* Reads a little-endian number at any address. */
static uint32_t seekable_read_u32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

int bl_seekable_footer(const uint8_t footer[BL_SEEKABLE_FOOTER], int64_t file_size, int64_t *table, struct bl_error *e)
{
    if (seekable_read_u32(footer + 5) != SEEKABLE_MAGIC)
        return bl_error_set(e, BL_EDATA, "no seek table at the end of the file");
    if (footer[4] & DESCRIPTOR_RESERVED)
        return bl_error_set(e, BL_EDATA, "the seek table is of a later version");
    if (!(footer[4] & DESCRIPTOR_CHECKSUMS))
        return bl_error_set(e, BL_EDATA, "the seek table has no checksums");
    *table = HEAD + (int64_t)seekable_read_u32(footer) * ENTRY + BL_SEEKABLE_FOOTER;
    if (*table > file_size)
        return bl_error_set(e, BL_EDATA, "the seek table (%" PRId64 " bytes) is larger than the file", *table);
    return BL_OK;
}

/* The sizes in the entries are converted to offsets. */
int bl_seekable_parse(const uint8_t *table, size_t size, int64_t file_size, struct bl_seekable *out, struct bl_error *e)
{
    *out = (struct bl_seekable){0};
    if (size < HEAD + BL_SEEKABLE_FOOTER)
        return bl_error_set(e, BL_EDATA, "too short for a seek table");
    int64_t expected, offset = 0, content = 0, frames_end = file_size - (int64_t)size;
    BL_TRY(bl_seekable_footer(table + size - BL_SEEKABLE_FOOTER, file_size, &expected, e));
    if (expected != (int64_t)size || seekable_read_u32(table) != SKIPPABLE_MAGIC ||
        seekable_read_u32(table + 4) != size - HEAD)
        return bl_error_set(e, BL_EDATA, "the size of the seek table is inconsistent");
    out->frames = (size - HEAD - BL_SEEKABLE_FOOTER) / ENTRY;
    out->frame = calloc(out->frames + 1, sizeof *out->frame);
    if (!out->frame)
        return bl_error_memory(e);
    const uint8_t *entry = table + HEAD;
    int code = BL_OK;
    for (size_t i = 0; i < out->frames && !code; i++, entry += ENTRY) {
        out->frame[i] = (struct bl_seekable_frame){offset, content, seekable_read_u32(entry + 8)};
        uint32_t packed = seekable_read_u32(entry), unpacked = seekable_read_u32(entry + 4);
        if (unpacked > BL_FRAME_MAX || packed > ZSTD_COMPRESSBOUND(BL_FRAME_MAX) || packed > frames_end - offset)
            code = bl_error_set(e, BL_EDATA, "the seek table has an invalid size for frame %zu", i);
        offset += packed;
        content += unpacked;
    }
    out->frame[out->frames] = (struct bl_seekable_frame){.offset = offset, .content = content};
    if (!code && offset != frames_end)
        code =
            bl_error_set(e, BL_EDATA, "the frames of the seek table end at %" PRId64 ", the table begins at %" PRId64,
                         offset, frames_end);
    if (code)
        bl_seekable_free(out);
    return code;
}

void bl_seekable_free(struct bl_seekable *seekable)
{
    free(seekable->frame);
    *seekable = (struct bl_seekable){0};
}

/* --- decompressing ------------------------------------------------------------------------------------------------ */

struct bl_decompressor {
    ZSTD_DCtx *context;
};

int bl_decompressor_open(struct bl_decompressor **out, struct bl_error *e)
{
    struct bl_decompressor *decompressor = calloc(1, sizeof *decompressor);
    if (decompressor)
        decompressor->context = ZSTD_createDCtx();
    if (!decompressor || !decompressor->context) {
        free(decompressor);
        return bl_error_memory(e);
    }
    *out = decompressor;
    return BL_OK;
}

void bl_decompressor_close(struct bl_decompressor *decompressor)
{
    if (!decompressor)
        return;
    ZSTD_freeDCtx(decompressor->context);
    free(decompressor);
}

int bl_decompressor_frame(struct bl_decompressor *decompressor, const struct bl_seekable *seekable, size_t i,
                          const void *data, void *out, struct bl_error *e)
{
    const struct bl_seekable_frame *frame = &seekable->frame[i];
    size_t size = (size_t)(frame[1].offset - frame[0].offset), content = (size_t)(frame[1].content - frame[0].content);
    size_t n = ZSTD_decompressDCtx(decompressor->context, out, content, data, size);
    if (ZSTD_isError(n))
        return bl_error_set(e, BL_EDATA, "cannot decompress frame %zu: %s", i, ZSTD_getErrorName(n));
    if (n != content)
        return bl_error_set(e, BL_EDATA, "frame %zu has %zu bytes, expected %zu", i, n, content);
    if ((uint32_t)XXH64(out, n, 0) != frame->check)
        return bl_error_set(e, BL_EDATA, "the checksum of frame %zu differs from the seek table", i);
    return BL_OK;
}

/* --- shard reader ------------------------------------------------------------------------------------------------- */

/* Returns the size of frame i before compression. */
static size_t frame_content_size(const struct bl_shard_reader *file, size_t i)
{
    return (size_t)(file->seekable.frame[i + 1].content - file->seekable.frame[i].content);
}

/* Reads bytes of the file as they are. */
static int reader_get(const struct bl_shard_reader *file, void *out, size_t size, int64_t offset, struct bl_error *e)
{
    return file->object ? bl_input_file_get(file->object, out, size, offset, file->path, e)
                        : bl_io_pread(file->fd, out, size, offset, file->path, e);
}

/* Has the end of an object fetched by one request, with its footer and most seek tables. The reads that follow find it
 * (remote/ranges.h). */
static int reader_fetch_end(const struct bl_shard_reader *file, struct bl_error *e)
{
    uint8_t end[END_FETCHED];
    size_t size = file->bytes < END_FETCHED ? (size_t)file->bytes : END_FETCHED;
    return file->object ? reader_get(file, end, size, file->bytes - (int64_t)size, e) : BL_OK;
}

/* Reads the seek table of a compressed file, and prepares the cache for its largest frame. */
static int reader_read_seek_table(struct bl_shard_reader *file, struct bl_error *e)
{
    uint8_t footer[BL_SEEKABLE_FOOTER];
    int64_t size = 0;
    if (file->bytes < BL_SEEKABLE_FOOTER)
        return bl_error_set(e, BL_EDATA, "too short for a seek table");
    BL_TRY(reader_fetch_end(file, e));
    BL_TRY(reader_get(file, footer, sizeof footer, file->bytes - BL_SEEKABLE_FOOTER, e));
    BL_TRY(bl_seekable_footer(footer, file->bytes, &size, e));
    uint8_t *table = malloc((size_t)size);
    if (!table)
        return bl_error_memory(e);
    int code = reader_get(file, table, (size_t)size, file->bytes - size, e);
    if (!code)
        code = bl_seekable_parse(table, (size_t)size, file->bytes, &file->seekable, e);
    free(table);
    BL_TRY(code);
    file->size = file->seekable.frame[file->seekable.frames].content;
    size_t largest = 1;
    for (size_t i = 0; i < file->seekable.frames; i++)
        largest = frame_content_size(file, i) > largest ? frame_content_size(file, i) : largest;
    /* Small frames are kept in larger numbers: the limit is their bytes. */
    size_t most = BL_KEPT_BYTES / largest;
    file->keeps = most > BL_KEPT_FRAMES ? BL_KEPT_FRAMES : most > 1 ? (int)most : 1;
    for (int k = 0; k < file->keeps; k++)
        file->kept[k].number = SIZE_MAX;
    return bl_decompressor_open(&file->decompressor, e);
}

/* Opens the object at file->path for reading by ranges. */
static int reader_open_object(struct bl_shard_reader *file, struct bl_input_file *opened, struct bl_error *e)
{
    struct bl_input_file *object = malloc(sizeof *object);
    if (!object)
        return bl_error_memory(e);
    if (bl_input_file_open(object, file->path)) {
        free(object);
        return bl_opener_fail("cannot open", file->path, BL_EFAIL, e);
    }
    file->object = object;
    *opened = *object;
    return BL_OK;
}

int bl_shard_reader_open(struct bl_shard_reader *file, const char *path, bool compressed, struct bl_error *e)
{
    *file = (struct bl_shard_reader){.fd = -1, .compressed = compressed, .path = strdup(path)};
    if (!file->path)
        return bl_error_memory(e);
    struct bl_input_file opened = {.fd = -1};
    int code = !bl_far_is(path) ? bl_dataset_file_open(&opened, path, e) : reader_open_object(file, &opened, e);
    if (code) {
        bl_shard_reader_close(file);
        return code;
    }
    file->fd = opened.fd;
    file->bytes = file->size = opened.status.st_size;
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
    if (file->object)
        bl_input_file_close(file->object);
    free(file->object);
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

/* --- frames ------------------------------------------------------------------------------------------------------- */

/* Reads the compressed bytes of frame i and decompresses them to out. */
static int reader_decompress_frame(struct bl_shard_reader *file, size_t i, void *out, struct bl_error *e)
{
    const struct bl_seekable_frame *frame = &file->seekable.frame[i];
    size_t size = (size_t)(frame[1].offset - frame[0].offset);
    BL_TRY(BL_ARRAY_RESERVE(file->packed, file->packed_capacity, size, e));
    BL_TRY(reader_get(file, file->packed, size, frame->offset, e));
    /* Verification needs the checksum of the packed bytes, which are in memory only here. */
    if (file->frame_checksum)
        file->frame_checksum[i] = bl_checksum(file->packed, size);
    int code = bl_decompressor_frame(file->decompressor, &file->seekable, i, file->packed, out, e);
    if (code == BL_EDATA)
        bl_error_prefix(e, "%s", file->path);
    return code;
}

/* Moves entry k of the cache to its front. Unless the entry holds frame i, decompresses frame i into it. */
static int reader_use_kept(struct bl_shard_reader *file, int k, size_t i, struct bl_error *e)
{
    struct bl_kept_frame used = file->kept[k], *front = &file->kept[0];
    memmove(front + 1, front, (size_t)k * sizeof *front);
    *front = used;
    if (used.number == i)
        return BL_OK;
    front->number = SIZE_MAX;
    BL_TRY(BL_ARRAY_RESERVE(front->content, front->capacity, frame_content_size(file, i) + 1, e));
    BL_TRY(reader_decompress_frame(file, i, front->content, e));
    front->number = i;
    return BL_OK;
}

/* A frame of which all bytes are needed is decompressed directly to out; any other frame is decompressed to the least
 * recently used entry of the cache, and a part of it is copied. */
int bl_shard_reader_read(struct bl_shard_reader *file, int64_t offset, int64_t size, void *out, struct bl_error *e)
{
    const struct bl_seekable_frame *frame = file->seekable.frame;
    uint8_t *to = out;
    int code = BL_OK;
    if (offset < 0 || size < 0 || offset > file->size || size > file->size - offset)
        return bl_error_set(e, BL_EDATA, "%s: ends at byte %" PRId64 ", cannot read %" PRId64 " bytes from %" PRId64,
                            file->path, file->size, size, offset);
    if (!file->compressed)
        return reader_get(file, out, (size_t)size, offset, e);
    while (size > 0 && !code) {
        size_t i = 0, high = file->seekable.frames; /* frame[i] begins at offset or before, frame[high] after */
        while (high - i > 1) {
            size_t middle = i + (high - i) / 2;
            if (frame[middle].content <= offset)
                i = middle;
            else
                high = middle;
        }
        size_t content = frame_content_size(file, i), skip = (size_t)(offset - frame[i].content);
        size_t part = content - skip < (size_t)size ? content - skip : (size_t)size;
        int k = 0;
        while (k < file->keeps && file->kept[k].number != i)
            k++;
        if (part == content && k == file->keeps) {
            code = reader_decompress_frame(file, i, to, e);
        } else {
            code = reader_use_kept(file, k < file->keeps ? k : file->keeps - 1, i, e);
            if (!code)
                memcpy(to, file->kept[0].content + skip, part);
        }
        offset += (int64_t)part;
        size -= (int64_t)part;
        to += part;
    }
    return code;
}

/* Reads the steps before each block of a flat field. BL_EDATA: they do not fit the tensor. */
static int reader_read_steps(struct bl_shard_reader *file, const struct bl_format *format, struct bl_layout *layout,
                             const struct bl_shard_tensor *offsets, struct bl_error *e)
{
    const int f = offsets->field;
    const int64_t total = bl_layout_field(layout, f)->tensor.shape[0];
    int64_t *steps = calloc((size_t)layout->blocks + 1, sizeof *steps);
    if (!steps)
        return bl_error_memory(e);
    int code = bl_shard_reader_read(file, bl_layout_offset(layout, offsets, 0),
                                    offsets->tensor.end - offsets->tensor.begin, steps, e);
    if (code) {
        free(steps);
        return code;
    }
    code = bl_layout_set_steps(layout, format, f, steps, e);
    if (!code && steps[layout->blocks] != total)
        code = bl_error_set(e, BL_EDATA, "%s ends at %" PRId64 " of %" PRId64 " steps", offsets->tensor.name,
                            steps[layout->blocks], total);
    if (code == BL_EDATA)
        bl_error_prefix(e, "%s", file->path);
    return code;
}

/* Only sizes that vary are read from the header: everything else in it follows from the format. */
int bl_shard_reader_layout(struct bl_shard_reader *file, const struct bl_format *format, int64_t shard,
                           struct bl_layout *layout, struct bl_error *e)
{
    struct bl_safetensors found = {0};
    int64_t sizes[BL_FIELDS_MAX] = {0};
    BL_TRY(bl_layout_make(layout, format, shard, e));
    bool varies = false;
    for (int i = 0; i < layout->tensors; i++)
        varies |= layout->tensor[i].varies || layout->tensor[i].flat;
    if (!varies)
        return BL_OK;
    const size_t size = layout->header.size;
    char *head = malloc(size);
    int code = head ? bl_shard_reader_read(file, 0, (int64_t)size, head, e) : bl_error_memory(e);
    if (!code) {
        code = bl_safetensors_parse(head, size, file->size, &found, e);
        if (code == BL_EDATA)
            bl_error_prefix(e, "%s", file->path);
    }
    for (int i = 0; i < layout->tensors && !code; i++) {
        const struct bl_shard_tensor *tensor = &layout->tensor[i];
        const struct bl_tensor *there = bl_safetensors_find(&found, tensor->tensor.name);
        if (!tensor->varies && (!tensor->flat || tensor->offsets))
            continue;
        if (!there || there->rank < 1)
            code = bl_error_set(e, BL_EDATA, "%s: no tensor \"%s\"", file->path, tensor->tensor.name);
        else
            sizes[tensor->field] = there->shape[0];
    }
    if (!code)
        code = bl_layout_resolve(layout, format, sizes, e);
    for (int i = 0; i < layout->tensors && !code; i++) {
        if (layout->tensor[i].flat && layout->tensor[i].offsets)
            code = reader_read_steps(file, format, layout, &layout->tensor[i], e);
    }
    bl_safetensors_free(&found);
    free(head);
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
    size_t size = (size_t)(file->bytes - offset);
    void *table = malloc(size);
    int code = table ? reader_get(file, table, size, offset, e) : bl_error_memory(e);
    *checksum = code ? 0 : bl_checksum(table, size);
    free(table);
    return code;
}
