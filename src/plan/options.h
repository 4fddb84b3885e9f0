/* The planning options as flags and YAML keys say them. */
#ifndef BL_PLAN_OPTIONS_H
#define BL_PLAN_OPTIONS_H

#include "base/option.h"
#include "plan/plan.h"

/* Over struct bl_plan_options. -T has no default: whoever reads it asks bl_options_origin whether it was given. */
extern const struct bl_option bl_plan_option_table[];

/* --strategy and --fill, over the same struct: for commands that make one plan. */
extern const struct bl_option bl_plan_strategy_table[];

/* The words of strategy, fill and oversize, in the order of their enums, ended by NULL. */
extern const char *const bl_strategy_names[];
extern const char *const bl_fill_names[];
extern const char *const bl_oversize_names[];

#endif
