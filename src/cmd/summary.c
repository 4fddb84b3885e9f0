#include "cmd/summary.h"

#include <inttypes.h>

#include "base/text.h"
#include "cmd/cmd.h"

void bl_summary_plan(const struct bl_plan *plan, const struct bl_plan_options *options)
{
    char a[32], b[32], c[32], d[32];
    int64_t gap = (int64_t)plan->blocks - plan->lower_bound;
    bl_cmd_say("%s sequences of %s steps (longest %s) in %s blocks", bl_text_count(a, plan->sequences),
               bl_text_count(b, plan->steps), bl_text_count(c, plan->longest), bl_text_count(d, (int64_t)plan->blocks));
    bl_cmd_say("T = %s, at most %s sequences in a block; lower bound %s blocks, %s%s", bl_text_count(a, plan->T),
               bl_text_count(b, plan->max_sequences), bl_text_count(c, plan->lower_bound),
               gap ? "gap " : "so the plan is optimal", gap ? bl_text_count(d, gap) : "");
    bl_cmd_say("padding %s steps (efficiency %.2f %%)", bl_text_count(a, plan->padding),
               100 * bl_plan_efficiency(plan));
    if (options->world_size > 1 || options->batch_size > 1)
        bl_cmd_say("%s steps of %s ranks with %s blocks each; squared lengths per rank: highest by mean %.3f (%.3f "
                   "unbalanced)",
                   bl_text_count(a, (int64_t)plan->blocks / options->world_size / options->batch_size),
                   bl_text_count(b, options->world_size), bl_text_count(c, options->batch_size), plan->imbalance,
                   plan->imbalance_before);
    int64_t naive;
    /* Naive padding brings every sequence to the longest. */
    if (options->strategy == BL_STRATEGY_BLOCK && !__builtin_mul_overflow(plan->sequences, plan->longest, &naive) &&
        naive > plan->steps)
        bl_cmd_say("naive padding would cost %s steps", bl_text_count(a, naive - plan->steps));
    if (plan->deleted || plan->cut || plan->dropped)
        bl_cmd_say("deleted %s steps; cut %s sequences; dropped %s sequences", bl_text_count(a, plan->deleted),
                   bl_text_count(b, plan->cut), bl_text_count(c, plan->dropped));
}
