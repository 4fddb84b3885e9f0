/* Checks of a table's lengths against the options of its plan. */
#ifndef BL_TABLE_LENGTHS_H
#define BL_TABLE_LENGTHS_H

#include "plan/options.h"
#include "store/sequences.h"

/* Converts durations in the options to steps by the table's rate. BL_EUSAGE: its steps have no rate. */
int bl_table_lengths_resolve(const struct bl_sequences *table, struct bl_plan_options *options, struct bl_error *e);

/* BL_EFAIL: a sequence is longer than T and no option handles that; BL_EUSAGE: one has more of a column than a block
 * may have. The message has its id. */
int bl_table_lengths_check(const struct bl_sequences *table, const struct bl_plan_options *options, struct bl_error *e);

#endif
