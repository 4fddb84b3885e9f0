/* Swaps: parcels of nearly equal length, of one or two sequences, change places, so that others share a block, and no
 * block becomes fuller than its limit. */
#ifndef BL_SWAP_H
#define BL_SWAP_H

#include "plan/draft.h"

/* Swaps sequences of the blocks from `first` on, and shuffles those of each block. lengths: all sequences that they
 * have, in blocks of at most T units, and of what columns limit; needs may be NULL. is_drawn: they were drawn at
 * random, which leaves less to do. BL_EFAIL: out of memory. */
int bl_swap_sequences(struct bl_draft *d, size_t first, const struct bl_lengths *lengths, int64_t T,
                      const struct bl_needs *needs, bool is_drawn, uint64_t seed, struct bl_error *e);

#endif
