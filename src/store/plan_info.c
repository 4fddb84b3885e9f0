#include "store/plan_info.h"

#include <stdio.h>
#include <string.h>

#include "plan/options.h"

const char *bl_strategy_name(enum bl_strategy strategy)
{
    return bl_strategy_names[strategy];
}

const char *bl_fill_name(enum bl_fill fill)
{
    return bl_fill_names[fill];
}

bool bl_plan_info_is_store(const struct bl_plan_info *plan_info)
{
    return strcmp(plan_info->strategy, bl_strategy_name(BL_STRATEGY_STORE)) == 0;
}

void bl_plan_info_column_describe(const struct bl_plan_info_column *column, struct bl_buffer *out)
{
    bl_buffer_printf(out, "%s: at most %.10g of %.10g in a block, %.2f %% of it in the mean", column->name,
                     column->filled.highest * column->max, column->max, 100 * column->filled.mean);
}

void bl_plan_info_make(struct bl_plan_info *plan_info, const struct bl_plan *plan,
                       const struct bl_plan_options *options)
{
    *plan_info = (struct bl_plan_info){
        .T = plan->T,
        .seed = options->seed,
        .sequences = plan->sequences,
        .steps = plan->steps,
        .longest = plan->longest,
        .blocks = (int64_t)plan->blocks,
        .padding = plan->padding,
        .align_padding = plan->align_padding,
        .deleted = plan->deleted,
        .overlap = plan->overlap,
        .repeated = plan->repeated,
        .cut = plan->cut,
        .efficiency = bl_plan_efficiency(plan),
        .lower_bound = plan->lower_bound,
    };
    snprintf(plan_info->strategy, sizeof plan_info->strategy, "%s", bl_strategy_name(options->strategy));
    if (options->strategy == BL_STRATEGY_BLOCK)
        snprintf(plan_info->fill, sizeof plan_info->fill, "%s", bl_fill_name(options->fill));
    plan_info->balance = plan->balance;
    plan_info->columns = options->max_column.count;
    for (int c = 0; c < plan_info->columns; c++) {
        const struct bl_plan_column *column = &options->max_column.each[c];
        struct bl_plan_info_column *to = &plan_info->column[c];
        *to = (struct bl_plan_info_column){.max = column->max, .filled = plan->filled[c]};
        memcpy(to->name, column->name, sizeof to->name);
    }
    plan_info->world_size = options->world_size ? options->world_size : 1;
    plan_info->batch_size = options->batch_size ? options->batch_size : 1;
    plan_info->batches_per_rank = plan_info->blocks / plan_info->world_size / plan_info->batch_size;
}
