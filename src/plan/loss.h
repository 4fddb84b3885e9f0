/* What ranks must lose by waiting for each other. */
#ifndef BL_LOSS_H
#define BL_LOSS_H

#include "plan/cost.h"
#include "plan/draft.h"
#include "plan/ranks.h"

/* Proves what every plan of the draft's pieces into as many blocks loses at least, as in struct bl_plan_balance. */
int bl_loss_bound(double *bound, const struct bl_draft *d, const struct bl_cost *cost, const struct bl_ranks *ranks,
                  const struct bl_plan_options *options, int64_t T, struct bl_error *e);

#endif
