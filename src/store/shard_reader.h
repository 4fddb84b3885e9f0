/* A shard opened for reading: its uncompressed bytes at any offset, whether it is plain or compressed.
 *
 * Of a compressed shard only the frames that are needed are decompressed. The last few of which a part was read are
 * kept, so that reading on in small steps does not decompress them again. For one thread at a time. */
#ifndef BL_SHARD_READER_H
#define BL_SHARD_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "store/format.h"
#include "store/seekable.h"

/* Kept frames: at most so many, and so many bytes of the largest frame's size, but always one. */
#define BL_KEPT_FRAMES 8
#define BL_KEPT_BYTES ((size_t)2 << 20)

struct bl_kept_frame {
    size_t number; /* SIZE_MAX: none */
    uint8_t *content;
    size_t capacity;
};

struct bl_shard_reader {
    int fd;
    char *path;
    int64_t bytes; /* size of the file */
    int64_t size;  /* uncompressed size */
    bool compressed;
    struct bl_seekable seekable; /* empty for plain shards, like all that follows */
    struct bl_decompressor *decompressor;
    uint8_t *packed; /* buffer for a compressed frame */
    size_t packed_capacity;
    struct bl_kept_frame kept[BL_KEPT_FRAMES]; /* the one that was used last comes first */
    int keeps;                                 /* of these are used */
    uint64_t *frame_checksum; /* [frames] XXH3 of the compressed bytes of frames that were read; NULL: not kept */
};

/* BL_EFAIL: the system failed. BL_EDATA: not a seekable file. On error the object is empty. */
int bl_shard_reader_open(struct bl_shard_reader *file, const char *path, bool compressed, struct bl_error *e);
void bl_shard_reader_close(struct bl_shard_reader *file);

/* Copies size uncompressed bytes from offset. BL_EDATA: they extend beyond the end, or a frame is damaged. */
int bl_shard_reader_read(struct bl_shard_reader *file, int64_t offset, int64_t size, void *out, struct bl_error *e);

/* Makes the layout of this shard, which has the number shard. Sizes that vary are taken from the file's own header,
 * which must lie within the file; whether the rest of the header is right is for the caller to check. BL_EDATA: the
 * header is invalid. Free with bl_layout_free. */
int bl_shard_reader_layout(struct bl_shard_reader *file, const struct bl_format *format, int64_t shard,
                           struct bl_layout *layout, struct bl_error *e);

/* Whether the file has the layout's header. */
int bl_shard_reader_compare_header(struct bl_shard_reader *file, const struct bl_layout *layout, bool *same,
                                   struct bl_error *e);

/* Starts keeping frame_checksum. For compressed shards. */
int bl_shard_reader_keep_checksums(struct bl_shard_reader *file, struct bl_error *e);

/* The XXH3 of the seek table's frame. */
int bl_shard_reader_table_checksum(const struct bl_shard_reader *file, uint64_t *checksum, struct bl_error *e);

#endif
