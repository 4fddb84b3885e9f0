/* The ranks, and the number of blocks: every rank must get the same number of whole batches. */
#ifndef BL_RANKS_H
#define BL_RANKS_H

#include "plan/draft.h"
#include "plan/plan.h"

/* A step has world_size * batch_size blocks: rank r has its block r and every world_size-th after it. The ranks wait
 * for each other after `steps` steps, when each has worked on batch_size * steps blocks. */
struct bl_ranks {
    size_t world_size, batch_size, steps;
};

/* Returns the blocks of a rank between two waits. */
static inline size_t bl_ranks_turn(const struct bl_ranks *r)
{
    return r->batch_size * r->steps;
}

/* Returns the blocks of all ranks between two waits. */
static inline size_t bl_ranks_wait(const struct bl_ranks *r)
{
    return r->world_size * bl_ranks_turn(r);
}

/* How many blocks are wanted, where fewer would do. */
struct bl_wanted {
    size_t multiple, least;
    double spare; /* this part more than the fewest, as far as it makes a multiple */
};

/* Returns the number of blocks that is wanted for so many pieces. */
size_t bl_wanted_blocks(const struct bl_wanted *wanted, size_t fewest, size_t pieces);

/* Splits the blocks with the most sequences, of those from `first` on, until there are so many in all. They have at
 * least as many sequences. BL_EFAIL: out of memory. */
int bl_ranks_split(struct bl_draft *d, size_t first, size_t blocks, struct bl_error *e);

/* Makes the number of blocks a multiple of `multiple`, and at least min_blocks: splits the blocks with the most
 * sequences, so that none is empty. BL_EUSAGE: too few sequences. */
int bl_ranks_spread(struct bl_draft *d, size_t multiple, size_t min_blocks, struct bl_error *e);

/* The same by adding empty blocks at the end. */
int bl_ranks_pad(struct bl_draft *d, size_t multiple, size_t min_blocks, struct bl_error *e);

/* The same by removing the blocks with the fewest steps. BL_EUSAGE: none would be left. */
int bl_ranks_drop(struct bl_draft *d, size_t multiple, const int64_t *length, struct bl_error *e);

#endif
