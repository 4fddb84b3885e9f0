#include "cmd/summary.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/inputs.h"

void bl_summary_plan(const struct bl_plan *plan, const struct bl_plan_info *plan_info)
{
    char a[32], b[32], c[32], d[32];
    int64_t gap = (int64_t)plan->blocks - plan->lower_bound;
    bl_cmd_print("%s sequences of %s steps (longest %s) in %s blocks", bl_text_count(a, plan->sequences),
                 bl_text_count(b, plan->steps), bl_text_count(c, plan->longest),
                 bl_text_count(d, (int64_t)plan->blocks));
    bl_cmd_print("T = %s, at most %s sequences in a block; lower bound %s blocks, %s%s", bl_text_count(a, plan->T),
                 bl_text_count(b, plan->max_sequences), bl_text_count(c, plan->lower_bound),
                 gap ? "gap " : "so the plan is optimal", gap ? bl_text_count(d, gap) : "");
    bl_cmd_print("padding %s steps (efficiency %.2f %%)", bl_text_count(a, plan->padding),
                 100 * bl_plan_efficiency(plan));
    if (plan_info->world_size > 1 || plan_info->batch_size > 1)
        bl_cmd_print("%s steps of %s ranks with %s blocks each; squared lengths per rank: highest by mean %.3f (%.3f "
                     "unbalanced)",
                     bl_text_count(a, plan_info->batches_per_rank), bl_text_count(b, plan_info->world_size),
                     bl_text_count(c, plan_info->batch_size), plan->imbalance, plan->imbalance_before);
    int64_t naive;
    /* Naive padding brings every sequence to the longest. */
    if (strcmp(plan_info->strategy, "block") == 0 && !__builtin_mul_overflow(plan->sequences, plan->longest, &naive) &&
        naive > plan->steps)
        bl_cmd_print("naive padding would cost %s steps", bl_text_count(a, naive - plan->steps));
    if (plan->deleted || plan->cut || plan->dropped)
        bl_cmd_print("deleted %s steps; cut %s sequences; dropped %s sequences", bl_text_count(a, plan->deleted),
                     bl_text_count(b, plan->cut), bl_text_count(c, plan->dropped));
}

void bl_summary_dataset(const char *dir, const struct bl_format *format, const struct bl_finished *finished,
                        int64_t rate, const char *steps)
{
    char a[32], b[32], c[32];
    int64_t shards = bl_format_shards(format);
    bl_cmd_print("%s: %s shard%s, %s%s%s%s%s%s", dir, bl_text_count(a, shards), shards == 1 ? "" : "s",
                 bl_text_size(b, finished->bytes), steps ? "; " : "", steps ? bl_text_count(c, rate) : "",
                 steps ? " " : "", steps ? steps : "", steps ? "/s" : "");
}

void bl_summary_finished(const struct bl_finished *f)
{
    if (bl_finished_partial(f))
        bl_cmd_print("%" PRId64 " input%s skipped, %" PRId64 " failed (%" PRId64 " steps left as zeros), %" PRId64
                     " damaged: sequences.tsv names them",
                     f->skipped, f->skipped == 1 ? "" : "s", f->failed, f->failed_steps, f->damaged);
    bl_inputs_print_adjusted(f->adjusted);
    bl_inputs_print_totals(&f->totals);
}
