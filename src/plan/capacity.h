/* Finds capacities of fields with steps of their own, where the user asks for `auto`. */
#ifndef BL_CAPACITY_H
#define BL_CAPACITY_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/plan.h"

/* Sets each maximum of options->max_column that is to be found (is_field, and max is 0): the least capacity with which
 * a plan has at most 0.1 % more blocks than the bound that a plan without this field proves, or as many as that plan
 * has, if these are more. It is found by bisection with at most 12 plans for a field. Several fields are found in their
 * order, and those that follow do not limit the plans. Does nothing for a store. options->capacity
 * stays as the user gave it. Errors as of bl_plan_make. */
int bl_capacities_find(struct bl_plan_options *options, const int64_t *length, size_t count, struct bl_error *e);

#endif
