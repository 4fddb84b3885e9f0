/* The contents of a shard in the making, and how they get to its file once all its blocks are there. */
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
    bool is_expected; /* to be so: */
    int64_t expected_bytes;
    uint64_t expected_checksum;
    uint8_t *table[BL_TABLES_ALL];    /* as in the file; NULL for those that the format has not */
    uint64_t *block_checksum;         /* [blocks][fields] */
    uint8_t *is_put;                  /* [blocks] */
    struct bl_frame *frame;           /* compressed: of each block of each field, by field */
    struct bl_shard_encoded *encoded; /* of JPEG: [blocks][fields] */
    int64_t *offsets[BL_FIELDS_MAX];  /* [blocks][T + 1], from the block's first byte until the shard is finished */
};

/* Frames of the blocks of all fields before field f; of all of them for f = fields. */
size_t bl_shard_contents_frames_before(const struct bl_format *format, int64_t blocks, int f);

/* The frames of a block of field f. */
struct bl_frame *bl_shard_contents_frames(struct bl_shard_writer *shard, int f, int64_t row);

/* Writes everything that was not written with the blocks, and sets the record's size and checksum. */
int bl_shard_contents_write_plain(struct bl_shard_writer *shard, struct bl_shard_record *record, struct bl_error *e);
int bl_shard_contents_write_compressed(struct bl_shard_writer *shard, struct bl_compressor *compressor,
                                       struct bl_shard_record *record, struct bl_error *e);

#endif
