/* Scatter: what counting kept in a spool, brought near the order of the blocks.
 *
 * A plan takes sequences from all over the input. Where the spool fits into the memory that is left for the page cache,
 * reading it at random costs nothing; where it does not, every piece would be an access to the disk. Then the spool is
 * read once, in its own order, and each piece goes behind the last one of its bucket: a file without a name that holds
 * the pieces of some consecutive shards and is small enough to stay in memory while these are packed. Where a piece
 * lies follows from the plan, so that nothing is kept of it: a run that goes on scatters anew, for the shards that are
 * still missing. The blocks' bytes are the same either way. */
#ifndef BL_SCATTER_H
#define BL_SCATTER_H

#include "run/pack_job.h"

struct bl_scatter;

/* Bytes of all that the plan places into the shards of this pack, which is what scattering takes of the disk. */
int64_t bl_scatter_bytes(const struct bl_pack *pack);

/* Scatters into files in dir; memory: bytes that a bucket and what is read meanwhile should stay below. tick is told of
 * rows that are done. A piece that cannot be read is left out: reading it again tells why. */
int bl_scatter_make(struct bl_scatter **scatter, const struct bl_pack *pack, const char *dir, int64_t memory,
                    void (*tick)(void *sink, int64_t rows), void *sink, struct bl_error *e);
/* NULL is fine. */
void bl_scatter_free(struct bl_scatter *scatter);

/* What follows takes NULL for a scatter, too: nothing is there then. */

/* To be called for each block in order before it is read, and in order again when nothing will be read of it any more:
 * its bucket is fetched before, and given up after its last block. */
void bl_scatter_begin_block(struct bl_scatter *scatter, int64_t block);
void bl_scatter_end_block(struct bl_scatter *scatter, int64_t block);

bool bl_scatter_has(const struct bl_scatter *scatter, size_t piece);

/* Reads a piece of that many steps that is there, as bl_kind.read would have. Callable by many threads at once. */
int bl_scatter_read(const struct bl_scatter *scatter, size_t piece, int64_t steps, uint8_t *const *out,
                    struct bl_error *e);

#endif
