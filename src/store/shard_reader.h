/* A shard opened for reading: its uncompressed bytes at any offset, whether it is plain or compressed.
 *
 * Of a compressed one only the frames that are needed are decompressed; the last one is kept, so that reading on in
 * small steps costs nothing more. One thread at a time. */
#ifndef BL_SHARD_READER_H
#define BL_SHARD_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "store/format.h"
#include "store/layout.h"
#include "store/seekable.h"

struct bl_shard_reader {
    int fd;
    char *path;
    int64_t bytes; /* of the file */
    int64_t size;  /* uncompressed */
    bool compressed;
    struct bl_seekable seekable; /* empty for a plain one, as all that follows */
    struct bl_decompressor *decompressor;
    uint8_t *packed, *content; /* memory for a frame, compressed and not */
    size_t packed_capacity, content_capacity;
    size_t loaded;            /* frame in content; SIZE_MAX: none */
    uint64_t *frame_checksum; /* [frames] XXH3 of the compressed bytes of those that were read, or NULL: not wanted */
};

/* BL_EFAIL: the system; BL_EDATA: it is no seekable file. On error the object is empty. */
int bl_shard_reader_open(struct bl_shard_reader *file, const char *path, bool compressed, struct bl_error *e);
void bl_shard_reader_close(struct bl_shard_reader *file);

/* Copies size uncompressed bytes from offset. BL_EDATA: they go beyond the end, or a frame is damaged. */
int bl_shard_reader_read(struct bl_shard_reader *file, int64_t offset, int64_t size, void *out, struct bl_error *e);

/* Makes the layout of the format's shard number `shard`, which this is. Sizes that vary come from the file's own
 * header: they are what the file has room for, and whether the rest of the header is right is for the caller to see.
 * BL_EDATA: it has none such. Free it. */
int bl_shard_reader_layout(struct bl_shard_reader *file, const struct bl_format *format, int64_t shard,
                           struct bl_layout *layout, struct bl_error *e);

/* Whether the file's header is the layout's. */
int bl_shard_reader_compare_header(struct bl_shard_reader *file, const struct bl_layout *layout, bool *same,
                                   struct bl_error *e);

/* From now on frame_checksum is kept. For compressed shards. */
int bl_shard_reader_keep_checksums(struct bl_shard_reader *file, struct bl_error *e);

/* The XXH3 of the seek table's frame. */
int bl_shard_reader_table_checksum(const struct bl_shard_reader *file, uint64_t *checksum, struct bl_error *e);

#endif
