/* Writing a shard. Many workers put its blocks concurrently and in any order; one of them finishes the shard.
 *
 * The file is written under a temporary name in DIR/.bload, and is renamed when it is complete and synced. A record in
 * DIR/.bload (store/shard_table.h) holds the checksums that finishing the dataset needs, so that no shard is read
 * again. The record is written before the rename, so that every shard under its final name has a record until the
 * dataset is finished.
 *
 * Blocks of plain shards are written at computed offsets as they arrive. Frames of compressed shards, and JPEG files,
 * are held in memory until the shard is complete, since their offsets are known only then. */
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
    int direct;       /* descriptor of bl_direct_open for direct I/O, or -1 */
    bool is_expected; /* the shard must have the following size and checksum */
    int64_t expected_bytes;
    uint64_t expected_checksum;
    uint8_t *table[BL_TABLES_ALL];    /* the tables as in the file; NULL: the format lacks the table */
    uint64_t *block_checksum;         /* [blocks][fields] */
    uint8_t *is_put;                  /* [blocks] 1: the block was put */
    struct bl_zstd_frame *frame;      /* compressed shards: the frames of all blocks, ordered by field, then by block */
    struct bl_shard_encoded *encoded; /* JPEG fields: [blocks][fields] */
    int64_t
        *offsets[BL_FIELDS_MAX]; /* [blocks][T + 1], relative to the block's first byte until the shard is finished */
};

/* --- shard writer ------------------------------------------------------------------------------------------------- */

struct bl_shard_writer;

/* Begins a shard. Call bl_folders_prepare before. format must outlive the writer. plan: of the dataset, for the sizes
 * of flat fields; NULL if there are none. If the file system supports it, the space of a plain shard is allocated here,
 * so that a full disk is detected early. */
int bl_shard_writer_open(const struct bl_format *format, const struct bl_plan *plan, const char *dir, int64_t shard,
                         struct bl_shard_writer **out, struct bl_error *e);

/* Sets the size and the checksum that the shard had when the dataset was made. If the new shard differs,
 * bl_shard_writer_finish fails with BL_EDATA and does not publish the file. */
void bl_shard_writer_expect(struct bl_shard_writer *shard, int64_t bytes, uint64_t checksum);

/* Moves the fields of consecutive blocks within their memory (bl_block_place), so that direct I/O can write them
 * without a copy. Call it before the fields are filled. Several blocks must come from one call of bl_block_make. */
void bl_shard_writer_place_blocks(const struct bl_shard_writer *shard, struct bl_block *block, int blocks);

/* Encodes the fields of a block before it is put: delta fields in place, JPEG fields into the memory of the shard. Does
 * nothing if no field is encoded. Several threads may call it concurrently for different blocks. */
int bl_shard_writer_encode_block(struct bl_shard_writer *shard, struct bl_block *block, struct bl_codec *codec,
                                 struct bl_error *e);

/* Puts existing JPEG files of field f of a block into the shard, instead of encoding the field. offsets: [T + 1]. The
 * bytes are copied. Several threads may call it concurrently for different blocks. */
int bl_shard_writer_put_files(struct bl_shard_writer *shard, const struct bl_block *block, int f,
                              const int64_t *offsets, const void *bytes, struct bl_error *e);

/* Writes or compresses consecutive blocks, which bl_shard_writer_place_blocks placed together. Each block of the shard
 * must be put exactly once, with all steps filled, padding included. Several threads may call it concurrently for
 * different blocks, each with its own compressor; NULL for plain shards. The blocks can be reused afterwards. */
int bl_shard_writer_put_blocks(struct bl_shard_writer *shard, const struct bl_block *block, int blocks,
                               struct bl_compressor *compressor, struct bl_error *e);

/* Returns the bytes of the JPEG files and of the compressed fields of a block that was put. */
int64_t bl_shard_writer_block_bytes(struct bl_shard_writer *shard, const struct bl_block *block);

/* Writes the header, the tables and all data held in memory, syncs the file, writes the record, and renames the file.
 * All blocks must have been put, and their writes must be visible to this thread. user_data: a text for the record,
 * such as failures, which bl_shard_find returns; or NULL. *record is set; the caller frees it with
 * bl_shard_record_free. */
int bl_shard_writer_finish(struct bl_shard_writer *shard, struct bl_compressor *compressor, const char *user_data,
                           size_t user_data_size, struct bl_shard_record *record, struct bl_error *e);

/* Frees the writer, and removes an unfinished file. NULL is allowed. */
void bl_shard_writer_free(struct bl_shard_writer *shard);

/* Computes the maximum memory of a writer in bytes, without the callers' blocks: tables, frames of incompressible data,
 * and JPEG files of the maximum size. */
int bl_shard_writer_memory(const struct bl_format *format, int64_t *bytes, struct bl_error *e);

#endif
