/* Declares the planning options as tables for the option parser, and the checks of their values.
 *
 * A command parses its flags with these tables, resolves seconds with the rate of the steps, sets the arrays that the
 * options point to, and then makes a plan, which checks all values once more. */
#ifndef BL_PLAN_OPTIONS_H
#define BL_PLAN_OPTIONS_H

#include <stdbool.h>

#include "base/option.h"
#include "plan/plan.h"
#include "plan/strategy.h"

/* The entries of struct bl_plan_options. -T has no default: callers use bl_options_origin to find out whether it was
 * given. */
extern const struct bl_option bl_plan_option_table[];

/* This many T are far more than a table of one screen shows. */
#define BL_PLAN_T_LIST_MAX 64

/* Several T, for commands that compare plans: -T 512,1024,longest. */
struct bl_plan_T_list {
    int64_t T[BL_PLAN_T_LIST_MAX]; /* each as in struct bl_plan_options */
    int count;
};

/* For a command that takes them: the type of its -T, and bl_plan_option_table without -T. */
extern const struct bl_option_type bl_option_T_list; /* struct bl_plan_T_list */
extern const struct bl_option *const bl_plan_option_table_rest;

/* --strategy and --fill, over the same struct, for commands that make one plan. */
extern const struct bl_option bl_plan_strategy_table[];

/* T, the overlap and the limits on lengths may be given in seconds. They are then negative milliseconds: 30s is -30000.
 * bl_plan_options_need_rate returns whether any of them is; bl_plan_options_resolve converts them to steps with the
 * rate, num / den steps per second, before a plan is made. BL_EUSAGE: less than one step, or more than a block can
 * have. */
bool bl_plan_options_need_rate(const struct bl_plan_options *options);
int bl_plan_options_resolve(struct bl_plan_options *options, int64_t num, int64_t den, struct bl_error *e);

/* Parses the text of --max-column in the form that a configuration has, such as "images=8,tokens=2048"; "" has no
 * columns. The values of the columns are not set. BL_EFAIL: the text is invalid. */
int bl_plan_columns_parse(struct bl_plan_columns *columns, const char *text, struct bl_error *e);

/* Checks that no option is given that has no meaning in a store, and that T is BL_T_AUTO for a store alone. It is the
 * part of bl_plan_options_check that needs no T, so commands call it before they set T. BL_EUSAGE. */
int bl_plan_options_check_store(const struct bl_plan_options *options, struct bl_error *e);

/* Checks the ranges of all options, and the options that exclude each other. T must be set. BL_EUSAGE. */
int bl_plan_options_check(const struct bl_plan_options *options, struct bl_error *e);

/* The names of strategy, fill and oversize, in the order of their enums, ended by NULL. */
extern const char *const bl_strategy_names[];
extern const char *const bl_fill_names[];
extern const char *const bl_oversize_names[];

/* --- capacity ----------------------------------------------------------------------------------------------------- */

/* The capacity of a block is T: from the options, or, where these leave it open, from the lengths. */

/* Sets T, sequences, steps and longest of the plan; other members stay unchanged. length: [count], in steps. BL_EFAIL:
 * too many sequences or steps, a negative length, no steps at all, or T above BL_T_MAX. */
int bl_capacity_resolve(struct bl_plan *plan, const int64_t *length, size_t count,
                        const struct bl_plan_options *options, struct bl_error *e);

#endif
