/* The plan in DIR/.bload that all tasks share. It is made only once. */
#ifndef BL_SAVED_PLAN_H
#define BL_SAVED_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/plan.h"
#include "run/state.h"
#include "store/plan_info.h"

/* Writes the plan for these lengths and its plan_info, once. BL_EFAIL: a different plan exists. */
int bl_saved_plan_publish(const struct bl_state *state, const struct bl_plan *plan, const int64_t *length, size_t count,
                          const struct bl_plan_info *plan_info, struct bl_error *e);

/* Reads the plan, if it exists. BL_EDATA: it is damaged, or for other lengths. T: the required length of its blocks, or
 * 0. Free with bl_plan_free. */
int bl_saved_plan_load(const struct bl_state *state, struct bl_plan *plan, struct bl_plan_info *plan_info, int64_t T,
                       const int64_t *length, size_t count, bool *found, struct bl_error *e);

#endif
