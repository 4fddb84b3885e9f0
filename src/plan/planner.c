/* Makes plans from lengths. What does not depend on the seed is done once: T (options.c), the pieces (strategy.c),
 * their groups (fill.c), a proven bound (histogram.c), and what the fill prepares (fill.c, search_vector.c): mostly
 * patterns (search*.c), or blocks under several maxima (pool_fill.c). For every seed the fill drafts blocks (draft.c)
 * and draws which sequences share them (drawing.c, exchange.c); their number is adapted to the ranks (order.c), their
 * costs (cost.c) are levelled (level.c), and they are ordered and dealt to the ranks (order.c, balance.c).
 *
 * A command with several epochs calls bl_planner_make once and bl_planner_draw for each epoch, so the search, which may
 * take seconds, is not repeated. */
#include "plan/planner.h"

#include <stdlib.h>
#include <string.h>

#include "plan/histogram.h"
#include "plan/pair_repeat.h"
#include "plan/draft.h"
#include "plan/level.h"
#include "plan/needs.h"
#include "plan/options.h"
#include "plan/order.h"
#include "plan/random.h"
#include "plan/strategy.h"

enum { OTHERS = 8 }; /* seeds tried after a repeated partition, before bl_repartition searches */

/* Returns whether pieces share blocks. */
static bool planner_is_packed(const struct bl_planner *p)
{
    return bl_strategies[p->options.strategy]->is_packed;
}

/* Returns whether a fill decides which sequences share a block; otherwise blocks follow the input order. */
static bool planner_has_fill(const struct bl_planner *p)
{
    return bl_strategy_has_fill(&p->options);
}

/* --- independent of the seed ------------------------------------------------------------------------------------ */

/* Returns the limits of a block, in units of --align steps, and of the whole search. */
static struct bl_limits planner_limits(const struct bl_planner *p)
{
    return (struct bl_limits){.T = p->pieces.lengths.cap,
                              .sequences = p->bundles.count ? BL_SEQUENCES_MAX : (uint32_t)p->options.max_sequences,
                              .work = p->options.effort * INT64_C(1000000000),
                              .cancel = p->options.cancel};
}

/* Returns BL_ECANCEL if the caller has cancelled the plan. A search that is cancelled ends early without an error, so
 * that this is asked after each. */
static int planner_check_cancel(const struct bl_planner *p, struct bl_error *e)
{
    const struct bl_limits limits = planner_limits(p);
    return bl_limits_check(&limits, e);
}

/* Returns the functions of the fill: with maxima of columns, the optimal fill has others. */
static const struct bl_fill_ops *planner_fill_ops(const struct bl_planner *p)
{
    bool is_vector = p->needs.count && p->options.fill == BL_FILL_OPTIMAL;
    return is_vector ? &bl_fill_ops_vector : bl_fills[p->options.fill];
}

/* Proves the bound of one subproblem and lets the fill prepare it. The highest of three bounds counts: by steps and
 * sequences, by each column with a maximum, and by the search. work: operations that the search may take; *used:
 * increased by those done. Errors as of bl_planner_make. */
static int planner_prepare(struct bl_planner *p, struct bl_subproblem *s, int64_t work, int64_t *used,
                           struct bl_error *e)
{
    int64_t bound, units;
    int code = bl_histogram_make(&s->h, &s->lengths, e);
    if (code)
        return code;
    code = bl_bound_lengths(&bound, &s->lengths, &s->h, p->counts.T, p->options.max_sequences, e);
    if (code)
        return code;
    for (int c = 0; c < p->needs.count; c++) {
        int64_t by_column = bl_needs_bound(&p->needs.each[c], &s->lengths);
        bound = by_column > bound ? by_column : bound;
    }
    /* The search works with units of --align steps; its bound starts with the one on steps. */
    units = bound;
    if (planner_has_fill(p)) {
        struct bl_limits limits = planner_limits(p);
        limits.work = work;
        limits.used = used;
        s->needs = &p->needs;
        code = planner_fill_ops(p)->prepare(s, &units, &limits, e);
        if (!code)
            code = bl_limits_check(&limits, e);
    } else {
        bl_histogram_free(&s->h);
    }
    /* If units do not divide T, a bound on units proves nothing about steps. */
    p->counts.lower_bound += p->counts.T % p->options.align == 0 ? units : bound;
    return code;
}

/* Prepares all subproblems. Groups share the effort: each may use the part of the remaining work that its sequences are
 * of the remaining sequences, so a group that needs less leaves more to the later ones. */
static int planner_fill(struct bl_planner *p, struct bl_error *e)
{
    p->pieces.lengths.unit = p->options.align;
    p->pieces.lengths.cap = p->counts.T / p->options.align;
    int code = bl_subproblems_make(&p->subproblems, &p->pieces, p->options.group && planner_has_fill(p), e);
    int64_t left = planner_limits(p).work, rest = (int64_t)p->pieces.lengths.count;
    for (size_t s = 0; !code && s < p->subproblems.count; s++) {
        int64_t count = (int64_t)p->subproblems.each[s].lengths.count, used = 0;
        code = planner_prepare(p, &p->subproblems.each[s], count < rest ? left / rest * count : left, &used, e);
        left = left > used ? left - used : 0;
        rest -= count;
    }
    return code;
}

void bl_plan_own_set(struct bl_plan_own *own, const struct bl_plan_options *options)
{
    own->count = 0;
    for (int c = 0; c < options->max_column.count; c++) {
        const struct bl_plan_column *column = &options->max_column.each[c];
        if (!column->is_field)
            continue;
        struct bl_plan_own_field *field = &own->field[own->count++];
        *field = (struct bl_plan_own_field){
            .capacity = options->strategy == BL_STRATEGY_STORE ? 0 : (int64_t)column->max, .length = column->value};
        memcpy(field->name, column->name, (size_t)bl_plan_column_field_size(column));
    }
}

void bl_plan_find_uncuttable(struct bl_plan_oversize *over, const int64_t *length, size_t count,
                             const struct bl_plan_options *options, int64_t T)
{
    enum bl_cut cut = bl_strategies[options->strategy]->cut(options);
    int64_t max_length = options->max_length ? options->max_length : INT64_MAX;
    *over = (struct bl_plan_oversize){0};
    for (int c = 0; c < options->max_column.count && (cut == BL_CUT_SPLIT || cut == BL_CUT_HEAD); c++) {
        const struct bl_plan_column *column = &options->max_column.each[c];
        for (size_t i = count; i-- > 0 && column->is_field;) {
            if (length[i] <= T || length[i] < options->min_length || length[i] > max_length || column->value[i] <= 0)
                continue;
            over->count++;
            over->first = i;
            over->longest = length[i] > over->longest ? length[i] : over->longest;
        }
    }
}

/* Checks that no sequence is longer than T unless --oversize handles it, and that a sequence with steps of its own is
 * not cut. BL_EFAIL names the first one. */
static int planner_check_oversize(const struct bl_planner *p, struct bl_error *e)
{
    const struct bl_plan_options *o = &p->options;
    struct bl_plan_oversize over;
    bl_plan_find_uncuttable(&over, p->length, p->count, o, p->counts.T);
    if (over.count)
        return bl_error_set(e, BL_EFAIL,
                            "sequence %zu has %lld steps, more than T = %lld, and a field with steps of its own: it "
                            "cannot be cut; use a larger T, or --oversize drop",
                            over.first, (long long)p->length[over.first], (long long)p->counts.T);
    if (bl_strategies[o->strategy]->cut(o) != BL_CUT_NOTHING || o->oversize != BL_OVERSIZE_ERROR ||
        p->counts.longest <= p->counts.T)
        return BL_OK;
    bl_plan_find_oversize(&over, p->length, p->count, o, p->counts.T);
    if (!over.count)
        return BL_OK;
    return bl_error_set(
        e, BL_EFAIL,
        "sequence %zu has %lld steps, more than T = %lld (too long: %zu, up to %lld steps): use a larger T, or "
        "--oversize split, truncate or drop",
        over.first, (long long)p->length[over.first], (long long)p->counts.T, over.count, (long long)over.longest);
}

/* Gives the options that were not given their defaults, so that no later function needs to test for 0. */
static void set_defaults(struct bl_planner *p)
{
    struct bl_plan_options *o = &p->options;
    if (bl_strategies[o->strategy]->is_kept)
        o->order = BL_KEEP_ORDER;
    o->cp = planner_is_packed(p) ? o->cp : 0;
    o->align = planner_is_packed(p) ? bl_plan_options_align(o) : 1;
    o->max_sequences = o->max_sequences ? o->max_sequences : BL_SEQUENCES_MAX;
    o->effort = o->effort ? o->effort : BL_EFFORT_DEFAULT;
    o->world_size = o->world_size ? o->world_size : 1;
    o->batch_size = o->batch_size ? o->batch_size : 1;
    o->accumulate = o->accumulate ? o->accumulate : 1;
    if (o->balance == BL_BALANCE_AUTO)
        o->balance = bl_plan_cost_is_given(&o->cost) ? BL_BALANCE_COST : BL_BALANCE_NONE;
}

/* BL_EFAIL: no piece is left to be planned. */
static int planner_check_pieces(const struct bl_planner *p, struct bl_error *e)
{
    const struct bl_plan_options *o = &p->options;
    if (p->pieces.count)
        return BL_OK;
    return bl_error_set(e, BL_EFAIL, "nothing to plan: none of the %lld sequences fits T = %lld%s",
                        (long long)p->counts.sequences, (long long)p->counts.T,
                        o->min_length > 1 || o->max_length ? " and --min-length and --max-length" : "");
}

/* Replaces the pieces, what they need and what they cost by bundles of them. Errors as of bl_bundles_make. */
static int planner_bundle(struct bl_planner *p, struct bl_error *e)
{
    BL_TRY(bl_bundles_make(&p->bundles, &p->pieces, &p->needs, p->length, p->count, &p->options, &p->counts, e));
    if (!p->bundles.count)
        return planner_check_pieces(p, e);
    p->counts.bundles = p->bundles.given;
    p->counts.bundles_split = p->bundles.split;
    BL_TRY(bl_bundles_need(&p->bundles, &p->needs, p->options.max_sequences, e));
    return bl_cost_bundle(&p->cost, &p->bundles, &p->pieces, e);
}

/* Sets the counts that depend on the pieces alone. */
static void planner_count_pieces(struct bl_planner *p)
{
    struct bl_plan *counts = &p->counts;
    counts->cut = p->pieces.cut;
    counts->dropped = p->pieces.dropped;
    counts->repeated = p->pieces.repeated;
    counts->deleted = counts->steps - (p->pieces.steps - p->pieces.repeated);
}

int bl_planner_make(struct bl_planner *p, const int64_t *length, size_t count, const struct bl_plan_options *options,
                    struct bl_error *e)
{
    *p = (struct bl_planner){.options = *options, .length = length, .count = count};
    struct bl_plan *counts = &p->counts;
    int code = bl_plan_options_check(options, e);
    if (code)
        goto out;
    code = bl_capacity_resolve(counts, length, count, options, e);
    if (code)
        goto out;
    bl_plan_own_set(&counts->own, &p->options); /* every plan has the same */
    for (int f = 0; f < counts->own.count && options->strategy != BL_STRATEGY_STORE && !code; f++) {
        if (!counts->own.field[f].capacity)
            code = bl_error_set(e, BL_EUSAGE, "the capacity of %s is still to be found", counts->own.field[f].name);
    }
    if (code)
        goto out;
    code = planner_check_oversize(p, e);
    if (code)
        goto out;
    set_defaults(p);
    code = bl_plan_options_check_cp(&p->options, counts->T, e);
    if (code)
        goto out;
    /* A plan has the alignment and the overlap that its strategy uses, whatever other options say. */
    counts->align = p->options.align;
    counts->overlap = bl_strategies[options->strategy]->cut(options) == BL_CUT_SPLIT ? options->overlap : 0;
    counts->is_store = options->strategy == BL_STRATEGY_STORE;
    if (counts->align > counts->T) {
        code = bl_error_set(e, BL_EUSAGE, "an alignment of %lld is larger than T = %lld", (long long)counts->align,
                            (long long)counts->T);
        goto out;
    }
    if (counts->overlap >= counts->T) {
        code = bl_error_set(e, BL_EUSAGE, "an overlap of %lld is not below T = %lld: give a smaller one, or a larger T",
                            (long long)counts->overlap, (long long)counts->T);
        goto out;
    }
    code = bl_pieces_make(&p->pieces, length, count, options, counts, e);
    if (code)
        goto out;
    code = planner_check_pieces(p, e);
    if (code)
        goto out;
    if (!bl_strategies[options->strategy]->is_kept) /* a store has no maxima */
        code = bl_needs_make(&p->needs, &p->pieces, length, &p->options.max_column, e);
    if (!code)
        code = bl_cost_make(&p->cost, &p->pieces, length, counts->T, &p->options, e);
    if (!code && p->options.together)
        code = planner_bundle(p, e);
    planner_count_pieces(p);
    if (!code)
        code = planner_fill(p, e);
out:
    if (code)
        bl_planner_free(p);
    return code;
}

/* The lengths are the caller's, and are not freed. */
void bl_planner_free(struct bl_planner *p)
{
    bl_subproblems_free(&p->subproblems);
    bl_pieces_free(&p->pieces);
    bl_needs_free(&p->needs);
    bl_bundles_free(&p->bundles);
    bl_cost_free(&p->cost);
    *p = (struct bl_planner){0};
}

/* --- adopting the patterns of another plan ---------------------------------------------------------------------- */

/* Adds the pieces of a block, all of one group, as a pattern that is used once. BL_EFAIL: out of memory. */
static int planner_adopt_block(struct bl_planner *p, struct bl_subproblem *s, size_t begin, size_t end,
                               struct bl_error *e)
{
    for (size_t i = begin; i < end; i++) {
        int64_t length = bl_lengths_units(&p->pieces.lengths, i);
        BL_TRY(bl_patterns_push(&s->patterns, (uint32_t)bl_histogram_below(&s->h, length - 1), e));
    }
    return bl_patterns_close(&s->patterns, 1, e);
}

/* Adds the pieces of a block to the kept draft, which plans with maxima of columns use instead of patterns. */
static int planner_adopt_kept(struct bl_subproblem *s, size_t begin, size_t end, struct bl_error *e)
{
    for (size_t i = begin; i < end; i++)
        s->kept.sequence[s->kept.pieces + i - begin] = (uint32_t)i;
    return bl_draft_close(&s->kept, end - begin, e);
}

/* Returns the group of the pieces of a subproblem; 0 if one subproblem has all pieces. */
static uint32_t subproblem_group(const struct bl_planner *p, const struct bl_subproblem *s)
{
    return p->subproblems.member ? bl_pieces_group(&p->pieces, s->lengths.index[0]) : 0;
}

/* Returns the end of the pieces of an adopted block, which begin with `begin`. The pieces of a bundle follow each other
 * in the adopted plan, so bundles have the order of their first pieces. */
static size_t planner_adopted_end(const struct bl_planner *p, const struct bl_plan *plan, size_t block, size_t begin)
{
    size_t end = (size_t)plan->block_ptr[block + 1];
    if (!p->bundles.count)
        return end;
    while (begin < p->bundles.count && p->bundles.first[begin] < end)
        begin++;
    return begin;
}

uint64_t bl_planner_hash_adopted(const struct bl_planner *p, const struct bl_plan *plan)
{
    uint64_t sum = 0;
    size_t end = 0;
    for (size_t b = 0; b < plan->blocks; b++) {
        size_t begin = end;
        end = planner_adopted_end(p, plan, b, begin);
        sum += bl_partition_hash_range(begin, end);
    }
    return sum;
}

int bl_planner_adopt(struct bl_planner *p, const struct bl_plan *plan, struct bl_error *e)
{
    const struct bl_subproblems *all = &p->subproblems;
    /* Subproblems ascend by group, so the last one has the highest. */
    size_t groups = (size_t)subproblem_group(p, &all->each[all->count - 1]) + 1;
    size_t end = 0;                                                  /* of the pieces or bundles of a block */
    uint32_t *subproblem_of = calloc(groups, sizeof *subproblem_of); /* by group */
    int code = subproblem_of ? BL_OK : bl_error_memory(e);
    /* Empties every subproblem and gives it the table that the adopted blocks need: a draft, or a histogram for the
     * patterns. */
    for (size_t i = 0; i < all->count && !code; i++) {
        struct bl_subproblem *s = &all->each[i];
        subproblem_of[subproblem_group(p, s)] = (uint32_t)i;
        bl_patterns_free(&s->patterns);
        if (p->needs.count)
            code = bl_draft_make(&s->kept, s->lengths.count, e);
        else if (s->by_sequence)
            code = bl_histogram_make(&s->h, &s->lengths, e);
        s->by_sequence = false;
    }
    for (size_t b = 0; b < plan->blocks && !code; b++) {
        size_t begin = end;
        end = planner_adopted_end(p, plan, b, begin);
        /* All pieces of a block are of one group, so the first one decides. */
        uint32_t group = all->member && begin < end ? bl_pieces_group(&p->pieces, begin) : 0;
        struct bl_subproblem *s = &all->each[subproblem_of[group]];
        if (begin < end)
            code = p->needs.count ? planner_adopt_kept(s, begin, end, e) : planner_adopt_block(p, s, begin, end, e);
    }
    free(subproblem_of);
    /* Only the optimal fill drafts from patterns and kept blocks. */
    p->options.fill = BL_FILL_OPTIMAL;
    return code;
}

/* --- depending on the seed -------------------------------------------------------------------------------------- */

/* Returns the blocks per optimizer step of all ranks. */
static size_t planner_step(const struct bl_planner *p)
{
    return (size_t)(p->options.world_size * p->options.batch_size * p->options.accumulate);
}

/* Returns the ranks with the number of batches between two synchronization points. */
static struct bl_ranks planner_ranks(const struct bl_planner *p)
{
    const struct bl_plan_options *o = &p->options;
    return (struct bl_ranks){(size_t)o->world_size, (size_t)o->batch_size,
                             o->sync == BL_SYNC_STEP ? (size_t)o->accumulate : 1};
}

/* Returns whether costs decide the order. AUTO was replaced by bl_planner_make. */
static bool planner_is_balanced(const struct bl_planner *p)
{
    return p->options.balance > BL_BALANCE_NONE;
}

/* Drafts the blocks of one subproblem. Strategies that do not pack give each piece a block. */
static int planner_draft_subproblem(const struct bl_planner *p, const struct bl_subproblem *s, struct bl_draft *d,
                                    const struct bl_wanted *wanted, uint64_t seed, struct bl_error *e)
{
    struct bl_limits limits = planner_limits(p);
    if (!planner_is_packed(p))
        limits.sequences = 1;
    if (!planner_has_fill(p))
        return bl_draft_keep(d, &p->pieces, &limits, &p->needs, e);
    return planner_fill_ops(p)->draft(d, s, &limits, wanted, seed, e);
}

/* Drafts the blocks of all subproblems, each with its own random numbers. last: frees each subproblem after its
 * draft. */
static int planner_draft(struct bl_planner *p, struct bl_draft *d, uint64_t seed, size_t min_blocks, bool last,
                         struct bl_error *e)
{
    /* A little room in every block lets many more sequences be exchanged to level the costs. Where there are several
     * groups, only the sum of their blocks has to suit the ranks. */
    bool is_spread = p->options.remainder == BL_REMAINDER_SPREAD, is_one = p->subproblems.count == 1;
    double spare = planner_is_balanced(p) && is_spread ? 0.001 : 0;
    const struct bl_wanted wanted = {.multiple = is_spread && is_one ? planner_step(p) : 1,
                                     .least = is_spread && is_one ? min_blocks : 0,
                                     .spare = p->options.spare > spare ? p->options.spare : spare};
    /* The fills differ in what they can limit: only the optimal one moves sequences between blocks by several
     * maxima. */
    if (p->needs.count && planner_has_fill(p) && p->options.fill != BL_FILL_OPTIMAL)
        return bl_error_set(e, BL_EUSAGE, "%s needs --fill optimal, not %s",
                            p->counts.own.count                            ? "a field with steps of its own"
                            : p->needs.count > p->options.max_column.count ? "--together with --max-sequences"
                                                                           : "--max-column",
                            bl_fill_names[p->options.fill]);
    /* The seed of each subproblem differs by a multiple of 2^64 / golden ratio, so that equal groups are drawn
     * differently. */
    int code = bl_draft_make(d, p->pieces.count, e);
    for (size_t s = 0; s < p->subproblems.count && !code; s++) {
        code = planner_draft_subproblem(p, &p->subproblems.each[s], d, &wanted, seed + s * UINT64_C(0x9e3779b97f4a7c15),
                                        e);
        if (!code)
            code = planner_check_cancel(p, e);
        if (last)
            bl_subproblem_free(&p->subproblems.each[s]);
    }
    if (p->subproblems.count > 1)
        d->is_shuffled = false; /* the groups follow one another */
    return code;
}

/* Returns how the blocks of a seed are ordered: as drafted with --order keep, by costs with a balance, otherwise at
 * random. */
static struct bl_order planner_order(const struct bl_planner *p, uint64_t seed)
{
    bool is_kept = p->options.order == BL_KEEP_ORDER;
    return (struct bl_order){.kind = is_kept                  ? BL_ORDER_AS_DRAFTED
                                     : planner_is_balanced(p) ? BL_ORDER_LEVEL
                                                              : BL_ORDER_SHUFFLED,
                             .ranks = planner_ranks(p),
                             .seed = seed,
                             .cost = &p->cost};
}

/* Makes the blocks of a seed, as many as the ranks need, and levels their costs. The caller frees the draft, also after
 * errors. */
static int planner_make_blocks(struct bl_planner *p, struct bl_draft *d, uint64_t seed, size_t min_blocks, bool last,
                               struct bl_plan *plan, struct bl_error *e)
{
    BL_TRY(planner_draft(p, d, seed, min_blocks, last, e));
    p->removed = p->options.remainder == BL_REMAINDER_DROP ? d->blocks % planner_step(p) : 0;
    switch (p->options.remainder) {
    case BL_REMAINDER_PAD:
        BL_TRY(bl_ranks_pad(d, planner_step(p), min_blocks, e));
        break;
    case BL_REMAINDER_SPREAD:
        BL_TRY(bl_ranks_spread(d, planner_step(p), min_blocks, e));
        break;
    case BL_REMAINDER_DROP:
        BL_TRY(bl_ranks_drop(d, planner_step(p), p->pieces.lengths.length, e));
        break;
    }
    /* With several ranks, the plan reports what they lose before levelling, and what they lose at least in any
     * order. */
    const struct bl_limits limits = planner_limits(p);
    const struct bl_level level = {
        .cost = &p->cost, .limits = &limits, .needs = &p->needs, .row = (size_t)p->options.world_size, .seed = seed};
    const struct bl_order order = planner_order(p, seed);
    struct bl_plan_balance *balance = &plan->balance;
    balance->is_measured = order.ranks.world_size > 1;
    if (balance->is_measured) {
        balance->points = p->options.cost.fields > 1 ? p->cost.points : 0;
        for (int i = 0; i < balance->points; i++)
            memcpy(balance->point[i].name, p->cost.point[i].name, sizeof balance->point[i].name);
        BL_TRY(bl_loss_bound(balance, d, &p->cost, &order.ranks, p->options.max_sequences, e));
        BL_TRY(bl_order_lost(balance, d, &order, e));
    }
    BL_TRY(planner_check_cancel(p, e));
    return planner_is_balanced(p) && planner_has_fill(p) ? bl_level_blocks(d, &level, e) : BL_OK;
}

/* Tries up to OTHERS other seeds instead of this one, until the partition is new. A plan with another number of blocks
 * is not used: all epochs of a dataset have the same number. */
static int planner_draw_others(struct bl_planner *p, struct bl_draft *d, uint64_t seed, size_t min_blocks,
                               struct bl_plan *plan, struct bl_error *e)
{
    const struct bl_piece_names names = {&p->pieces, p->name};
    struct bl_random random;
    int code = BL_OK;
    bl_random_seed(&random, seed, BL_STREAM_OTHER);
    for (int i = 0; i < OTHERS && !code && p->is_repeated; i++) {
        struct bl_draft other = {0};
        code = planner_make_blocks(p, &other, bl_random_next(&random), min_blocks, false, plan, e);
        p->is_repeated = code || other.blocks != d->blocks ||
                         bl_partitions_have(p->taken, p->partition = bl_partition_hash(&other, &names));
        if (!p->is_repeated) {
            bl_draft_free(d);
            *d = other;
        } else {
            bl_draft_free(&other);
        }
    }
    return code;
}

/* Returns whether any pieces share a block. Without pairs, a repeated partition repeats nothing. */
static bool draft_has_pairs(const struct bl_draft *d)
{
    for (size_t b = 0; b < d->blocks; b++) {
        if (bl_draft_size(d, b) > 1)
            return true;
    }
    return false;
}

/* Replaces the draft if its partition is taken: by the draft of another seed, or, if all of these are taken, by
 * exchanges between some of its blocks. Then adds its partition to those that are taken. */
static int planner_differ(struct bl_planner *p, struct bl_draft *d, uint64_t seed, size_t min_blocks,
                          struct bl_plan *plan, struct bl_error *e)
{
    const struct bl_piece_names names = {&p->pieces, p->name};
    const struct bl_limits limits = planner_limits(p);
    const struct bl_repartition r = {&names, &limits, &p->needs, p->taken, seed};
    const struct bl_plan_balance balance = plan->balance;
    int code = BL_OK;
    p->partition = bl_partition_hash(d, &names);
    p->is_repeated = p->taken && draft_has_pairs(d) && bl_partitions_have(p->taken, p->partition);
    if (p->is_repeated && planner_has_fill(p)) {
        uint64_t own = p->partition;
        size_t removed = p->removed;
        code = planner_draw_others(p, d, seed, min_blocks, plan, e);
        if (!code && p->is_repeated) {
            /* No other seed gave a new partition, so the measures of the first draft are restored. */
            p->partition = own;
            p->removed = removed;
            plan->balance = balance;
            code = bl_repartition(d, &r, &p->partition, e);
            p->is_repeated = p->partition == own;
        }
    }
    return code || !p->taken ? code : bl_partitions_add(p->taken, p->partition, e);
}

/* Converts plan->sequence from pieces to sequences, and sets length and start of the pieces if anything was cut.
 * BL_EFAIL: out of memory. */
static int plan_name_sequences(struct bl_plan *plan, const struct bl_pieces *pieces, struct bl_error *e)
{
    if (!pieces->sequence)
        return BL_OK;
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
    return BL_OK;
}

/* Sets the counts that depend on the number of blocks. The bound is rounded up to whole steps of all ranks. If blocks
 * were dropped, the bound is lowered by their number, and a check recounts the steps that are left. */
static int planner_count(const struct bl_planner *p, struct bl_plan *plan, struct bl_error *e)
{
    /* The steps of the repeated overlap are in p->pieces.steps, so they are not padding. */
    int64_t step = (int64_t)planner_step(p);
    plan->padding = (int64_t)plan->blocks * plan->T - p->pieces.steps;
    plan->align_padding = bl_plan_align_padding(plan, p->length);
    if (p->options.remainder != BL_REMAINDER_DROP) {
        plan->lower_bound = (plan->lower_bound + step - 1) / step * step;
        return BL_OK;
    }
    plan->lower_bound -= (int64_t)p->removed;
    if (!p->removed)
        return BL_OK;
    BL_TRY(bl_plan_check(plan, p->length, p->count, e));
    return bl_bundles_recount(&p->bundles, plan, p->length, p->count, &p->options, e);
}

int bl_planner_draw(struct bl_planner *p, uint64_t seed, size_t min_blocks, bool last, struct bl_plan *plan,
                    struct bl_error *e)
{
    struct bl_draft d = {0};
    const struct bl_order order = planner_order(p, seed);
    /* Without earlier partitions, this plan is drawn once, so memory can be freed early. */
    bool may_differ = p->taken && p->taken->count;
    /* The plan begins with the counts that all seeds share. */
    *plan = p->counts;
    p->seed = seed;
    bl_pieces_draw(&p->pieces, p->length, plan->T, seed);
    int code = planner_make_blocks(p, &d, seed, min_blocks, last && !may_differ, plan, e);
    if (code)
        goto out;
    p->is_repeated = false;
    if (p->taken || !last)
        code = planner_differ(p, &d, seed, min_blocks, plan, e);
    if (code)
        goto out;
    code = planner_check_cancel(p, e);
    if (code)
        goto out;
    /* The order moves the tables from the draft to the plan. */
    code = bl_order_apply(plan, &d, &order, e);
    if (code)
        goto out;
    bl_draft_free(&d);
    /* The blocks are measured by the columns with a maximum while plan->sequence still has pieces, which the needs
     * refer to. */
    for (int c = 0; c < p->options.max_column.count && c < p->needs.count; c++) {
        const struct bl_need *need = &p->needs.each[c];
        double sum = 0, highest = 0;
        for (size_t b = 0; b < plan->blocks; b++) {
            int64_t units = 0;
            for (int64_t i = plan->block_ptr[b]; i < plan->block_ptr[b + 1]; i++)
                units += need->of[plan->sequence[i]];
            sum += (double)units;
            highest = (double)units > highest ? (double)units : highest;
        }
        plan->filled[c].mean = sum / ((double)need->most * (double)plan->blocks);
        plan->filled[c].highest = highest / (double)need->most;
    }
    code = bl_bundles_open(&p->bundles, plan, e);
    if (!code)
        code = plan_name_sequences(plan, p->bundles.count ? &p->bundles.pieces : &p->pieces, e);
    if (!code)
        code = planner_count(p, plan, e);
out:
    bl_draft_free(&d);
    if (code)
        bl_plan_free(plan);
    return code;
}

int bl_planner_measure_pair_repeat(struct bl_planner *p, const struct bl_plan *plan, struct bl_pair_repeat *pair_repeat,
                                   struct bl_error *e)
{
    struct bl_plan other = {0};
    /* Without pairs the rate is 0, and no second plan is needed. */
    *pair_repeat = (struct bl_pair_repeat){.is_measured = true};
    if (!bl_pair_repeat_count_pairs(plan))
        return BL_OK;
    int code = bl_planner_draw(p, p->seed + 1, 0, true, &other, e); /* unsigned: 0 follows the largest seed */
    if (!code)
        code = bl_pair_repeat_measure(pair_repeat, plan, &other, p->count, e);
    if (!code) /* --remainder drop may leave out others */
        bl_pair_repeat_leave_out(pair_repeat,
                                 plan->bundle_pairs < other.bundle_pairs ? plan->bundle_pairs : other.bundle_pairs);
    bl_plan_free(&other);
    return code;
}

int bl_plan_make(struct bl_plan *plan, const int64_t *length, size_t count, const struct bl_plan_options *options,
                 struct bl_error *e)
{
    struct bl_planner planner;
    *plan = (struct bl_plan){0};
    BL_TRY(bl_planner_make(&planner, length, count, options, e));
    int code = bl_planner_draw(&planner, options->seed, 0, true, plan, e);
    bl_planner_free(&planner);
    return code;
}
