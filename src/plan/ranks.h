/* As many blocks as the ranks need: so that every rank has the same number of whole batches. */
#ifndef BL_RANKS_H
#define BL_RANKS_H

#include "plan/draft.h"
#include "plan/plan.h"

/* Makes the blocks of a draft a multiple of `multiple`, and at least min_blocks, by splitting the blocks with the most
 * sequences: none is empty. BL_EUSAGE where there are too few sequences for that. */
int bl_ranks_spread(struct bl_draft *d, size_t multiple, size_t min_blocks, struct bl_error *e);

/* By empty blocks at the end. */
int bl_ranks_pad(struct bl_draft *d, size_t multiple, size_t min_blocks, struct bl_error *e);

/* Removes the blocks with the fewest steps. BL_EUSAGE where none would be left. */
int bl_ranks_drop(struct bl_draft *d, size_t multiple, const int64_t *length, struct bl_error *e);

#endif
