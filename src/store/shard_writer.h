/* Writing a shard: many workers put its blocks, in any order and at once; one of them finishes it.
 *
 * The file is written under a temporary name in DIR/.bload and is renamed when it is complete and synced. A record is
 * kept beside it (store/shard_table.h) with what finishing the dataset needs, so that nothing is read twice. The
 * record is written first, so that a shard under its own name has one until the dataset is finished.
 *
 * Plain shards: blocks are written at computed offsets as they come. Compressed shards: their frames are held in memory
 * until the shard is complete; so are fields that become JPEG files, whose offsets are known only then. */
#ifndef BL_SHARD_WRITER_H
#define BL_SHARD_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "store/block.h"
#include "store/format.h"
#include "store/shard_reader.h"
#include "store/shard_table.h"

/* --- contents ----------------------------------------------------------------------------------------------------- */

/* The contents of a shard that is being written. */

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

/* --- shard writer ------------------------------------------------------------------------------------------------- */

struct bl_shard_writer;

/* Begins a shard; bl_folders_prepare has been called. format must outlive it. Space for a plain shard is allocated
 * here, where the file system supports that. */
int bl_shard_writer_open(const struct bl_format *format, const char *dir, int64_t shard, struct bl_shard_writer **out,
                         struct bl_error *e);

/* Makes bl_shard_writer_finish fail with BL_EDATA, and not publish the file, unless it has this size and checksum:
 * those that the shard had when the dataset was made. */
void bl_shard_writer_expect(struct bl_shard_writer *shard, int64_t bytes, uint64_t checksum);

/* Places the fields of consecutive blocks, made as a run if there are several, before they are filled, where they can
 * be written without copying. */
void bl_shard_writer_place_blocks(const struct bl_shard_writer *shard, struct bl_block *block, int blocks);

/* Encodes a block before it is put: differences in place, JPEG files into the shard. Does nothing without encoded
 * fields. Callable by many threads at once, for different blocks. */
int bl_shard_writer_encode_block(struct bl_shard_writer *shard, struct bl_block *block, struct bl_codec *codec,
                                 struct bl_error *e);

/* Puts the JPEG files of field f of a block into the shard, instead of encoding it. offsets: [T + 1]; bytes are copied.
 * Callable as the one above. */
int bl_shard_writer_put_files(struct bl_shard_writer *shard, const struct bl_block *block, int f,
                              const int64_t *offsets, const void *bytes, struct bl_error *e);

/* Writes or compresses consecutive blocks of the shard, placed together, each exactly once. Callable by many threads at
 * once, for different blocks. All steps must be filled, padding included. compressor: the caller's own; NULL for plain
 * shards. The blocks can be reused afterwards. */
int bl_shard_writer_put_blocks(struct bl_shard_writer *shard, const struct bl_block *block, int blocks,
                               struct bl_compressor *compressor, struct bl_error *e);

/* Bytes of the JPEG files and the compressed fields of a block that was put. */
int64_t bl_shard_writer_block_bytes(struct bl_shard_writer *shard, const struct bl_block *block);

/* Writes the tables and the rest, syncs, writes the record, and publishes the file. All blocks have been put, and their
 * writes are visible to this thread. user_data: text for the record (failures, say), which bl_shard_find returns; or
 * NULL. *record (not NULL) is filled; free it. */
int bl_shard_writer_finish(struct bl_shard_writer *shard, struct bl_compressor *compressor, const char *user_data,
                           size_t user_data_size, struct bl_shard_record *record, struct bl_error *e);

/* Frees it, and removes an unfinished file. NULL is allowed. */
void bl_shard_writer_free(struct bl_shard_writer *shard);

/* Bytes that a shard in the making holds at most, beside its blocks: tables, incompressible frames, JPEG files of the
 * maximum size. */
int bl_shard_writer_memory(const struct bl_format *format, int64_t *bytes, struct bl_error *e);

#endif
