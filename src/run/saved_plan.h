/* A plan that tasks have in common, in DIR/.bload: made once, since all of them need the same. */
#ifndef BL_SAVED_PLAN_H
#define BL_SAVED_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/plan.h"
#include "run/state.h"
#include "store/plan_info.h"

/* Writes the plan that was made from these lengths, with its words, once: BL_EFAIL when another one is there. */
int bl_saved_plan_publish(const struct bl_state *state, const struct bl_plan *plan, const int64_t *length, size_t count,
                          const struct bl_plan_info *plan_info, struct bl_error *e);

/* Reads it, if there is one. BL_EDATA: it is damaged, or of other lengths. T is what its blocks must have, or 0. Free
 * with bl_plan_free. */
int bl_saved_plan_load(const struct bl_state *state, struct bl_plan *plan, struct bl_plan_info *plan_info, int64_t T,
                       const int64_t *length, size_t count, bool *found, struct bl_error *e);

#endif
