/* The seekable zstd format: ordinary frames, then a skippable frame with a table of their sizes and checksums.
 *
 * `zstd -d` restores the whole file; with the table a reader decompresses only what it needs. Frames carry their
 * content size and zstd's content checksum. No frame holds more than BL_FRAME_MAX bytes, so that one always fits in
 * memory; smaller ones make it cheaper to read a part of a block. */
#ifndef BL_SEEKABLE_H
#define BL_SEEKABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

#define BL_FRAME_MAX ((size_t)64 << 20) /* maximum content of one frame in bytes */

/* The number of frames for size bytes, each of at most frame bytes. */
static inline size_t bl_frames_of(size_t size, size_t frame)
{
    return (size + frame - 1) / frame;
}

/* State for compressing, one per worker. */
struct bl_compressor;

int bl_compressor_open(int level, struct bl_compressor **out, struct bl_error *e);
void bl_compressor_close(struct bl_compressor *compressor);

/* Bytes that a compressor uses at most, including its output for one frame of that content. */
size_t bl_compressor_memory(int level, size_t content);
/* zstd's version. */
const char *bl_compressor_version(void);

/* A compressed frame; owns its data. */
struct bl_frame {
    uint8_t *data;
    uint32_t size;     /* compressed */
    uint32_t content;  /* bytes */
    uint32_t check;    /* low half of the XXH64 of the content, as in the frame and the seek table */
    uint64_t checksum; /* XXH3 of the compressed bytes */
};

/* Compresses size bytes (at most BL_FRAME_MAX) to one frame. The result depends only on content, level and library. */
int bl_compressor_frame(struct bl_compressor *compressor, const void *data, size_t size, struct bl_frame *frame,
                        struct bl_error *e);
void bl_frame_free(struct bl_frame *frame);

/* Appends an entry of the seek table; and the frame of the table with all entries. */
void bl_seekable_entry(struct bl_buffer *entries, const struct bl_frame *frame);
int bl_seekable_table(const struct bl_buffer *entries, struct bl_buffer *out, struct bl_error *e);

/* The place of a frame: frame i of the table goes from [i] to [i + 1]. */
struct bl_seekable_frame {
    int64_t offset;  /* in the file */
    int64_t content; /* of its first byte in the decompressed file */
    uint32_t check;
};

struct bl_seekable {
    size_t frames;
    struct bl_seekable_frame
        *frame; /* [frames + 1]: the last one has the end of both; its offset is that of the seek table */
};

#define BL_SEEKABLE_FOOTER 9 /* bytes at the end of the file that give the size of the table */

/* The size of the seek table, from the last BL_SEEKABLE_FOOTER bytes of the file. BL_EDATA: there is no valid table. */
int bl_seekable_footer(const uint8_t footer[BL_SEEKABLE_FOOTER], int64_t file_size, int64_t *table, struct bl_error *e);

/* Parses the table: the last size bytes of a file of file_size bytes. Only tables with checksums, and frames of at most
 * BL_FRAME_MAX, are accepted. BL_EDATA: invalid. On error *out is empty. */
int bl_seekable_parse(const uint8_t *table, size_t size, int64_t file_size, struct bl_seekable *out,
                      struct bl_error *e);
void bl_seekable_free(struct bl_seekable *seekable);

/* State for decompressing, one per reader. */
struct bl_decompressor;

int bl_decompressor_open(struct bl_decompressor **out, struct bl_error *e);
void bl_decompressor_close(struct bl_decompressor *decompressor);

/* Decompresses frame i, whose compressed bytes are data, to out, which has room for its content. BL_EDATA: damaged, or
 * another content than the table says. */
int bl_decompressor_frame(struct bl_decompressor *decompressor, const struct bl_seekable *seekable, size_t i,
                          const void *data, void *out, struct bl_error *e);

#endif
