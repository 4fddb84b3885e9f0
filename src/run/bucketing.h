/* External bucketing: sorts the contents of a spool into buckets of consecutive shards.
 *
 * A plan takes sequences from all parts of the input. If the spool fits into the memory left for the page cache, random
 * reads cost nothing. Otherwise each piece would cost a disk access. Then the spool is read once, in its own order, and
 * each piece is appended to its bucket: an unnamed file with the pieces of some consecutive shards, small enough to
 * stay in memory while those shards are packed. Example: with 1,000 shards in 100 buckets, the pieces of shards 0 to 9
 * are in bucket 0. A checksum follows each piece. The bytes of the blocks are the same with and without buckets.
 *
 * The buckets have no names, so no stale file can be left over. A resumed run makes them again, for the missing shards
 * only: the position of a piece follows from the plan. */
#ifndef BL_BUCKETING_H
#define BL_BUCKETING_H

#include "run/options.h"

struct bl_bucketing;

/* Returns the bytes of all pieces in the shards of this pack, with their checksums: the disk space of the buckets. */
int64_t bl_bucketing_bytes(const struct bl_pack *pack);

/* Makes the buckets as unnamed files in dir. The caller frees *bucketing, which keeps a pointer to pack. memory: the
 * limit in bytes for the buckets in use and for the buffers. tick gets the number of finished rows. A piece that cannot
 * be read is left out; the packing reads it again and reports why. BL_EFAIL: the disk is full or fails. BL_ECANCEL:
 * cancelled. */
int bl_bucketing_make(struct bl_bucketing **bucketing, const struct bl_pack *pack, const char *dir, int64_t memory,
                      void (*tick)(void *sink, int64_t rows), void *sink, struct bl_error *e);
/* Closes the files, which frees their disk space. NULL is accepted. */
void bl_bucketing_free(struct bl_bucketing *bucketing);

/* bl_bucketing_begin_block, bl_bucketing_end_block and bl_bucketing_has accept NULL: then no piece is in a bucket. */

/* Call begin for each block, in order, before it is read; call end for each block, in order, when it will not be read
 * any more. The first begin of a bucket reads it into the page cache; its last end closes the file. */
void bl_bucketing_begin_block(struct bl_bucketing *bucketing, int64_t block);
void bl_bucketing_end_block(struct bl_bucketing *bucketing, int64_t block);

/* Returns whether a bucket has this piece. piece: its number in the plan. */
bool bl_bucketing_has(const struct bl_bucketing *bucketing, size_t piece);

/* Reads a piece of so many steps from its bucket into out, one buffer for each field. bl_bucketing_has must be true.
 * The result is the same as by bl_kind.read. Many threads may call it at once. BL_EFAIL: the disk fails, or the
 * checksum differs. */
int bl_bucketing_read(const struct bl_bucketing *bucketing, size_t piece, int64_t steps, uint8_t *const *out,
                      struct bl_error *e);

#endif
