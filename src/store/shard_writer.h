/* Writing a shard: many workers put its blocks, in any order and at once; one of them finishes it.
 *
 * The file grows under a temporary name in DIR/.bload and gets its own name when it is whole and on the disk. Beside it
 * a record is kept (DIR/.bload/shard-00000000.record) with what the finish of the dataset needs to know of it, so that
 * nothing is read twice; the record is written first, so that a shard that bears its name always has one until the
 * dataset is finished.
 *
 * Plain: blocks are written at computed offsets as they come. Compressed: their frames are held until the shard is
 * whole; so are fields that become JPEG files, whose offsets are known then. */
#ifndef BL_SHARD_WRITER_H
#define BL_SHARD_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "store/block.h"
#include "store/codec.h"
#include "store/format.h"
#include "store/shard_record.h"
#include "store/seekable.h"

struct bl_shard_writer;

/* Begins shard number shard; bl_folders_prepare came before. The format outlives it. A disk that is too full for a
 * plain shard is found here, where the file system can tell. */
int bl_shard_writer_open(const struct bl_format *format, const char *dir, int64_t shard, struct bl_shard_writer **out,
                         struct bl_error *e);

/* The finished shard must have this size and this checksum, as it had when the dataset was made: else
 * bl_shard_writer_finish gives it no name, and says BL_EDATA. */
void bl_shard_writer_expect(struct bl_shard_writer *shard, int64_t bytes, uint64_t checksum);

/* Puts the fields of a block that this shard is to have where they can be written best; before they are filled. */
void bl_shard_writer_place_block(const struct bl_shard_writer *shard, struct bl_block *block);

/* Encodes the fields of a block that are to be: differences in place, JPEG files into the shard. Before it is put;
 * where the format has no encoded field, it does nothing. Callable by many threads at once, for different blocks. */
int bl_shard_writer_encode_block(struct bl_shard_writer *shard, struct bl_block *block, struct bl_codec *codec,
                                 struct bl_error *e);

/* Writes or compresses one block of the shard, each exactly once. Callable by many threads at once, for different
 * blocks. The fields must be filled wholly, padding included. compressor is the caller's own; NULL for plain shards.
 * The block is the caller's again afterwards. */
int bl_shard_writer_put_block(struct bl_shard_writer *shard, const struct bl_block *block,
                              struct bl_compressor *compressor, struct bl_error *e);

/* Writes the tables and all the rest, syncs, keeps the record, and gives the file its name. All blocks have been put,
 * and the caller has seen to it that their writes are visible to this thread. user_data: text of the caller's that
 * shall come back from bl_shard_find (failures, say), or NULL. record (not NULL) is filled in; free it. */
int bl_shard_writer_finish(struct bl_shard_writer *shard, struct bl_compressor *compressor, const char *user_data,
                           size_t user_data_size, struct bl_shard_record *record, struct bl_error *e);

/* Frees it; what was not finished is removed. NULL is fine. */
void bl_shard_writer_free(struct bl_shard_writer *shard);

/* How many bytes a shard in the making holds at most, beside the blocks: tables, compressed frames that do not shrink,
 * and JPEG files as large as they can be. */
int bl_shard_writer_memory(const struct bl_format *format, int64_t *bytes, struct bl_error *e);

#endif
