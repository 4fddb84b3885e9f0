/* Plans of packing: the options that a manifest recorded, checks of a table before it is planned, and plans to compare
 * strategies. */
#ifndef BL_PACKING_PLAN_H
#define BL_PACKING_PLAN_H

#include "plan/options.h"
#include "plan/plan.h"
#include "store/manifest.h"
#include "store/plan_info.h"
#include "store/sequences.h"

/* --- recorded options --------------------------------------------------------------------------------------------- */

/* The options of a plan, as a manifest recorded them. */

/* Sets all options of the plan. Their texts are the manifest's, which must outlive them; durations are still to be
 * resolved. BL_EUSAGE: a value is invalid. */
int bl_recorded_plan_options(const struct bl_manifest *manifest, struct bl_plan_options *options, struct bl_error *e);

/* --- checks of lengths -------------------------------------------------------------------------------------------- */

/* Checks of a table's lengths against the options of its plan. */

/* Converts durations in the options to steps by the table's rate. BL_EUSAGE: its steps have no rate. */
int bl_table_lengths_resolve(const struct bl_sequences *table, struct bl_plan_options *options, struct bl_error *e);

/* BL_EFAIL: a sequence is longer than T and no option handles that; BL_EUSAGE: one has more of a column than a block
 * may have. The message has its id. */
int bl_table_lengths_check(const struct bl_sequences *table, const struct bl_plan_options *options, struct bl_error *e);

/* --- comparison of strategies ------------------------------------------------------------------------------------- */

/* A row of `bload compare`: the same lengths planned by one strategy and fill. */

#define BL_COMPARE_ROWS ((int)BL_STRATEGY_BLOCK + BL_FILL_COUNT)

/* Sets the strategy and fill of row i: first the strategies that do not pack, then the fills of block, the default
 * last. */
void bl_compare_row_set(int i, struct bl_plan_options *options);

/* Plans by the strategy and fill of the options, without those of the other options that they do not support, and
 * measures how often pairs of sequences share a block again. plan: the plan, if it is wanted, to be freed with
 * bl_plan_free; or NULL. Errors as of bl_plan_make. */
int bl_compare_row_make(struct bl_plan_info *row, const int64_t *length, size_t count,
                        const struct bl_plan_options *options, struct bl_plan *plan, struct bl_error *e);

#endif
