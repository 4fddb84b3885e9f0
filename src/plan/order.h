/* The order of the blocks: turns a draft into the tables of a plan. */
#ifndef BL_ORDER_H
#define BL_ORDER_H

#include "plan/draft.h"
#include "plan/plan.h"
#include "plan/ranks.h"

struct bl_order {
    enum bl_order_kind { BL_ORDER_SHUFFLED, BL_ORDER_AS_DRAFTED, BL_ORDER_LEVEL } kind;
    struct bl_ranks ranks;
    uint64_t seed;
    const int64_t *length; /* of the pieces, for BL_ORDER_LEVEL and the imbalance */
};

/* Takes over the draft's tables: sets plan->sequence, block_ptr, blocks, pieces, max_sequences and, for more than one
 * rank, imbalance and imbalance_before. Empty blocks stay at the end. BL_ORDER_LEVEL: in every step the ranks' sums of
 * squared lengths are as equal as blocks of similar cost allow; the steps are shuffled. BL_EFAIL: out of memory. */
int bl_order_apply(struct bl_plan *plan, struct bl_draft *d, const struct bl_order *order, struct bl_error *e);

#endif
