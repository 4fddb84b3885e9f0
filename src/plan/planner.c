/* From lengths to plans: settle T, cut the pieces, find out how to fill blocks with them; then, for every seed, draw
 * who goes where, suit the ranks, order the blocks, and translate pieces back to sequences. */
#include "plan/planner.h"

#include <stdlib.h>
#include <string.h>

#include "plan/bound.h"
#include "plan/draft.h"
#include "plan/fill.h"
#include "plan/order.h"
#include "plan/ranks.h"

/* Sums of steps stay below this, so that adding two of them cannot overflow. */
#define STEPS_MAX (INT64_C(1) << 62)

#define BL_RANKS_MAX 16777216 /* of world_size and batch_size each */

/* More distinct lengths than this are rounded up, to less than a millionth of the longest: what patterns and prices
 * would need for them all costs more memory than the lengths. */
#define DISTINCT_MAX ((size_t)1 << 20)

static int options_check_range(int64_t value, int64_t low, int64_t high, const char *name, struct bl_error *e)
{
    if (value >= low && value <= high)
        return 0;
    return bl_error_set(e, BL_EUSAGE, "%s %lld is not between %lld and %lld", name, (long long)value,
                        (long long)(low ? low : 1), (long long)high);
}

static int options_check_ranges(const struct bl_plan_options *o, struct bl_error *e)
{
    int code = options_check_range(o->T, 0, BL_T_MAX, "T =", e);
    if (code == 0)
        code = options_check_range(o->clip, 0, BL_T_MAX, "a clip of", e);
    if (code == 0)
        code = options_check_range(o->effort, 0, BL_EFFORT_MAX, "an effort of", e);
    if (code == 0)
        code = options_check_range(o->align, 0, BL_T_MAX, "an alignment of", e);
    if (code == 0)
        code = options_check_range(o->max_sequences, 0, BL_SEQUENCES_MAX, "a maximum of sequences of", e);
    if (code == 0)
        code = options_check_range(o->min_length, 0, INT64_MAX, "a minimum length of", e);
    if (code == 0)
        code = options_check_range(o->max_length, 0, INT64_MAX, "a maximum length of", e);
    if (code == 0)
        code = options_check_range(o->world_size, 0, BL_RANKS_MAX, "a world size of", e);
    return code == 0 ? options_check_range(o->batch_size, 0, BL_RANKS_MAX, "a batch size of", e) : code;
}

/* Options that contradict each other. */
static int options_check_conflicts(const struct bl_plan_options *o, struct bl_error *e)
{
    if (o->order == BL_KEEP_ORDER && o->balance != BL_BALANCE_NONE)
        return bl_error_set(e, BL_EUSAGE, "the order cannot be kept and balanced, too: --order keep or --balance");
    if (o->order == BL_KEEP_ORDER && o->strategy == BL_STRATEGY_BLOCK && o->fill != BL_FILL_OPTIMAL)
        return bl_error_set(e, BL_EUSAGE,
                            "the order cannot be kept where chance fills the blocks: --order keep or --fill");
    return 0;
}

static int options_check(const struct bl_plan_options *o, struct bl_error *e)
{
    if ((unsigned)o->strategy > BL_STRATEGY_BLOCK || (unsigned)o->fill > BL_FILL_PAPER ||
        (unsigned)o->oversize > BL_OVERSIZE_DROP || (unsigned)o->clips > BL_CLIPS_ALL ||
        (unsigned)o->remainder > BL_REMAINDER_DROP || (unsigned)o->balance > BL_BALANCE_QUADRATIC ||
        (unsigned)o->order > BL_KEEP_ORDER)
        return bl_error_set(e, BL_EUSAGE, "unknown strategy, fill, oversize, clips, remainder, balance or order");
    int code = options_check_ranges(o, e);
    return code == 0 ? options_check_conflicts(o, e) : code;
}

static int planner_sum_lengths(struct bl_plan *plan, const int64_t *length, size_t count, struct bl_error *e)
{
    if (count > BL_SEQUENCES_MAX)
        return bl_error_set(e, BL_EFAIL, "%zu sequences are more than the %lld that one plan can hold", count,
                            (long long)BL_SEQUENCES_MAX);
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
        return bl_error_set(e, BL_EFAIL, "nothing to plan: no sequence has a step");
    return 0;
}

static int options_use_clip(const struct bl_plan_options *o)
{
    return o->strategy == BL_STRATEGY_SAMPLE || o->strategy == BL_STRATEGY_MIX;
}

static int64_t options_max_length(const struct bl_plan_options *o)
{
    return o->max_length ? o->max_length : INT64_MAX;
}

static int options_check_oversize(const struct bl_plan *plan, const int64_t *length, size_t count,
                                  const struct bl_plan_options *o, struct bl_error *e)
{
    for (size_t i = 0; i < count && plan->longest > plan->T; i++)
        if (length[i] > plan->T && length[i] >= o->min_length && length[i] <= options_max_length(o))
            return bl_error_set(e, BL_EFAIL,
                                "sequence %zu has %lld steps, more than T = %lld: a larger T, or --oversize", i,
                                (long long)length[i], (long long)plan->T);
    return 0;
}

static int64_t options_longest_kept(const struct bl_plan *plan, const int64_t *length, size_t count,
                                    const struct bl_plan_options *o)
{
    int64_t longest = 0;
    for (size_t i = 0; i < count && plan->longest > options_max_length(o); i++)
        longest = length[i] > longest && length[i] <= o->max_length ? length[i] : longest;
    return longest ? longest : plan->longest;
}

static int options_resolve_T(struct bl_plan *plan, const int64_t *length, size_t count, const struct bl_plan_options *o,
                             struct bl_error *e)
{
    int64_t mean = plan->steps / plan->sequences;
    if (options_use_clip(o))
        plan->T = o->clip ? o->clip : mean;
    else
        plan->T = o->T ? o->T : options_longest_kept(plan, length, count, o);
    if (plan->T > BL_T_MAX)
        return bl_error_set(e, BL_EFAIL, "blocks of %lld steps are longer than the longest possible, %lld",
                            (long long)plan->T, (long long)BL_T_MAX);
    return 0;
}

int bl_plan_T(int64_t *T, const int64_t *length, size_t count, const struct bl_plan_options *options,
              struct bl_error *e)
{
    struct bl_plan plan = {0};
    int code = options_check(options, e);
    if (code == 0)
        code = planner_sum_lengths(&plan, length, count, e);
    if (code == 0)
        code = options_resolve_T(&plan, length, count, options, e);
    *T = plan.T;
    return code;
}

static int64_t value_or(int64_t value, int64_t otherwise)
{
    return value ? value : otherwise;
}

/* Whether every piece has a block to itself. */
static int options_are_unpacked(const struct bl_plan_options *o)
{
    return o->strategy != BL_STRATEGY_BLOCK;
}

/* --- what is the same for every seed ---------------------------------------------------------------------------- */

static int64_t planner_align(const struct bl_planner *p)
{
    return options_are_unpacked(&p->options) ? 1 : value_or(p->options.align, 1);
}

static struct bl_fill_limits planner_limits(const struct bl_planner *p)
{
    return (struct bl_fill_limits){.T = p->pieces.lengths.cap,
                                   .sequences = (uint32_t)value_or(p->options.max_sequences, UINT32_MAX),
                                   .work = value_or(p->options.effort, BL_EFFORT_DEFAULT) * INT64_C(1000000000)};
}

/* A block holds whole units and at its end a part of one more, which patterns leave empty but a bound must count. */
static int64_t planner_bound(const struct bl_planner *p, const struct bl_histogram *h)
{
    int64_t align = planner_align(p), T = (p->counts.T + align - 1) / align;
    int64_t bound = bl_bound_blocks(h, T), most = value_or(p->options.max_sequences, BL_SEQUENCES_MAX);
    int64_t by_number = ((int64_t)h->start[h->distinct] + most - 1) / most;
    return bound > by_number ? bound : by_number;
}

/* Where units do not divide T, their bound may be lower than that of the steps alone. */
static int subproblem_step_bound(const struct bl_planner *p, const struct bl_subproblem *subproblem, int64_t *bound,
                                 struct bl_error *e)
{
    struct bl_lengths steps = subproblem->lengths;
    struct bl_histogram h;
    steps.unit = 1;
    steps.cap = p->counts.T;
    int code = bl_histogram_make(&h, &steps, e);
    if (code < 0)
        return code;
    int64_t other = bl_bound_blocks(&h, p->counts.T);
    *bound = other > *bound ? other : *bound;
    bl_histogram_free(&h);
    return 0;
}

/* Patterns for lengths of which too many differ: rounded up, unless best fit by the lengths as they are takes fewer
 * blocks, which then is done anew for every plan. */
static int subproblem_fill_rounded(struct bl_subproblem *subproblem, int64_t bound, const struct bl_fill_limits *limits,
                                   struct bl_error *e)
{
    size_t blocks;
    int code = bl_fill_bestfit_count(&blocks, &subproblem->h, limits, e);
    if (code == 0 && (int64_t)blocks > bound) {
        bl_histogram_coarsen(&subproblem->h, DISTINCT_MAX);
        code = bl_fill_optimal(&subproblem->patterns, &bound, &subproblem->h, limits, e);
        if (code < 0 || subproblem->patterns.blocks <= blocks)
            return code;
        bl_patterns_free(&subproblem->patterns);
    }
    bl_histogram_free(&subproblem->h);
    subproblem->is_single = 1;
    return code;
}

static int subproblem_fill(struct bl_planner *p, struct bl_subproblem *subproblem, struct bl_error *e)
{
    struct bl_fill_limits limits = planner_limits(p);
    int code = bl_histogram_make(&subproblem->h, &subproblem->lengths, e);
    if (code < 0)
        return code;
    int64_t bound = planner_bound(p, &subproblem->h), raised;
    int whole = p->counts.T % planner_align(p) == 0;
    if (!whole)
        code = subproblem_step_bound(p, subproblem, &bound, e);
    raised = bound;
    int kept = options_are_unpacked(&p->options) || p->options.order == BL_KEEP_ORDER,
        many = subproblem->h.distinct > DISTINCT_MAX;
    if (!kept && p->options.fill != BL_FILL_OPTIMAL)
        limits.work /= 8; /* for the bound alone */
    if (code == 0 && !kept && many && p->options.fill == BL_FILL_OPTIMAL)
        code = subproblem_fill_rounded(subproblem, bound, &limits, e);
    else if (many)
        bl_histogram_coarsen(&subproblem->h, DISTINCT_MAX);
    else if (code == 0 && !kept)
        code = bl_fill_optimal(&subproblem->patterns, &raised, &subproblem->h, &limits, e);
    p->counts.lower_bound += whole ? raised : bound;
    if (p->options.fill != BL_FILL_OPTIMAL)
        bl_patterns_free(&subproblem->patterns);
    if (kept || p->options.fill == BL_FILL_RANDOM)
        bl_histogram_free(&subproblem->h);
    return code;
}

/* The group of a piece. */
static uint32_t planner_group(const struct bl_planner *p, size_t piece)
{
    return p->options.group[p->pieces.sequence ? p->pieces.sequence[piece] : piece];
}

static int planner_single_group(struct bl_planner *p, struct bl_error *e)
{
    p->subproblem = calloc(1, sizeof *p->subproblem);
    if (!p->subproblem)
        return bl_error_memory(e);
    p->subproblems = 1;
    p->subproblem[0].lengths = p->pieces.lengths;
    return 0;
}

/* Counting sort of the pieces by group: member[] and, in begin, where each group begins there. */
static int planner_sort_members(struct bl_planner *p, size_t groups, size_t *begin, struct bl_error *e)
{
    const struct bl_lengths *all = &p->pieces.lengths;
    p->member = malloc((all->count + 1) * sizeof *p->member);
    if (!p->member)
        return bl_error_memory(e);
    for (size_t i = 0; i < all->count; i++)
        if (bl_lengths_has(all, i))
            begin[planner_group(p, i) + 1]++;
    for (size_t g = 0; g < groups; g++)
        begin[g + 1] += begin[g];
    for (size_t i = 0; i < all->count; i++)
        if (bl_lengths_has(all, i))
            p->member[begin[planner_group(p, i)]++] = (uint32_t)i;
    memmove(begin + 1, begin, groups * sizeof *begin);
    begin[0] = 0;
    return 0;
}

static int planner_split_groups(struct bl_planner *p, struct bl_error *e)
{
    size_t groups = 0;
    for (size_t i = 0; i < p->count; i++)
        groups = p->options.group[i] >= groups ? (size_t)p->options.group[i] + 1 : groups;
    size_t *begin = calloc(groups + 1, sizeof *begin);
    int code = begin ? planner_sort_members(p, groups, begin, e) : bl_error_memory(e);
    if (code == 0 && !(p->subproblem = calloc(groups + 1, sizeof *p->subproblem)))
        code = bl_error_memory(e);
    for (size_t g = 0; code == 0 && g < groups; g++) {
        if (begin[g] == begin[g + 1])
            continue;
        struct bl_lengths *lengths = &p->subproblem[p->subproblems++].lengths;
        *lengths = p->pieces.lengths;
        lengths->index = p->member + begin[g];
        lengths->count = begin[g + 1] - begin[g];
    }
    free(begin);
    return code;
}

static int planner_fill(struct bl_planner *p, struct bl_error *e)
{
    int grouped = p->options.group && !options_are_unpacked(&p->options) && p->options.order != BL_KEEP_ORDER;
    int code = grouped ? planner_split_groups(p, e) : planner_single_group(p, e);
    p->pieces.lengths.unit = planner_align(p);
    p->pieces.lengths.cap = p->counts.T / planner_align(p);
    for (size_t s = 0; code == 0 && s < p->subproblems; s++) {
        p->subproblem[s].lengths.unit = p->pieces.lengths.unit;
        p->subproblem[s].lengths.cap = p->pieces.lengths.cap;
        code = subproblem_fill(p, &p->subproblem[s], e);
    }
    return code;
}

int bl_planner_make(struct bl_planner *p, const int64_t *length, size_t count, const struct bl_plan_options *options,
                    struct bl_error *e)
{
    *p = (struct bl_planner){.options = *options, .length = length, .count = count};
    int code = options_check(options, e);
    if (code == 0)
        code = planner_sum_lengths(&p->counts, length, count, e);
    if (code == 0)
        code = options_resolve_T(&p->counts, length, count, options, e);
    if (code == 0 && !options_use_clip(options) && options->oversize == BL_OVERSIZE_ERROR)
        code = options_check_oversize(&p->counts, length, count, options, e);
    if (code == 0 && planner_align(p) > p->counts.T)
        code = bl_error_set(e, BL_EUSAGE, "an alignment of %lld is larger than T = %lld", (long long)planner_align(p),
                            (long long)p->counts.T);
    if (code == 0)
        code = bl_pieces_make(&p->pieces, length, count, options, &p->counts, e);
    if (code == 0 && p->pieces.count == 0)
        code = bl_error_set(e, BL_EFAIL, "nothing to plan: none of the %lld sequences fits T = %lld%s",
                            (long long)p->counts.sequences, (long long)p->counts.T,
                            options->min_length > 1 || options->max_length ? " and --min-length and --max-length" : "");
    if (code == 0)
        code = planner_fill(p, e);
    if (code < 0) {
        bl_planner_free(p);
        return code;
    }
    p->counts.align = planner_align(p);
    p->counts.cut = p->pieces.cut;
    p->counts.dropped = p->pieces.dropped;
    p->counts.deleted = p->counts.steps - p->pieces.steps;
    return 0;
}

static size_t subproblem_bucket(const struct bl_planner *p, const struct bl_subproblem *subproblem, size_t piece)
{
    return bl_histogram_below(&subproblem->h, bl_lengths_units(&p->pieces.lengths, piece) - 1);
}

/* share_of[g] is the subproblem of group g; without groups there is one group. To be freed. */
static int planner_index_groups(const struct bl_planner *p, uint32_t **share_of, struct bl_error *e)
{
    const struct bl_subproblem *last = &p->subproblem[p->subproblems - 1];
    *share_of = calloc(p->member ? (size_t)planner_group(p, last->lengths.index[0]) + 1 : 1, sizeof **share_of);
    if (!*share_of)
        return bl_error_memory(e);
    for (size_t s = 0; p->member && s < p->subproblems; s++)
        (*share_of)[planner_group(p, p->subproblem[s].lengths.index[0])] = (uint32_t)s;
    return 0;
}

/* The pieces of a block, which are of one group, as a pattern of their subproblem. */
static int subproblem_adopt_block(struct bl_subproblem *subproblem, const struct bl_planner *p, int64_t begin,
                                  int64_t end, struct bl_error *e)
{
    int code = 0;
    for (int64_t i = begin; code == 0 && i < end; i++)
        code = bl_patterns_push(&subproblem->patterns, (uint32_t)subproblem_bucket(p, subproblem, (size_t)i), e);
    return code ? code : bl_patterns_close(&subproblem->patterns, 1, e);
}

int bl_planner_adopt(struct bl_planner *p, const struct bl_plan *plan, struct bl_error *e)
{
    uint32_t *share_of;
    int code = planner_index_groups(p, &share_of, e);
    for (size_t s = 0; code == 0 && s < p->subproblems; s++) {
        struct bl_subproblem *subproblem = &p->subproblem[s];
        code = subproblem->is_single ? bl_histogram_make(&subproblem->h, &subproblem->lengths, e) : 0;
        subproblem->is_single = 0;
        bl_patterns_free(&subproblem->patterns);
    }
    for (size_t b = 0; code == 0 && b < plan->blocks; b++) {
        int64_t begin = plan->block_ptr[b], end = plan->block_ptr[b + 1];
        if (begin < end)
            code = subproblem_adopt_block(&p->subproblem[share_of[p->member ? planner_group(p, (size_t)begin) : 0]], p,
                                          begin, end, e);
    }
    free(share_of);
    p->options.fill = BL_FILL_OPTIMAL;
    return code;
}

static void subproblem_free(struct bl_subproblem *subproblem)
{
    bl_histogram_free(&subproblem->h);
    bl_patterns_free(&subproblem->patterns);
}

void bl_planner_free(struct bl_planner *p)
{
    for (size_t s = 0; s < p->subproblems; s++)
        subproblem_free(&p->subproblem[s]);
    free(p->subproblem);
    free(p->member);
    bl_pieces_free(&p->pieces);
    *p = (struct bl_planner){0};
}

/* --- what the seed decides -------------------------------------------------------------------------------------- */

static int subproblem_draft(struct bl_planner *p, const struct bl_subproblem *subproblem, struct bl_draft *d,
                            uint64_t seed, struct bl_error *e)
{
    struct bl_fill_limits limits = planner_limits(p);
    if (options_are_unpacked(&p->options))
        return bl_draft_alone(d, &subproblem->lengths, e);
    if (p->options.order == BL_KEEP_ORDER)
        return bl_draft_keep(d, &subproblem->lengths, limits.T, limits.sequences, p->options.group, p->pieces.sequence,
                             e);
    if (p->options.fill == BL_FILL_RANDOM)
        return bl_draft_random(d, &subproblem->lengths, &limits, seed, e);
    if (subproblem->is_single)
        return bl_draft_bestfit(d, &subproblem->lengths, &limits, seed, e);
    if (p->options.fill == BL_FILL_PAPER)
        return bl_draft_paper(d, &subproblem->h, &subproblem->lengths, limits.T, limits.sequences, seed, e);
    return bl_draft_patterns(d, &subproblem->patterns, &subproblem->h, &subproblem->lengths, seed, e);
}

/* Every subproblem has random numbers of its own. */
static int planner_draft(struct bl_planner *p, struct bl_draft *d, uint64_t seed, int last, struct bl_error *e)
{
    int code = bl_draft_make(d, p->pieces.count, e);
    for (size_t s = 0; code == 0 && s < p->subproblems; s++) {
        code = subproblem_draft(p, &p->subproblem[s], d, seed + s * UINT64_C(0x9e3779b97f4a7c15), e);
        if (last)
            subproblem_free(&p->subproblem[s]);
    }
    if (p->subproblems > 1)
        d->is_shuffled = 0; /* one group after the other */
    return code;
}

static int planner_fit_ranks(struct bl_planner *p, struct bl_draft *d, size_t least, struct bl_error *e)
{
    const struct bl_plan_options *o = &p->options;
    size_t multiple = (size_t)(value_or(o->world_size, 1) * value_or(o->batch_size, 1)), pieces;
    int64_t steps;
    p->removed = 0;
    if (o->remainder == BL_REMAINDER_PAD)
        return bl_ranks_pad(d, multiple, least, e);
    if (o->remainder == BL_REMAINDER_SPREAD)
        return bl_ranks_spread(d, multiple, least, e);
    p->removed = d->blocks % multiple;
    return bl_ranks_drop(d, multiple, p->pieces.lengths.length, &steps, &pieces, e);
}

/* plan->sequence holds pieces; afterwards sequences, with length and start of the piece where anything was cut. */
static int plan_name_sequences(struct bl_plan *plan, const struct bl_pieces *pieces, struct bl_error *e)
{
    if (!pieces->sequence)
        return 0;
    plan->length = malloc((plan->pieces + 1) * sizeof *plan->length);
    if (pieces->start)
        plan->source_start = malloc((plan->pieces + 1) * sizeof *plan->source_start);
    if (!plan->length || (pieces->start && !plan->source_start))
        return bl_error_memory(e);
    for (size_t p = 0; p < plan->pieces; p++) {
        uint32_t piece = plan->sequence[p];
        plan->sequence[p] = pieces->sequence[piece];
        plan->length[p] = pieces->length[piece];
        if (pieces->start)
            plan->source_start[p] = pieces->start[piece];
    }
    return 0;
}

/* What was proven of all blocks holds for the plan: without the blocks that went, and in whole steps of all ranks. */
static int planner_count(struct bl_planner *p, struct bl_plan *plan, struct bl_error *e)
{
    const struct bl_plan_options *o = &p->options;
    int64_t multiple = value_or(o->world_size, 1) * value_or(o->batch_size, 1);
    if (o->remainder != BL_REMAINDER_DROP) {
        plan->lower_bound = (plan->lower_bound + multiple - 1) / multiple * multiple;
        plan->padding = (int64_t)plan->blocks * plan->T - p->pieces.steps;
        return 0;
    }
    plan->lower_bound -= (int64_t)p->removed;
    return p->removed ? bl_plan_check(plan, p->length, p->count, e)
                      : (plan->padding = (int64_t)plan->blocks * plan->T - p->pieces.steps, 0);
}

int bl_planner_draw(struct bl_planner *p, uint64_t seed, size_t least, int last, struct bl_plan *plan,
                    struct bl_error *e)
{
    const struct bl_plan_options *o = &p->options;
    struct bl_draft d = {0};
    struct bl_order order = {.kind = o->order == BL_KEEP_ORDER            ? BL_ORDER_AS_DRAFTED
                                     : o->balance == BL_BALANCE_QUADRATIC ? BL_ORDER_LEVEL
                                                                          : BL_ORDER_SHUFFLED,
                             .world_size = (size_t)value_or(o->world_size, 1),
                             .batch_size = (size_t)value_or(o->batch_size, 1),
                             .seed = seed,
                             .length = p->pieces.lengths.length};
    *plan = p->counts;
    bl_pieces_draw(&p->pieces, p->length, o, plan->T, seed);
    int code = planner_draft(p, &d, seed, last, e);
    if (code == 0)
        code = planner_fit_ranks(p, &d, least, e);
    if (code == 0)
        code = bl_order_apply(plan, &d, &order, e);
    bl_draft_free(&d);
    if (code == 0)
        code = plan_name_sequences(plan, &p->pieces, e);
    if (code == 0)
        code = planner_count(p, plan, e);
    if (code < 0)
        bl_plan_free(plan);
    return code;
}
