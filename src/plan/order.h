/* The order of the blocks: turns a draft into the tables of a plan. */
#ifndef BL_ORDER_H
#define BL_ORDER_H

#include "plan/cost.h"
#include "plan/draft.h"
#include "plan/plan.h"
#include "plan/ranks.h"

struct bl_order {
    enum bl_order_kind { BL_ORDER_SHUFFLED, BL_ORDER_AS_DRAFTED, BL_ORDER_LEVEL } kind;
    struct bl_ranks ranks;
    uint64_t seed;
    const struct bl_cost *cost;
};

/* Takes over the draft's tables: sets plan->sequence, block_ptr, blocks, pieces, max_sequences and, for more than one
 * rank, the members of the balance that depend on the order. Empty blocks stay at the end. BL_ORDER_LEVEL: wherever the
 * ranks wait they cost as much as the blocks allow (bl_balance_deal). BL_EFAIL: out of memory. */
int bl_order_apply(struct bl_plan *plan, struct bl_draft *d, const struct bl_order *order, struct bl_error *e);

/* Returns in *lost what the ranks would lose with the draft's blocks in random order. BL_EFAIL: out of memory. */
int bl_order_lost(double *lost, const struct bl_draft *d, const struct bl_order *order, struct bl_error *e);

#endif
