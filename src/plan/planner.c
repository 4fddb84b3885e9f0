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

static int check_range(int64_t value, int64_t low, int64_t high, const char *name, struct bl_error *e)
{
    if (value >= low && value <= high)
        return 0;
    return bl_error_set(e, BL_EUSAGE, "%s %lld is not between %lld and %lld", name, (long long)value,
                        (long long)(low ? low : 1), (long long)high);
}

static int check_ranges(const struct bl_plan_options *o, struct bl_error *e)
{
    int code = check_range(o->T, 0, BL_T_MAX, "T =", e);
    if (code == 0)
        code = check_range(o->clip, 0, BL_T_MAX, "a clip of", e);
    if (code == 0)
        code = check_range(o->effort, 0, BL_EFFORT_MAX, "an effort of", e);
    if (code == 0)
        code = check_range(o->align, 0, BL_T_MAX, "an alignment of", e);
    if (code == 0)
        code = check_range(o->max_sequences, 0, BL_SEQUENCES_MAX, "a maximum of sequences of", e);
    if (code == 0)
        code = check_range(o->min_length, 0, INT64_MAX, "a minimum length of", e);
    if (code == 0)
        code = check_range(o->max_length, 0, INT64_MAX, "a maximum length of", e);
    if (code == 0)
        code = check_range(o->world_size, 0, BL_RANKS_MAX, "a world size of", e);
    return code == 0 ? check_range(o->batch_size, 0, BL_RANKS_MAX, "a batch size of", e) : code;
}

/* Options that contradict each other. */
static int check_together(const struct bl_plan_options *o, struct bl_error *e)
{
    if (o->order == BL_KEEP_ORDER && o->balance != BL_BALANCE_NONE)
        return bl_error_set(e, BL_EUSAGE, "the order cannot be kept and balanced, too: --order keep or --balance");
    if (o->order == BL_KEEP_ORDER && o->strategy == BL_STRATEGY_BLOCK && o->fill != BL_FILL_OPTIMAL)
        return bl_error_set(e, BL_EUSAGE,
                            "the order cannot be kept where chance fills the blocks: --order keep or --fill");
    return 0;
}

static int check_options(const struct bl_plan_options *o, struct bl_error *e)
{
    if ((unsigned)o->strategy > BL_STRATEGY_BLOCK || (unsigned)o->fill > BL_FILL_PAPER ||
        (unsigned)o->oversize > BL_OVERSIZE_DROP || (unsigned)o->clips > BL_CLIPS_ALL ||
        (unsigned)o->remainder > BL_REMAINDER_DROP || (unsigned)o->balance > BL_BALANCE_QUADRATIC ||
        (unsigned)o->order > BL_KEEP_ORDER)
        return bl_error_set(e, BL_EUSAGE, "unknown strategy, fill, oversize, clips, remainder, balance or order");
    int code = check_ranges(o, e);
    return code == 0 ? check_together(o, e) : code;
}

static int add_up(struct bl_plan *plan, const int64_t *length, size_t count, struct bl_error *e)
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

static int uses_clip(const struct bl_plan_options *o)
{
    return o->strategy == BL_STRATEGY_SAMPLE || o->strategy == BL_STRATEGY_MIX;
}

static int64_t most_of(const struct bl_plan_options *o)
{
    return o->max_length ? o->max_length : INT64_MAX;
}

static int refuse_oversize(const struct bl_plan *plan, const int64_t *length, size_t count,
                           const struct bl_plan_options *o, struct bl_error *e)
{
    for (size_t i = 0; i < count && plan->longest > plan->T; i++)
        if (length[i] > plan->T && length[i] >= o->min_length && length[i] <= most_of(o))
            return bl_error_set(e, BL_EFAIL,
                                "sequence %zu has %lld steps, more than T = %lld: a larger T, or --oversize", i,
                                (long long)length[i], (long long)plan->T);
    return 0;
}

static int64_t longest_kept(const struct bl_plan *plan, const int64_t *length, size_t count,
                            const struct bl_plan_options *o)
{
    int64_t longest = 0;
    for (size_t i = 0; i < count && plan->longest > most_of(o); i++)
        longest = length[i] > longest && length[i] <= o->max_length ? length[i] : longest;
    return longest ? longest : plan->longest;
}

static int settle_T(struct bl_plan *plan, const int64_t *length, size_t count, const struct bl_plan_options *o,
                    struct bl_error *e)
{
    int64_t mean = plan->steps / plan->sequences;
    if (uses_clip(o))
        plan->T = o->clip ? o->clip : mean;
    else
        plan->T = o->T ? o->T : longest_kept(plan, length, count, o);
    if (plan->T > BL_T_MAX)
        return bl_error_set(e, BL_EFAIL, "blocks of %lld steps are longer than the longest possible, %lld",
                            (long long)plan->T, (long long)BL_T_MAX);
    return 0;
}

int bl_plan_T(int64_t *T, const int64_t *length, size_t count, const struct bl_plan_options *options,
              struct bl_error *e)
{
    struct bl_plan plan = {0};
    int code = check_options(options, e);
    if (code == 0)
        code = add_up(&plan, length, count, e);
    if (code == 0)
        code = settle_T(&plan, length, count, options, e);
    *T = plan.T;
    return code;
}

static int64_t or_default(int64_t value, int64_t otherwise)
{
    return value ? value : otherwise;
}

/* Whether every piece has a block to itself. */
static int is_alone(const struct bl_plan_options *o)
{
    return o->strategy != BL_STRATEGY_BLOCK;
}

/* --- what is the same for every seed ---------------------------------------------------------------------------- */

static int64_t align_of(const struct bl_planner *p)
{
    return is_alone(&p->options) ? 1 : or_default(p->options.align, 1);
}

static struct bl_fill_limits limits_of(const struct bl_planner *p)
{
    return (struct bl_fill_limits){.T = p->pieces.lengths.cap,
                                   .sequences = (uint32_t)or_default(p->options.max_sequences, UINT32_MAX),
                                   .work = or_default(p->options.effort, BL_EFFORT_DEFAULT) * INT64_C(1000000000)};
}

/* A block holds whole units and at its end a part of one more, which patterns leave empty but a bound must count. */
static int64_t bound_of(const struct bl_planner *p, const struct bl_histogram *h)
{
    int64_t align = align_of(p), T = (p->counts.T + align - 1) / align;
    int64_t bound = bl_bound_blocks(h, T), most = or_default(p->options.max_sequences, BL_SEQUENCES_MAX);
    int64_t by_number = ((int64_t)h->start[h->distinct] + most - 1) / most;
    return bound > by_number ? bound : by_number;
}

/* Where units do not divide T, their bound may be lower than that of the steps alone. */
static int bound_of_steps(const struct bl_planner *p, const struct bl_share *share, int64_t *bound, struct bl_error *e)
{
    struct bl_lengths steps = share->lengths;
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
static int fill_rounded(struct bl_share *share, int64_t bound, const struct bl_fill_limits *limits, struct bl_error *e)
{
    size_t blocks;
    int code = bl_fill_bestfit_count(&blocks, &share->h, limits, e);
    if (code == 0 && (int64_t)blocks > bound) {
        bl_histogram_coarsen(&share->h, DISTINCT_MAX);
        code = bl_fill_optimal(&share->patterns, &bound, &share->h, limits, e);
        if (code < 0 || share->patterns.blocks <= blocks)
            return code;
        bl_patterns_free(&share->patterns);
    }
    bl_histogram_free(&share->h);
    share->is_single = 1;
    return code;
}

static int fill_share(struct bl_planner *p, struct bl_share *share, struct bl_error *e)
{
    struct bl_fill_limits limits = limits_of(p);
    int code = bl_histogram_make(&share->h, &share->lengths, e);
    if (code < 0)
        return code;
    int64_t bound = bound_of(p, &share->h), raised;
    int whole = p->counts.T % align_of(p) == 0;
    if (!whole)
        code = bound_of_steps(p, share, &bound, e);
    raised = bound;
    int kept = is_alone(&p->options) || p->options.order == BL_KEEP_ORDER, many = share->h.distinct > DISTINCT_MAX;
    if (!kept && p->options.fill != BL_FILL_OPTIMAL)
        limits.work /= 8; /* for the bound alone */
    if (code == 0 && !kept && many && p->options.fill == BL_FILL_OPTIMAL)
        code = fill_rounded(share, bound, &limits, e);
    else if (many)
        bl_histogram_coarsen(&share->h, DISTINCT_MAX);
    else if (code == 0 && !kept)
        code = bl_fill_optimal(&share->patterns, &raised, &share->h, &limits, e);
    p->counts.lower_bound += whole ? raised : bound;
    if (p->options.fill != BL_FILL_OPTIMAL)
        bl_patterns_free(&share->patterns);
    if (kept || p->options.fill == BL_FILL_RANDOM)
        bl_histogram_free(&share->h);
    return code;
}

/* The group of a piece. */
static uint32_t group_of(const struct bl_planner *p, size_t piece)
{
    return p->options.group[p->pieces.sequence ? p->pieces.sequence[piece] : piece];
}

static int one_share(struct bl_planner *p, struct bl_error *e)
{
    p->share = calloc(1, sizeof *p->share);
    if (!p->share)
        return bl_error_memory(e);
    p->shares = 1;
    p->share[0].lengths = p->pieces.lengths;
    return 0;
}

/* Counting sort of the pieces by group: member[] and, in begin, where each group begins there. */
static int sort_members(struct bl_planner *p, size_t groups, size_t *begin, struct bl_error *e)
{
    const struct bl_lengths *all = &p->pieces.lengths;
    p->member = malloc((all->count + 1) * sizeof *p->member);
    if (!p->member)
        return bl_error_memory(e);
    for (size_t i = 0; i < all->count; i++)
        if (bl_lengths_has(all, i))
            begin[group_of(p, i) + 1]++;
    for (size_t g = 0; g < groups; g++)
        begin[g + 1] += begin[g];
    for (size_t i = 0; i < all->count; i++)
        if (bl_lengths_has(all, i))
            p->member[begin[group_of(p, i)]++] = (uint32_t)i;
    memmove(begin + 1, begin, groups * sizeof *begin);
    begin[0] = 0;
    return 0;
}

static int many_shares(struct bl_planner *p, struct bl_error *e)
{
    size_t groups = 0;
    for (size_t i = 0; i < p->count; i++)
        groups = p->options.group[i] >= groups ? (size_t)p->options.group[i] + 1 : groups;
    size_t *begin = calloc(groups + 1, sizeof *begin);
    int code = begin ? sort_members(p, groups, begin, e) : bl_error_memory(e);
    if (code == 0 && !(p->share = calloc(groups + 1, sizeof *p->share)))
        code = bl_error_memory(e);
    for (size_t g = 0; code == 0 && g < groups; g++) {
        if (begin[g] == begin[g + 1])
            continue;
        struct bl_lengths *lengths = &p->share[p->shares++].lengths;
        *lengths = p->pieces.lengths;
        lengths->index = p->member + begin[g];
        lengths->count = begin[g + 1] - begin[g];
    }
    free(begin);
    return code;
}

static int fill_shares(struct bl_planner *p, struct bl_error *e)
{
    int grouped = p->options.group && !is_alone(&p->options) && p->options.order != BL_KEEP_ORDER;
    int code = grouped ? many_shares(p, e) : one_share(p, e);
    p->pieces.lengths.unit = align_of(p);
    p->pieces.lengths.cap = p->counts.T / align_of(p);
    for (size_t s = 0; code == 0 && s < p->shares; s++) {
        p->share[s].lengths.unit = p->pieces.lengths.unit;
        p->share[s].lengths.cap = p->pieces.lengths.cap;
        code = fill_share(p, &p->share[s], e);
    }
    return code;
}

int bl_planner_make(struct bl_planner *p, const int64_t *length, size_t count, const struct bl_plan_options *options,
                    struct bl_error *e)
{
    *p = (struct bl_planner){.options = *options, .length = length, .count = count};
    int code = check_options(options, e);
    if (code == 0)
        code = add_up(&p->counts, length, count, e);
    if (code == 0)
        code = settle_T(&p->counts, length, count, options, e);
    if (code == 0 && !uses_clip(options) && options->oversize == BL_OVERSIZE_ERROR)
        code = refuse_oversize(&p->counts, length, count, options, e);
    if (code == 0 && align_of(p) > p->counts.T)
        code = bl_error_set(e, BL_EUSAGE, "an alignment of %lld is larger than T = %lld", (long long)align_of(p),
                            (long long)p->counts.T);
    if (code == 0)
        code = bl_pieces_make(&p->pieces, length, count, options, &p->counts, e);
    if (code == 0 && p->pieces.count == 0)
        code = bl_error_set(e, BL_EFAIL, "nothing to plan: none of the %lld sequences fits T = %lld%s",
                            (long long)p->counts.sequences, (long long)p->counts.T,
                            options->min_length > 1 || options->max_length ? " and --min-length and --max-length" : "");
    if (code == 0)
        code = fill_shares(p, e);
    if (code < 0) {
        bl_planner_free(p);
        return code;
    }
    p->counts.align = align_of(p);
    p->counts.cut = p->pieces.cut;
    p->counts.dropped = p->pieces.dropped;
    p->counts.deleted = p->counts.steps - p->pieces.steps;
    return 0;
}

static size_t bucket_of(const struct bl_planner *p, const struct bl_share *share, size_t piece)
{
    return bl_histogram_below(&share->h, bl_lengths_units(&p->pieces.lengths, piece) - 1);
}

/* share_of[g] is the share of group g; without groups there is one group. To be freed. */
static int index_shares(const struct bl_planner *p, uint32_t **share_of, struct bl_error *e)
{
    const struct bl_share *last = &p->share[p->shares - 1];
    *share_of = calloc(p->member ? (size_t)group_of(p, last->lengths.index[0]) + 1 : 1, sizeof **share_of);
    if (!*share_of)
        return bl_error_memory(e);
    for (size_t s = 0; p->member && s < p->shares; s++)
        (*share_of)[group_of(p, p->share[s].lengths.index[0])] = (uint32_t)s;
    return 0;
}

/* The pieces of a block, which are of one group, as a pattern of their share. */
static int adopt_block(struct bl_share *share, const struct bl_planner *p, int64_t begin, int64_t end,
                       struct bl_error *e)
{
    int code = 0;
    for (int64_t i = begin; code == 0 && i < end; i++)
        code = bl_patterns_push(&share->patterns, (uint32_t)bucket_of(p, share, (size_t)i), e);
    return code ? code : bl_patterns_close(&share->patterns, 1, e);
}

int bl_planner_adopt(struct bl_planner *p, const struct bl_plan *plan, struct bl_error *e)
{
    uint32_t *share_of;
    int code = index_shares(p, &share_of, e);
    for (size_t s = 0; code == 0 && s < p->shares; s++) {
        struct bl_share *share = &p->share[s];
        code = share->is_single ? bl_histogram_make(&share->h, &share->lengths, e) : 0;
        share->is_single = 0;
        bl_patterns_free(&share->patterns);
    }
    for (size_t b = 0; code == 0 && b < plan->blocks; b++) {
        int64_t begin = plan->block_ptr[b], end = plan->block_ptr[b + 1];
        if (begin < end)
            code = adopt_block(&p->share[share_of[p->member ? group_of(p, (size_t)begin) : 0]], p, begin, end, e);
    }
    free(share_of);
    p->options.fill = BL_FILL_OPTIMAL;
    return code;
}

static void release_share(struct bl_share *share)
{
    bl_histogram_free(&share->h);
    bl_patterns_free(&share->patterns);
}

void bl_planner_free(struct bl_planner *p)
{
    for (size_t s = 0; s < p->shares; s++)
        release_share(&p->share[s]);
    free(p->share);
    free(p->member);
    bl_pieces_free(&p->pieces);
    *p = (struct bl_planner){0};
}

/* --- what the seed decides -------------------------------------------------------------------------------------- */

static int draft_share(struct bl_planner *p, const struct bl_share *share, struct bl_draft *d, uint64_t seed,
                       struct bl_error *e)
{
    struct bl_fill_limits limits = limits_of(p);
    if (is_alone(&p->options))
        return bl_draft_alone(d, &share->lengths, e);
    if (p->options.order == BL_KEEP_ORDER)
        return bl_draft_keep(d, &share->lengths, limits.T, limits.sequences, p->options.group, p->pieces.sequence, e);
    if (p->options.fill == BL_FILL_RANDOM)
        return bl_draft_random(d, &share->lengths, &limits, seed, e);
    if (share->is_single)
        return bl_draft_single(d, &share->lengths, &limits, seed, e);
    if (p->options.fill == BL_FILL_PAPER)
        return bl_draft_paper(d, &share->h, &share->lengths, limits.T, limits.sequences, seed, e);
    return bl_draft_patterns(d, &share->patterns, &share->h, &share->lengths, seed, e);
}

/* Every share has random numbers of its own. */
static int draft_all(struct bl_planner *p, struct bl_draft *d, uint64_t seed, int last, struct bl_error *e)
{
    int code = bl_draft_make(d, p->pieces.count, e);
    for (size_t s = 0; code == 0 && s < p->shares; s++) {
        code = draft_share(p, &p->share[s], d, seed + s * UINT64_C(0x9e3779b97f4a7c15), e);
        if (last)
            release_share(&p->share[s]);
    }
    if (p->shares > 1)
        d->is_shuffled = 0; /* one group after the other */
    return code;
}

static int suit_ranks(struct bl_planner *p, struct bl_draft *d, size_t least, struct bl_error *e)
{
    const struct bl_plan_options *o = &p->options;
    size_t multiple = (size_t)(or_default(o->world_size, 1) * or_default(o->batch_size, 1)), pieces;
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
static int name_sequences(struct bl_plan *plan, const struct bl_pieces *pieces, struct bl_error *e)
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
static int settle_counts(struct bl_planner *p, struct bl_plan *plan, struct bl_error *e)
{
    const struct bl_plan_options *o = &p->options;
    int64_t multiple = or_default(o->world_size, 1) * or_default(o->batch_size, 1);
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
                             .world_size = (size_t)or_default(o->world_size, 1),
                             .batch_size = (size_t)or_default(o->batch_size, 1),
                             .seed = seed,
                             .length = p->pieces.lengths.length};
    *plan = p->counts;
    bl_pieces_draw(&p->pieces, p->length, o, plan->T, seed);
    int code = draft_all(p, &d, seed, last, e);
    if (code == 0)
        code = suit_ranks(p, &d, least, e);
    if (code == 0)
        code = bl_order_apply(plan, &d, &order, e);
    bl_draft_free(&d);
    if (code == 0)
        code = name_sequences(plan, &p->pieces, e);
    if (code == 0)
        code = settle_counts(p, plan, e);
    if (code < 0)
        bl_plan_free(plan);
    return code;
}
