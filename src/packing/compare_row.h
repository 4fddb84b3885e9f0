/* A row of `bload compare`: the same lengths planned by one strategy and fill. */
#ifndef BL_COMPARE_ROW_H
#define BL_COMPARE_ROW_H

#include "plan/plan.h"
#include "store/plan_info.h"

#define BL_COMPARE_ROWS ((int)BL_STRATEGY_BLOCK + BL_FILL_COUNT)

/* Sets the strategy and fill of row i: first the strategies that do not pack, then the fills of block, the default
 * last. */
void bl_compare_row_set(int i, struct bl_plan_options *options);

/* Plans by the strategy and fill of the options, without those of the other options that they do not support, and
 * measures company. plan: the plan, if it is wanted, to be freed with bl_plan_free; or NULL. Errors as of
 * bl_plan_make. */
int bl_compare_row_make(struct bl_plan_info *row, const int64_t *length, size_t count,
                        const struct bl_plan_options *options, struct bl_plan *plan, struct bl_error *e);

#endif
