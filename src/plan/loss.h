/* What ranks must lose by waiting for each other. */
#ifndef BL_LOSS_H
#define BL_LOSS_H

#include "plan/draft.h"
#include "plan/needs.h"
#include "plan/order.h"
#include "plan/plan.h"

/* --- loss --------------------------------------------------------------------------------------------------------- */

/* Proves what every plan of the draft's pieces into as many blocks loses at least, as in struct bl_plan_balance. */
int bl_loss_bound(double *bound, const struct bl_draft *d, const struct bl_cost *cost, const struct bl_ranks *ranks,
                  const struct bl_plan_options *options, int64_t T, struct bl_error *e);

/* --- mix ---------------------------------------------------------------------------------------------------------- */

/* How far the waits of a plan are from fair samples of all blocks: a plan that puts like blocks together loses little,
 * but teaches long sequences at one time and short ones at another. */

/* Sets highest, apart, apart_drawn and neighbours. sequence: the pieces that the entries refer to. BL_EFAIL: out of
 * memory. */
int bl_mix_measure(struct bl_plan_balance *balance, const struct bl_costed *block, size_t blocks,
                   const uint32_t *sequence, const struct bl_cost *cost, const struct bl_ranks *ranks, uint64_t seed,
                   struct bl_error *e);

#endif
