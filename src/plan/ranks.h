/* The ranks, and the number of blocks: every rank must get the same number of whole batches. */
#ifndef BL_RANKS_H
#define BL_RANKS_H

#include "plan/draft.h"
#include "plan/plan.h"

/* A step has world_size * batch_size blocks: rank r has its block r and every world_size-th after it. */
struct bl_ranks {
    size_t world_size, batch_size;
};

/* Makes the number of blocks a multiple of `multiple`, and at least min_blocks: splits the blocks with the most
 * sequences, so that none is empty. BL_EUSAGE: too few sequences. */
int bl_ranks_spread(struct bl_draft *d, size_t multiple, size_t min_blocks, struct bl_error *e);

/* The same by adding empty blocks at the end. */
int bl_ranks_pad(struct bl_draft *d, size_t multiple, size_t min_blocks, struct bl_error *e);

/* The same by removing the blocks with the fewest steps. BL_EUSAGE: none would be left. */
int bl_ranks_drop(struct bl_draft *d, size_t multiple, const int64_t *length, struct bl_error *e);

#endif
