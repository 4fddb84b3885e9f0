/* Reading shards, plain or compressed, and the seekable zstd format of the compressed ones. */
#ifndef BL_SHARD_READER_H
#define BL_SHARD_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "store/format.h"

/* --- seekable zstd format ----------------------------------------------------------------------------------------- */

/* The seekable zstd format: ordinary frames, then a skippable frame with a table of their sizes and checksums.
 *
 * `zstd -d` restores the file; with the table a reader decompresses only what it needs. Frames carry their
 * content size and zstd's content checksum. No frame holds more than BL_FRAME_MAX bytes, so that one always fits in
 * memory; smaller ones make it cheaper to read a part of a block. */

/* State for compressing, one per worker. */
struct bl_compressor;

int bl_compressor_open(int level, struct bl_compressor **out, struct bl_error *e);
void bl_compressor_close(struct bl_compressor *compressor);

/* Returns the maximum memory of a compressor in bytes, including its output for one frame of `content` bytes. */
size_t bl_compressor_memory(int level, size_t content);
/* Returns the version of zstd. */
const char *bl_compressor_version(void);

/* A compressed frame; owns its data. */
struct bl_zstd_frame {
    uint8_t *data;
    uint32_t size;     /* compressed */
    uint32_t content;  /* bytes */
    uint32_t check;    /* low half of the XXH64 of the content, as in the frame and the seek table */
    uint64_t checksum; /* XXH3 of the compressed bytes */
};

/* Compresses size bytes (at most BL_FRAME_MAX) to one frame. The result depends only on content, level and library. */
int bl_compressor_frame(struct bl_compressor *compressor, const void *data, size_t size, struct bl_zstd_frame *frame,
                        struct bl_error *e);
void bl_zstd_frame_free(struct bl_zstd_frame *frame);

/* bl_seekable_entry appends the entry of a frame to the entries of a seek table; bl_seekable_table appends the
 * skippable frame that holds all entries. */
void bl_seekable_entry(struct bl_buffer *entries, const struct bl_zstd_frame *frame);
int bl_seekable_table(const struct bl_buffer *entries, struct bl_buffer *out, struct bl_error *e);

/* The start of a frame; it ends where the next one starts. */
struct bl_seekable_frame {
    int64_t offset;  /* in the file */
    int64_t content; /* offset of its first byte in the decompressed file */
    uint32_t check;  /* low half of the XXH64 of its content */
};

struct bl_seekable {
    size_t frames;
    struct bl_seekable_frame
        *frame; /* [frames + 1]: the last one has the end of both; its offset is that of the seek table */
};

#define BL_SEEKABLE_FOOTER 9 /* bytes at the end of the file that give the size of the table */

/* Computes the size of the seek table from the last BL_SEEKABLE_FOOTER bytes of the file. BL_EDATA: the file has no
 * valid seek table. */
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

/* --- shard reader ------------------------------------------------------------------------------------------------- */

/* A shard opened for reading: its uncompressed bytes at any offset, whether it is plain or compressed.
 *
 * For a compressed shard, only the needed frames are decompressed. A small cache keeps the frames that were read in
 * part last, so that sequential reads of small pieces do not decompress a frame again. One thread at a time may use a
 * reader. */

/* Limits of the cache: the number of frames, and their bytes if all have the size of the largest one. One frame is
 * always kept. */
#define BL_KEPT_FRAMES 8
#define BL_KEPT_BYTES ((size_t)2 << 20)

struct bl_kept_frame {
    size_t number; /* SIZE_MAX: none */
    uint8_t *content;
    size_t capacity;
};

struct bl_input_file;

struct bl_shard_reader {
    int fd;                       /* -1: not open, or at a URL */
    struct bl_input_file *object; /* at a URL, of which only what is needed is fetched; or NULL */
    char *path;
    int64_t bytes; /* size of the file */
    int64_t size;  /* uncompressed size */
    bool compressed;
    struct bl_seekable seekable; /* empty for plain shards, like all that follows */
    struct bl_decompressor *decompressor;
    uint8_t *packed; /* buffer for a compressed frame */
    size_t packed_capacity;
    struct bl_kept_frame kept[BL_KEPT_FRAMES]; /* the cache, most recently used first */
    int keeps;                                 /* number of entries in use */
    uint64_t *frame_checksum; /* [frames] XXH3 of the compressed bytes of frames that were read; NULL: not wanted */
};

/* Opens a shard; path may be a URL. BL_EFAIL: a system call or a store failed. BL_EDATA: the file is not a seekable
 * zstd file. On error *file is empty. */
int bl_shard_reader_open(struct bl_shard_reader *file, const char *path, bool compressed, struct bl_error *e);
void bl_shard_reader_close(struct bl_shard_reader *file);

/* Copies size uncompressed bytes from offset. BL_EDATA: they extend beyond the end, or a frame is damaged. */
int bl_shard_reader_read(struct bl_shard_reader *file, int64_t offset, int64_t size, void *out, struct bl_error *e);

/* Makes the layout of this file, which is shard number `shard`. Sizes that vary come from the header of the file. The
 * caller must check the rest of the header with bl_shard_reader_compare_header. BL_EDATA: the header is invalid. Free
 * the layout with bl_layout_free. */
int bl_shard_reader_layout(struct bl_shard_reader *file, const struct bl_format *format, int64_t shard,
                           struct bl_layout *layout, struct bl_error *e);

/* Sets *same to true if the file begins with the header of the layout. */
int bl_shard_reader_compare_header(struct bl_shard_reader *file, const struct bl_layout *layout, bool *same,
                                   struct bl_error *e);

/* Allocates frame_checksum, which later reads fill. The shard must be compressed. */
int bl_shard_reader_keep_checksums(struct bl_shard_reader *file, struct bl_error *e);

/* Computes the XXH3 of the frame that holds the seek table. */
int bl_shard_reader_table_checksum(const struct bl_shard_reader *file, uint64_t *checksum, struct bl_error *e);

#endif
