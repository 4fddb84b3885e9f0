/* Scatter: sorts the contents of a spool roughly into the order of the blocks.
 *
 * A plan takes sequences from all parts of the input. If the spool fits into the memory left for the page cache, random
 * reads cost nothing. Otherwise each piece would cost a disk access. Then the spool is read once, in its own order, and
 * each piece is appended to its bucket: an unnamed file with the pieces of some consecutive shards, small enough to
 * stay in memory while those are packed. A checksum follows each piece. The plan determines where a piece lies, so
 * nothing is saved: a resumed run scatters again, for the missing shards. The bytes of the blocks are the same either
 * way.
 *
 * The scattered files have no names, and a resumed run makes them again: positions follow from the plan, and nothing
 * can be stale or left over. */
#ifndef BL_SCATTER_H
#define BL_SCATTER_H

#include "run/options.h"

struct bl_scatter;

/* Bytes of all pieces that the plan puts into the shards of this pack: the disk space that scattering takes. */
int64_t bl_scatter_bytes(const struct bl_pack *pack);

/* Scatters into files in dir. memory: the limit in bytes for a bucket and the data read meanwhile. tick gets the number
 * of finished rows. A piece that cannot be read is left out: reading it again reports why. */
int bl_scatter_make(struct bl_scatter **scatter, const struct bl_pack *pack, const char *dir, int64_t memory,
                    void (*tick)(void *sink, int64_t rows), void *sink, struct bl_error *e);
/* NULL is accepted. */
void bl_scatter_free(struct bl_scatter *scatter);

/* The functions below accept NULL: then nothing is scattered. */

/* Call for each block in order before it is read, and again in order when it will not be read any more. The first call
 * for a bucket reads it into the cache; the last one releases it. */
void bl_scatter_begin_block(struct bl_scatter *scatter, int64_t block);
void bl_scatter_end_block(struct bl_scatter *scatter, int64_t block);

bool bl_scatter_has(const struct bl_scatter *scatter, size_t piece);

/* Reads a scattered piece of that many steps with the result of bl_kind.read. Many threads may call it at once. */
int bl_scatter_read(const struct bl_scatter *scatter, size_t piece, int64_t steps, uint8_t *const *out,
                    struct bl_error *e);

#endif
