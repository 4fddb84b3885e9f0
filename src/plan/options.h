/* The planning options as flags and YAML keys say them. */
#ifndef BL_PLAN_OPTIONS_H
#define BL_PLAN_OPTIONS_H

#include "base/option.h"
#include "plan/plan.h"

/* Over struct bl_plan_options. -T has no default: whoever reads it asks bl_options_origin whether it was given. */
extern const struct bl_option bl_plan_option_table[];

/* --strategy and --fill, over the same struct: for commands that make one plan. */
extern const struct bl_option bl_plan_strategy_table[];

/* T and the limits of lengths may be given in seconds: then they are milliseconds below 0, and no plan can be made
 * before they were settled by the steps' rate, num / den a second. BL_EUSAGE for more steps than a block can have. */
bool bl_plan_options_need_rate(const struct bl_plan_options *options);
int bl_plan_options_resolve(struct bl_plan_options *options, int64_t num, int64_t den, struct bl_error *e);

/* Ranges, and options that exclude each other. BL_EUSAGE. */
int bl_plan_options_check(const struct bl_plan_options *options, struct bl_error *e);

/* The words of strategy, fill and oversize, in the order of their enums, ended by NULL. */
extern const char *const bl_strategy_names[];
extern const char *const bl_fill_names[];
extern const char *const bl_oversize_names[];

#endif
