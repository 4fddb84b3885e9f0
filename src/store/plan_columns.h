/* The columns of a table that a plan needs: groups, costs, and those with a maximum. */
#ifndef BL_PLAN_COLUMNS_H
#define BL_PLAN_COLUMNS_H

#include "plan/plan.h"
#include "store/sequences.h"

/* Asks for the columns that the options name. The names belong to the options. */
struct bl_sequences_columns bl_plan_columns_wanted(const char *group_by, const struct bl_plan_options *options);

/* Gives the options the values of these columns: group as in struct bl_sequences, and number, in the order of what was
 * asked for. */
void bl_plan_columns_set(struct bl_plan_options *options, const uint32_t *group, double *const *number);

#endif
