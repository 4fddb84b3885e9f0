/* Lengths of a table against the options of its plan. */
#ifndef BL_LENGTHS_H
#define BL_LENGTHS_H

#include "plan/options.h"
#include "store/sequences.h"

/* Turns durations in the options into steps by the table's rate. BL_EUSAGE where its steps have none. */
int bl_lengths_resolve(const struct bl_sequences *table, struct bl_plan_options *options, struct bl_error *e);

/* BL_EFAIL where a sequence is longer than T and nothing is said about those: names it by its id. */
int bl_lengths_check(const struct bl_sequences *table, const struct bl_plan_options *options, struct bl_error *e);

#endif
