/* The order of the blocks: a draft becomes the tables of a plan. */
#ifndef BL_ORDER_H
#define BL_ORDER_H

#include "plan/draft.h"
#include "plan/plan.h"

/* How the blocks go to the ranks: a step is world_size * batch_size blocks, of which rank r takes every world_size-th
 * from the r-th on. */
struct bl_order {
    enum bl_order_kind { BL_ORDER_SHUFFLED, BL_ORDER_AS_DRAFTED, BL_ORDER_LEVEL } kind;
    size_t world_size, batch_size;
    uint64_t seed;
    const int64_t *length; /* of the pieces, for BL_ORDER_LEVEL and the imbalance */
};

/* Takes the draft's tables over: plan->sequence, block_ptr, blocks, pieces, max_sequences and, with more than one rank,
 * imbalance and imbalance_before. Empty blocks stay at the end. BL_ORDER_LEVEL: in every step the sums of squared
 * lengths of the ranks are as equal as blocks of like cost make them; the steps are shuffled. Errors: BL_EFAIL, no
 * memory. */
int bl_order_apply(struct bl_plan *plan, struct bl_draft *d, const struct bl_order *order, struct bl_error *e);

#endif
