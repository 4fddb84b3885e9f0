#include "packing/compare_row.h"

#include <time.h>

#include "plan/fill.h"
#include "plan/planner.h"
#include "plan/strategy.h"

void bl_compare_row_set(int i, struct bl_plan_options *options)
{
    options->strategy = i < BL_STRATEGY_BLOCK ? (enum bl_strategy)i : BL_STRATEGY_BLOCK;
    options->fill = i < BL_STRATEGY_BLOCK ? BL_FILL_OPTIMAL : (enum bl_fill)(BL_COMPARE_ROWS - 1 - i);
}

static double compare_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Drops options that a row does not support: a random fill keeps no order, and a single clip cannot be spread. */
static struct bl_plan_options compare_supported(const struct bl_plan_options *given)
{
    struct bl_plan_options options = *given;
    bool packed = bl_strategies[options.strategy]->is_packed;
    if (!packed && options.remainder == BL_REMAINDER_SPREAD)
        options.remainder = BL_REMAINDER_PAD;
    if (packed && bl_fills[options.fill]->is_random)
        options.order = BL_KEEP_NOTHING;
    return options;
}

int bl_compare_row_make(struct bl_plan_info *row, const int64_t *length, size_t count,
                        const struct bl_plan_options *given, struct bl_plan *kept, struct bl_error *e)
{
    struct bl_plan_options options = compare_supported(given);
    struct bl_planner planner;
    struct bl_plan plan = {0};
    double begun = compare_seconds();
    int code = bl_planner_make(&planner, length, count, &options, e);
    if (!code)
        code = bl_planner_draw(&planner, options.seed, 0, false, &plan, e);
    if (code) {
        bl_error_prefix(e, "%s", bl_strategy_name(options.strategy));
        goto out;
    }
    bl_plan_info_make(row, &plan, &options);
    row->seconds = compare_seconds() - begun;
    code = bl_planner_measure_company(&planner, &plan, &row->company, e);
    if (!code && kept) {
        *kept = plan;
        plan = (struct bl_plan){0};
    }
out:
    bl_plan_free(&plan);
    bl_planner_free(&planner);
    return code;
}
