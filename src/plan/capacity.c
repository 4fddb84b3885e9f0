#include "plan/capacity.h"

#include "plan/options.h"
#include "plan/strategy.h"

/* Sums of steps stay below this, so that adding two of them cannot overflow. */
#define STEPS_MAX (INT64_C(1) << 62)

static int capacity_sum_lengths(struct bl_plan *plan, const int64_t *length, size_t count, struct bl_error *e)
{
    if (count > BL_SEQUENCES_MAX)
        return bl_error_set(e, BL_EFAIL, "%zu sequences: a plan can hold %lld", count, (long long)BL_SEQUENCES_MAX);
    int64_t steps = 0, sequences = 0, longest = 0;
    for (size_t i = 0; i < count; i++) {
        if (length[i] < 0)
            return bl_error_set(e, BL_EFAIL, "sequence %zu has a negative length, %lld", i, (long long)length[i]);
        if (length[i] > STEPS_MAX - steps)
            return bl_error_set(e, BL_EFAIL, "more than 2^62 steps in all, from sequence %zu on", i);
        steps += length[i];
        sequences += length[i] > 0;
        longest = length[i] > longest ? length[i] : longest;
    }
    plan->steps = steps;
    plan->sequences = sequences;
    plan->longest = longest;
    if (plan->sequences == 0)
        return bl_error_set(e, BL_EFAIL, "nothing to plan: all sequences are empty");
    return BL_OK;
}

/* Returns the longest sequence up to --max-length, or the longest of all if none is that short. */
static int64_t capacity_longest(const struct bl_plan *plan, const int64_t *length, size_t count, int64_t max_length)
{
    int64_t longest = 0;
    for (size_t i = 0; max_length && i < count && plan->longest > max_length; i++)
        longest = length[i] > longest && length[i] <= max_length ? length[i] : longest;
    return longest ? longest : plan->longest;
}

int bl_capacity_resolve(struct bl_plan *plan, const int64_t *length, size_t count,
                        const struct bl_plan_options *options, struct bl_error *e)
{
    int code = capacity_sum_lengths(plan, length, count, e);
    if (code)
        return code;
    if (bl_strategies[options->strategy]->is_clipped)
        plan->T = options->clip ? options->clip : plan->steps / plan->sequences;
    else
        plan->T = options->T ? options->T : capacity_longest(plan, length, count, options->max_length);
    if (plan->T > BL_T_MAX)
        return bl_error_set(e, BL_EFAIL, "blocks of %lld steps: the maximum is %lld", (long long)plan->T,
                            (long long)BL_T_MAX);
    return BL_OK;
}

void bl_plan_find_oversize(struct bl_plan_oversize *over, const int64_t *length, size_t count,
                           const struct bl_plan_options *options, int64_t T)
{
    int64_t max_length = options->max_length ? options->max_length : INT64_MAX;
    *over = (struct bl_plan_oversize){0};
    for (size_t i = count; i-- > 0;) {
        if (length[i] <= T || length[i] < options->min_length || length[i] > max_length)
            continue;
        over->count++;
        over->first = i;
        over->longest = length[i] > over->longest ? length[i] : over->longest;
    }
}

int bl_plan_T(int64_t *T, const int64_t *length, size_t count, const struct bl_plan_options *options,
              struct bl_error *e)
{
    struct bl_plan plan = {0};
    int code = bl_plan_options_check(options, e);
    if (!code)
        code = bl_capacity_resolve(&plan, length, count, options, e);
    *T = plan.T;
    return code;
}
