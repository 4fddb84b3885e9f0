/* The seekable zstd format: ordinary frames, then a skippable frame with a table of their sizes and checksums.
 *
 * `zstd -d` restores the whole; with the table a reader decompresses only what it needs. Frames carry their content
 * size and zstd's content checksum. No frame holds more than BL_FRAME_MAX bytes, so that one can always be held in
 * memory. */
#ifndef BL_SEEKABLE_H
#define BL_SEEKABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

#define BL_FRAME_MAX ((size_t)64 << 20) /* bytes of content in one frame */

/* How many frames size bytes are cut into. */
static inline size_t bl_frames_of(size_t size)
{
    return (size + BL_FRAME_MAX - 1) / BL_FRAME_MAX;
}

/* One worker's state for compressing, kept from frame to frame. */
struct bl_compressor;

int bl_compressor_open(int level, struct bl_compressor **out, struct bl_error *e);
void bl_compressor_close(struct bl_compressor *compressor);

/* Bytes that a compressor holds at most, its output for one frame of so much content included. */
size_t bl_compressor_memory(int level, size_t content);
/* zstd's version. */
const char *bl_compressor_version(void);

/* A compressed frame in memory of its own. */
struct bl_frame {
    uint8_t *data;
    uint32_t size;     /* compressed */
    uint32_t content;  /* bytes */
    uint32_t check;    /* low half of the content's XXH64, as zstd and the seek table have it */
    uint64_t checksum; /* XXH3 of the compressed bytes */
};

/* Compresses size bytes (at most BL_FRAME_MAX) into one frame. The same bytes for the same content, level and library.
 */
int bl_compressor_frame(struct bl_compressor *compressor, const void *data, size_t size, struct bl_frame *frame,
                        struct bl_error *e);
void bl_frame_free(struct bl_frame *frame);

/* Appends an entry of the seek table, and the table's frame around all entries. */
void bl_seekable_entry(struct bl_buffer *entries, const struct bl_frame *frame);
int bl_seekable_table(const struct bl_buffer *entries, struct bl_buffer *out, struct bl_error *e);

/* Where a frame lies. Frame i of the table goes from [i] to [i + 1]. */
struct bl_seekable_frame {
    int64_t offset;  /* in the file */
    int64_t content; /* of its first byte in the decompressed file */
    uint32_t check;
};

struct bl_seekable {
    size_t frames;
    struct bl_seekable_frame
        *frame; /* [frames + 1]: the last tells where both ends are; its offset is the seek table's */
};

#define BL_SEEKABLE_FOOTER 9 /* bytes at the end of the file from which the table's size follows */

/* Bytes of the whole seek table, from the file's last BL_SEEKABLE_FOOTER bytes. BL_EDATA when there is none. */
int bl_seekable_footer(const uint8_t footer[BL_SEEKABLE_FOOTER], int64_t file_size, int64_t *table, struct bl_error *e);

/* Parses the table: the last size bytes of a file of file_size bytes. Only tables with checksums, and frames of at most
 * BL_FRAME_MAX, as we write them, are taken. BL_EDATA says what is wrong. On error *out is empty. */
int bl_seekable_parse(const uint8_t *table, size_t size, int64_t file_size, struct bl_seekable *out,
                      struct bl_error *e);
void bl_seekable_free(struct bl_seekable *seekable);

/* One reader's state for decompressing. */
struct bl_decompressor;

int bl_decompressor_open(struct bl_decompressor **out, struct bl_error *e);
void bl_decompressor_close(struct bl_decompressor *decompressor);

/* Decompresses frame i, whose compressed bytes are at data, into out, which holds its content exactly. BL_EDATA when it
 * does not decompress to just that content. */
int bl_decompressor_frame(struct bl_decompressor *decompressor, const struct bl_seekable *seekable, size_t i,
                          const void *data, void *out, struct bl_error *e);

#endif
