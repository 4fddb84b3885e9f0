/* The balance of the ranks: what a block costs, and which blocks the ranks work on in the same step. */
#ifndef BL_BALANCE_H
#define BL_BALANCE_H

#include "plan/draft.h"
#include "plan/ranks.h"

struct bl_balance_input {
    struct bl_ranks ranks;
    const int64_t *length;    /* of the pieces */
    const uint32_t *sequence; /* pieces of the draft */
};

/* Returns the costs of the most expensive rank of each step, divided by those of the mean rank: 1 is level. entry: as
 * of bl_draft_entry. */
double bl_balance_measure(const struct bl_balance_input *b, const int64_t *entry, size_t blocks);

/* Groups blocks of similar cost into steps, deals each step to the ranks, and shuffles the steps. Empty blocks, those
 * from `full` on, stay last. BL_EFAIL: out of memory. */
int bl_balance_level(const struct bl_balance_input *b, int64_t *entry, size_t blocks, size_t full, uint64_t seed,
                     struct bl_error *e);

#endif
