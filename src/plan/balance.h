/* The balance of the ranks: which blocks they work on at the same time. */
#ifndef BL_BALANCE_H
#define BL_BALANCE_H

#include "plan/ranks.h"

/* A block in a table that is ordered. entry: as of bl_draft_entry. */
struct bl_costed {
    int64_t cost, entry;
};

/* Returns what the ranks lose by waiting, as in struct bl_plan_balance. blocks: a multiple of bl_ranks_wait. */
double bl_balance_lost(const struct bl_costed *block, size_t blocks, const struct bl_ranks *ranks);

/* Deals blocks, which are in random order, to waits and ranks. The first `full` of them are not empty; the others stay
 * last. Waits stay as random as they can be while little is lost; dear ones are spread over the epoch. BL_EFAIL: out of
 * memory. */
int bl_balance_deal(struct bl_costed *block, size_t full, const struct bl_ranks *ranks, uint64_t seed,
                    struct bl_error *e);

#endif
