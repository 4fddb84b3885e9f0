/* How far the waits of a plan are from fair samples of all blocks: a plan that puts like blocks together loses little,
 * but teaches long sequences at one time and short ones at another. */
#ifndef BL_MIX_H
#define BL_MIX_H

#include "plan/balance.h"
#include "plan/cost.h"
#include "plan/plan.h"

/* Sets highest, apart, apart_drawn and neighbours. sequence: the pieces that the entries refer to. BL_EFAIL: out of
 * memory. */
int bl_mix_measure(struct bl_plan_balance *balance, const struct bl_costed *block, size_t blocks,
                   const uint32_t *sequence, const struct bl_cost *cost, const struct bl_ranks *ranks, uint64_t seed,
                   struct bl_error *e);

#endif
