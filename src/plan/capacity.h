/* The capacities of fields with steps of their own: their list, and those that are found where the user asks for
 * `auto`.
 */
#ifndef BL_CAPACITY_H
#define BL_CAPACITY_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/plan.h"

/* Makes *capacity the list of the capacities of these fields, in their order. The user's capacity in *capacity comes
 * first; otherwise the field has own->field[k].capacity, where 0 is to be found, and -1 is missing. BL_EUSAGE: a
 * capacity is missing, or of a field that is not among these. */
int bl_plan_capacity_complete(struct bl_plan_columns *capacity, const struct bl_plan_own *own, struct bl_error *e);

/* Sets each maximum of options->max_column that is to be found (is_field, and max is 0): the least capacity with which
 * a plan has at most 0.1 % more blocks than the bound that a plan without this field proves, or as many as that plan
 * has, if these are more. It is found by bisection with at most 12 plans for a field. Several fields are found in their
 * order, and those that follow do not limit the plans. Does nothing for a store. options->capacity
 * stays as the user gave it. Errors as of bl_plan_make. */
int bl_capacities_find(struct bl_plan_options *options, const int64_t *length, size_t count, struct bl_error *e);

#endif
