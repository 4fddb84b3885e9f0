/* The planning options, as flags and YAML keys. */
#ifndef BL_PLAN_OPTIONS_H
#define BL_PLAN_OPTIONS_H

#include <stdbool.h>

#include "base/option.h"
#include "plan/plan.h"
#include "plan/strategy.h"

/* Over struct bl_plan_options. -T has no default: callers use bl_options_origin to find out whether it was given. */
extern const struct bl_option bl_plan_option_table[];

#define BL_PLAN_T_LIST_MAX 64

/* Several T, side by side. */
struct bl_plan_T_list {
    int64_t T[BL_PLAN_T_LIST_MAX]; /* each as in struct bl_plan_options */
    int count;
};

/* For a command that takes them: the type of its -T, and bl_plan_option_table without -T. */
extern const struct bl_option_type bl_option_T_list; /* struct bl_plan_T_list */
extern const struct bl_option *const bl_plan_option_table_rest;

/* --strategy and --fill, over the same struct, for commands that make one plan. */
extern const struct bl_option bl_plan_strategy_table[];

/* T, the overlap and the limits on lengths may be given in seconds. They are then negative milliseconds, and must be
 * resolved with the rate of the steps, num / den per second, before a plan is made. BL_EUSAGE: more steps than a block
 * can have. */
bool bl_plan_options_need_rate(const struct bl_plan_options *options);
int bl_plan_options_resolve(struct bl_plan_options *options, int64_t num, int64_t den, struct bl_error *e);

/* Parses the text of --max-column, as it is formatted. "": no columns. BL_EFAIL: invalid. */
int bl_plan_columns_parse(struct bl_plan_columns *columns, const char *text, struct bl_error *e);

/* Checks that options which have no meaning in a store are not given for one, and T is not BL_T_AUTO for anything else:
 * a part of bl_plan_options_check that can be done before T is set. BL_EUSAGE. */
int bl_plan_options_check_store(const struct bl_plan_options *options, struct bl_error *e);

/* Checks ranges and options that exclude each other. BL_EUSAGE. */
int bl_plan_options_check(const struct bl_plan_options *options, struct bl_error *e);

/* The names of strategy, fill and oversize, in the order of their enums, ended by NULL. */
extern const char *const bl_strategy_names[];
extern const char *const bl_fill_names[];
extern const char *const bl_oversize_names[];

/* --- capacity ----------------------------------------------------------------------------------------------------- */

/* The capacity of the blocks: T, from the options and the lengths. */

/* Sets T, sequences, steps and longest of the plan. Errors as bl_plan_make. */
int bl_capacity_resolve(struct bl_plan *plan, const int64_t *length, size_t count,
                        const struct bl_plan_options *options, struct bl_error *e);

#endif
