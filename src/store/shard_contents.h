/* The contents of a shard that is being written, and writing them once all blocks are complete. */
#ifndef BL_SHARD_CONTENTS_H
#define BL_SHARD_CONTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "store/format.h"
#include "store/layout.h"
#include "store/seekable.h"
#include "store/shard_record.h"

/* Encoded steps of one block of a field. */
struct bl_shard_encoded {
    uint8_t *data;
    size_t size;
};

struct bl_shard_writer {
    const struct bl_format *format;
    int64_t number;
    struct bl_layout layout;
    char *dir, *temporary, *final;
    int fd;
    int direct;       /* bl_direct_open, or -1 */
    bool is_expected; /* if set, the finished shard must have: */
    int64_t expected_bytes;
    uint64_t expected_checksum;
    uint8_t *table[BL_TABLES_ALL];    /* as in the file; NULL: the format lacks it */
    uint64_t *block_checksum;         /* [blocks][fields] */
    uint8_t *is_put;                  /* [blocks] */
    struct bl_frame *frame;           /* compressed shards: of each block of each field, ordered by field */
    struct bl_shard_encoded *encoded; /* JPEG fields: [blocks][fields] */
    int64_t
        *offsets[BL_FIELDS_MAX]; /* [blocks][T + 1], relative to the block's first byte until the shard is finished */
};

/* The number of frames of all fields before field f; of all fields for f = fields. */
size_t bl_shard_contents_frames_before(const struct bl_format *format, int64_t blocks, int f);

/* The frames of a block of field f. */
struct bl_frame *bl_shard_contents_frames(struct bl_shard_writer *shard, int f, int64_t row);

/* Writes everything that was not written block by block, and sets size and checksum of the record. */
int bl_shard_contents_write_plain(struct bl_shard_writer *shard, struct bl_shard_record *record, struct bl_error *e);
int bl_shard_contents_write_compressed(struct bl_shard_writer *shard, struct bl_compressor *compressor,
                                       struct bl_shard_record *record, struct bl_error *e);

#endif
