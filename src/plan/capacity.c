/* Finds the least capacity that costs no blocks, by planning with several.
 *
 * A plan that knows nothing of the field gives the upper end: its fullest block. The lower end is what a block must
 * have at least: the mean, or the largest sequence. Example: 1000 blocks hold 400,000 patches, a plan by T alone has up
 * to 900 in a block, and no sequence has more than 300. The capacity lies between 400 and 900. */
#include "plan/capacity.h"

#include <stdio.h>
#include <string.h>

#include "plan/cost.h"
#include "plan/planner.h"
#include "plan/strategy.h"

enum { PLANS = 12 }; /* for each field, the first one included */

#define TOLERATED 0.001 /* part of the bound by which a capacity may add blocks */

int bl_plan_capacity_complete(struct bl_plan_columns *capacity, const struct bl_plan_own *own, struct bl_error *e)
{
    struct bl_plan_columns all = {.count = 0};
    for (int i = 0; i < capacity->count; i++) {
        const struct bl_plan_column *given = &capacity->each[i];
        bool found = false;
        for (int k = 0; k < own->count; k++)
            found |= strlen(own->field[k].name) == (size_t)bl_plan_column_field_size(given) &&
                     strncmp(own->field[k].name, given->name, strlen(own->field[k].name)) == 0;
        for (int k = 0; k < i; k++) {
            if (strcmp(capacity->each[k].name, given->name) == 0)
                return bl_error_set(e, BL_EUSAGE, "--capacity: the field \"%.*s\" is given twice",
                                    bl_plan_column_field_size(given), given->name);
        }
        if (!found)
            return bl_error_set(e, BL_EUSAGE, "--capacity: no field \"%.*s\" has steps of its own",
                                bl_plan_column_field_size(given), given->name);
    }
    for (int k = 0; k < own->count; k++) {
        const struct bl_plan_own_field *field = &own->field[k];
        struct bl_plan_column *column = &all.each[all.count++];
        *column = (struct bl_plan_column){.max = (double)field->capacity, .is_field = true};
        snprintf(column->name, sizeof column->name, "%s" BL_PLAN_OWN_SUFFIX, field->name);
        for (int i = 0; i < capacity->count; i++)
            column->max = strcmp(capacity->each[i].name, column->name) == 0 ? capacity->each[i].max : column->max;
        if (column->max < 0)
            return bl_error_set(e, BL_EUSAGE,
                                "the field \"%s\" has steps of its own: give its capacity, the most that a block has "
                                "(capacity: N, or auto)",
                                field->name);
    }
    *capacity = all;
    return BL_OK;
}

/* What a plan needs: its blocks, its proven bound, the sum and the highest sum of a column over its blocks, and the
 * largest value of a sequence. */
struct planned {
    int64_t blocks, bound;
    double sum, highest, largest;
};

/* Plans, and measures the blocks by a column. Sequences with more than the options allow are dropped by the planner. */
static int planned_make(struct planned *planned, const struct bl_plan_options *options, const double *value,
                        const int64_t *length, size_t count, struct bl_error *e)
{
    struct bl_plan plan = {0};
    BL_TRY(bl_plan_make(&plan, length, count, options, e));
    *planned = (struct planned){.blocks = (int64_t)plan.blocks, .bound = plan.lower_bound};
    for (size_t b = 0; b < plan.blocks; b++) {
        double sum = 0;
        for (int64_t p = plan.block_ptr[b]; p < plan.block_ptr[b + 1]; p++) {
            double steps = value[plan.sequence[p]];
            sum += steps;
            planned->largest = steps > planned->largest ? steps : planned->largest;
        }
        planned->sum += sum;
        planned->highest = sum > planned->highest ? sum : planned->highest;
    }
    bl_plan_free(&plan);
    return BL_OK;
}

/* Checks that each sequence has a number of steps. */
static int column_check(const struct bl_plan_column *column, const int64_t *length, size_t count, struct bl_error *e)
{
    for (size_t i = 0; i < count; i++) {
        const double steps = column->value[i];
        if (length[i] > 0 && !(steps >= 0 && steps <= (double)BL_T_MAX && steps == (double)(int64_t)steps))
            return bl_error_set(e, BL_EFAIL, "sequence %zu has %g steps of %.*s: not a number of steps", i, steps,
                                bl_plan_column_field_size(column), column->name);
    }
    return BL_OK;
}

/* Finds the capacity of column c. The later columns whose maximum is to be found do not limit the plans. */
static int capacity_find(struct bl_plan_options *options, int c, const int64_t *length, size_t count,
                         struct bl_error *e)
{
    const double *value = options->max_column.each[c].value;
    struct bl_plan_options own = *options;
    struct planned alone, planned;
    own.max_column.count = 0;
    own.cost = bl_cost_of_common(&options->cost, &options->max_column);
    if (own.remainder == BL_REMAINDER_DROP) /* the capacity must do for the blocks that are dropped, too */
        own.world_size = own.batch_size = own.accumulate = 1;
    for (int i = 0; i < options->max_column.count; i++) {
        if (options->max_column.each[i].max > 0)
            own.max_column.each[own.max_column.count++] = options->max_column.each[i];
    }
    BL_TRY(column_check(&options->max_column.each[c], length, count, e));
    BL_TRY(planned_make(&alone, &own, value, length, count, e));
    int64_t most = (int64_t)((double)alone.bound * (1 + TOLERATED));
    most = most > alone.blocks ? most : alone.blocks;
    /* The bisection keeps `high` as a capacity that suffices, and `low` as one that may be too small. */
    double low = (double)((int64_t)(alone.sum / (double)alone.blocks)), high = alone.highest > 1 ? alone.highest : 1;
    high = high < (double)BL_T_MAX ? high : (double)BL_T_MAX;
    low = low > alone.largest - 1 ? low : alone.largest - 1;
    struct bl_plan_column *column = &own.max_column.each[own.max_column.count++];
    *column = options->max_column.each[c];
    bool is_tried = false; /* the planner has found few enough blocks with `high` */
    int plans = 1;
    for (; plans < PLANS && high - low > 1; plans++) {
        double middle = (double)(int64_t)((low + high) / 2);
        column->max = middle;
        BL_TRY(planned_make(&planned, &own, value, length, count, e));
        bool is_enough = planned.blocks <= most;
        high = is_enough ? middle : high;
        low = is_enough ? low : middle;
        is_tried |= is_enough;
    }
    /* The fullest block of the first plan suffices, but the planner may need more room to find such a plan again. */
    for (; plans < PLANS && !is_tried; plans++) {
        column->max = high;
        BL_TRY(planned_make(&planned, &own, value, length, count, e));
        is_tried = planned.blocks <= most;
        high += is_tried ? 0 : 1 + (double)(int64_t)(high / 16);
    }
    options->max_column.each[c].max = high < (double)BL_T_MAX ? high : (double)BL_T_MAX;
    return BL_OK;
}

int bl_capacities_find(struct bl_plan_options *options, const int64_t *length, size_t count, struct bl_error *e)
{
    struct bl_plan_columns *columns = &options->max_column;
    for (int c = 0; c < columns->count && options->strategy == BL_STRATEGY_BLOCK; c++) {
        struct bl_plan_column *column = &columns->each[c];
        if (!column->is_field || column->max > 0)
            continue;
        BL_TRY(capacity_find(options, c, length, count, e));
    }
    return BL_OK;
}
