#include "plan/strategy.h"

#define STRATEGY_ADDRESS(id, name) &bl_strategy_ops_##name,
const struct bl_strategy_ops *const bl_strategies[] = {BL_STRATEGY_LIST(STRATEGY_ADDRESS)};

static enum bl_cut strategy_cut_oversize(const struct bl_plan_options *options)
{
    switch (options->oversize) {
    case BL_OVERSIZE_SPLIT:
        return BL_CUT_SPLIT;
    case BL_OVERSIZE_TRUNCATE:
        return BL_CUT_HEAD;
    case BL_OVERSIZE_ERROR:
    case BL_OVERSIZE_DROP:
        break;
    }
    return BL_CUT_NOTHING;
}

static enum bl_cut strategy_cut_clips(const struct bl_plan_options *options)
{
    return options->clips == BL_CLIPS_ALL ? BL_CUT_CLIPS : BL_CUT_CLIP;
}

static enum bl_cut strategy_cut_head(const struct bl_plan_options *options)
{
    (void)options;
    return BL_CUT_HEAD;
}

static enum bl_cut strategy_cut_rows(const struct bl_plan_options *options)
{
    (void)options;
    return BL_CUT_ROWS;
}

bool bl_strategy_has_fill(const struct bl_plan_options *options)
{
    const struct bl_strategy_ops *ops = bl_strategies[options->strategy];
    return ops->is_packed && !ops->is_kept && options->order != BL_KEEP_ORDER;
}

const struct bl_strategy_ops bl_strategy_ops_naive = {.cut = strategy_cut_oversize};
const struct bl_strategy_ops bl_strategy_ops_sample = {.is_clipped = true, .cut = strategy_cut_clips};
const struct bl_strategy_ops bl_strategy_ops_mix = {.is_clipped = true, .cut = strategy_cut_head};
const struct bl_strategy_ops bl_strategy_ops_block = {.is_packed = true, .cut = strategy_cut_oversize};
const struct bl_strategy_ops bl_strategy_ops_store = {.is_packed = true, .is_kept = true, .cut = strategy_cut_rows};
