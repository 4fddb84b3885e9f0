/* The capacity of the blocks: T, from the options and the lengths. */
#ifndef BL_CAPACITY_H
#define BL_CAPACITY_H

#include "plan/plan.h"

/* Sets T, sequences, steps and longest of the plan. Errors as bl_plan_make. */
int bl_capacity_resolve(struct bl_plan *plan, const int64_t *length, size_t count,
                        const struct bl_plan_options *options, struct bl_error *e);

#endif
