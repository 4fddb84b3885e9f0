/* What ranks lose by waiting: known answers, a bound that no plan beats, and what levelling achieves. */
#include <math.h>

#include "plan/planner.h"
#include "plan/random.h"
#include "unit.h"

static struct bl_plan make(const int64_t *length, size_t count, const struct bl_plan_options *o)
{
    struct bl_plan plan;
    struct bl_error e = {0};
    ck_assert_msg(bl_plan_make(&plan, length, count, o, &e) == 0, "%s", e.text);
    return plan;
}

static struct bl_plan_balance balance(const int64_t *length, size_t count, const struct bl_plan_options *o)
{
    OWNED(bl_plan_free) struct bl_plan plan = make(length, count, o);
    struct bl_plan_balance b = plan.balance;
    return b;
}

/* Blocks in the order of the list, one sequence each. */
static struct bl_plan_options kept(int64_t T)
{
    return (struct bl_plan_options){
        .strategy = BL_STRATEGY_NAIVE, .T = T, .world_size = 2, .order = BL_KEEP_ORDER, .balance = BL_BALANCE_NONE};
}

UNIT_TEST(losses_are_as_computed_by_hand)
{
    static const int64_t length[] = {4, 2, 2, 4};
    static const double column[] = {3, 1, 1, 1};
    struct bl_plan_options o = kept(4);
    ck_assert_double_eq_tol(balance(length, 4, &o).lost, 16 / 10.0 - 1, 1e-9); /* 16 and 4, 4 and 16 */
    ck_assert_double_eq_tol(balance(length, 4, &o).highest, 1.6, 1e-9);
    ck_assert_double_eq_tol(balance(length, 4, &o).neighbours, (-2 + 1) / 4.0, 1e-9);
    o.cost = (struct bl_plan_cost){.alpha = 10, .beta = 0.5}; /* 48 and 42, 42 and 48 */
    ck_assert_double_eq_tol(balance(length, 4, &o).lost, 48 / 45.0 - 1, 1e-9);
    o.accumulate = 2;
    ck_assert_double_eq_tol(balance(length, 4, &o).lost, 48 / 45.0 - 1, 1e-9);
    o.sync = BL_SYNC_STEP; /* 90 and 90 */
    ck_assert_double_eq_tol(balance(length, 4, &o).lost, 0, 1e-9);
    o.accumulate = 1;
    o.batch_size = 2;
    ck_assert_double_eq_tol(balance(length, 4, &o).lost, 0, 1e-9);
    o = kept(4);
    o.cost.column = "column";
    o.column = column;
    ck_assert_double_eq_tol(balance(length, 4, &o).lost, (3 + 1) / 3.0 - 1, 1e-9);
}

/* A sequence of 6 that costs 6 becomes pieces of 4 and 2, which cost 4 and 2. */
UNIT_TEST(pieces_share_the_cost_of_a_column_by_steps)
{
    static const int64_t length[] = {6, 4, 4};
    static const double column[] = {6, 0, 3};
    struct bl_plan_options o = kept(4);
    o.oversize = BL_OVERSIZE_SPLIT;
    o.cost.column = "column";
    o.column = column;
    ck_assert_double_eq_tol(balance(length, 3, &o).lost, (4 + 3) / 4.5 - 1, 1e-9);
}

/* A wait that is padded costs alpha all the same. */
UNIT_TEST(padding_blocks_cost_alpha)
{
    static const int64_t length[] = {4, 4, 4};
    struct bl_plan_options o = kept(4);
    o.remainder = BL_REMAINDER_PAD;
    o.cost = (struct bl_plan_cost){.alpha = 4, .beta = 1};
    ck_assert_double_eq_tol(balance(length, 3, &o).lost, (32 + 32) / (32 + 24.0) - 1, 1e-9);
}

static void assert_refused(const struct bl_plan_options *o, const char *why)
{
    static const int64_t length[] = {4, 2};
    struct bl_plan plan;
    struct bl_error e = {0};
    FAILS_WITH(bl_plan_make(&plan, length, 2, o, &e), BL_EUSAGE, why);
}

UNIT_TEST(bad_costs_are_refused)
{
    static const struct bl_plan_cost costs[] = {{.alpha = -1, .beta = 1},       {.alpha = 1, .beta = -1},
                                                {.alpha = NAN, .beta = 1},      {.alpha = 1, .beta = NAN},
                                                {.alpha = INFINITY, .beta = 1}, {.beta = 1e308}};
    static const double columns[][2] = {{-1, 1}, {NAN, 1}, {1, INFINITY}, {1e308, 1e308}, {0, 0}};
    struct bl_plan_options o = kept(4);
    o.balance = BL_BALANCE_COST;
    assert_refused(&o, "--balance cost needs");
    o.balance = BL_BALANCE_NONE;
    for (size_t i = 0; i < COUNT(costs); i++) {
        o.cost = costs[i];
        o.T = i + 1 == COUNT(costs) ? 1 << 20 : 4;
        assert_refused(&o, "must be numbers of at least 0");
    }
    o.cost = (struct bl_plan_cost){.column = "column"};
    assert_refused(&o, "--cost column needs a table");
    for (size_t i = 0; i < COUNT(columns); i++) {
        o.column = columns[i];
        assert_refused(&o, i < 3 ? "a cost is a number" : i == 3 ? "add up" : "no block costs anything");
    }
}

/* --- the bound -------------------------------------------------------------------------------------------------- */

struct tiny {
    int64_t length[6];
    size_t count, blocks, ranks, turn; /* turn: blocks of a rank in a wait */
    int64_t T;
    double alpha;
    int64_t room[4];
    double cost[4], least;
};

/* Every way to put the pieces into the blocks: the least that waiting costs. Block b is of rank b % ranks, and of the
 * wait b / ranks / turn. */
static void tiny_try(struct tiny *t, size_t i)
{
    if (i < t->count) {
        for (size_t b = 0; b < t->blocks; b++) {
            if (t->room[b] < t->length[i])
                continue;
            double square = (double)(t->length[i] * t->length[i]);
            t->room[b] -= t->length[i];
            t->cost[b] += square;
            tiny_try(t, i + 1);
            t->room[b] += t->length[i];
            t->cost[b] -= square;
        }
        return;
    }
    double highest = 0, sum = 0;
    for (size_t w = 0; w < t->blocks / t->ranks / t->turn; w++) {
        double rank[4] = {0}, most = 0;
        for (size_t k = 0; k < t->ranks * t->turn; k++)
            rank[k % t->ranks] += t->alpha * (double)t->T + t->cost[w * t->ranks * t->turn + k];
        for (size_t r = 0; r < t->ranks; r++) {
            sum += rank[r];
            most = rank[r] > most ? rank[r] : most;
        }
        highest += most;
    }
    double lost = highest * (double)t->ranks / sum - 1;
    t->least = lost < t->least ? lost : t->least;
}

/* Over hundreds of tiny lists no plan at all beats the bound; in some it is all that must be lost. */
UNIT_TEST(no_plan_beats_the_bound)
{
    int positive = 0, tight = 0;
    struct bl_random r;
    bl_random_seed(&r, 7, BL_STREAM_CLIP);
    for (int k = 0; k < unit_times(300); k++) {
        struct tiny t = {.count = 4 + bl_random_below(&r, 3),
                         .ranks = 2,
                         .turn = 1 + bl_random_below(&r, 2),
                         .T = 24,
                         .alpha = k % 3 * 2.0,
                         .least = INFINITY};
        for (size_t i = 0; i < t.count; i++)
            t.length[i] = 1 + (int64_t)bl_random_below(&r, bl_random_below(&r, 2) ? 24 : 6);
        struct bl_plan_options o = {.strategy = BL_STRATEGY_BLOCK,
                                    .T = t.T,
                                    .world_size = 2,
                                    .accumulate = (int64_t)t.turn,
                                    .sync = BL_SYNC_STEP,
                                    .remainder = BL_REMAINDER_PAD,
                                    .cost = {.alpha = t.alpha, .beta = 1}};
        OWNED(bl_plan_free) struct bl_plan plan = make(t.length, t.count, &o);
        t.blocks = plan.blocks;
        if (t.blocks <= 4) {
            for (size_t b = 0; b < t.blocks; b++)
                t.room[b] = t.T;
            tiny_try(&t, 0);
            ck_assert_double_le(plan.balance.bound, t.least + 1e-9);
            ck_assert_double_ge(plan.balance.lost, t.least - 1e-9);
            positive += plan.balance.bound > 0;
            tight += plan.balance.bound > 0 && plan.balance.bound > t.least - 1e-9;
        }
    }
    ck_assert_int_gt(positive, 20);
    ck_assert_int_gt(tight, 0);
}

/* --- levelling -------------------------------------------------------------------------------------------------- */

/* Log-normal lengths up to `most`: many short, few long. */
static int64_t *draw_lengths(size_t count, double middle, double sigma, int64_t most, uint64_t seed)
{
    struct bl_random r;
    int64_t *length = malloc(count * sizeof *length);
    ck_assert_ptr_nonnull(length);
    bl_random_seed(&r, seed, BL_STREAM_FILL);
    for (size_t i = 0; i < count;) {
        double u = ((double)(bl_random_next(&r) >> 11) + 0.5) / 9007199254740992.0;
        double v = ((double)(bl_random_next(&r) >> 11) + 0.5) / 9007199254740992.0;
        double x = middle * exp(sigma * sqrt(-2 * log(u)) * cos(6.283185307179586 * v));
        if (x >= 1 && x <= (double)most)
            length[i++] = (int64_t)x;
    }
    return length;
}

static const struct bl_plan_cost kinds[] = {{.beta = 1}, {.alpha = 3e4, .beta = 1}};

/* No sequence is longer than T / 4: all blocks cost alike, so that steps are drawn at random. */
UNIT_LOOP(short_sequences_level_all_blocks, unit_unless_brief(3))
{
    size_t count = 40000;
    int64_t T = 16384, *length = draw_lengths(count, 300, 1.2, T / 4, 5);
    struct bl_plan_options o = {
        .strategy = BL_STRATEGY_BLOCK, .T = T, .world_size = 8, .cost = kinds[_i % 2], .batch_size = 1 + _i / 2};
    OWNED(bl_plan_free) struct bl_plan plan = make(length, count, &o), again = make(length, count, &o);
    struct bl_plan_balance *b = &plan.balance;
    ck_assert_double_gt(b->lost_before, 1.5 * b->lost);
    ck_assert_double_le(b->lost, 0.01);
    ck_assert_double_le(b->highest, 1.05);
    ck_assert_double_le(b->apart, 1.15 * b->apart_drawn);
    ck_assert_double_le(fabs(b->neighbours), 0.15);
    ck_assert_int_le((int64_t)plan.blocks, plan.lower_bound + plan.lower_bound / 1000 + 8 * o.batch_size);
    ck_assert_mem_eq(plan.sequence, again.sequence, plan.pieces * sizeof *plan.sequence);
    free(length);
}

/* Sequences up to T: dear blocks are dealt to all ranks at once, or offset by cheap ones. */
UNIT_LOOP(long_sequences_lose_little, unit_unless_brief(4))
{
    size_t count = 60000;
    int64_t T = 32768, *length = draw_lengths(count, 300, 1.5, T, 6);
    struct bl_plan_options o = {.strategy = BL_STRATEGY_BLOCK,
                                .T = T,
                                .world_size = 8,
                                .accumulate = 4,
                                .cost = kinds[_i % 2],
                                .sync = _i / 2 ? BL_SYNC_STEP : BL_SYNC_MICRO};
    OWNED(bl_plan_free) struct bl_plan plan = make(length, count, &o);
    ck_assert_double_le(plan.balance.lost, 0.01);
    ck_assert_double_ge(plan.balance.lost, plan.balance.bound - 1e-9);
    ck_assert_double_gt(plan.balance.lost_before, 0.1);
    ck_assert_int_le((int64_t)plan.blocks, plan.lower_bound + plan.lower_bound / 1000 + 32);
    free(length);
}

/* Of the waits of an epoch, each quarter has about as much of the dear ones. */
UNIT_LOOP(dear_steps_are_spread_over_the_epoch, unit_unless_brief(1))
{
    size_t count = 60000;
    int64_t T = 32768, *length = draw_lengths(count, 300, 1.5, T, 6);
    struct bl_plan_options o = {.strategy = BL_STRATEGY_BLOCK, .T = T, .world_size = 4, .cost = kinds[0]};
    OWNED(bl_plan_free) struct bl_plan plan = make(length, count, &o);
    double part[4] = {0}, all = 0;
    for (size_t b = 0; b < plan.blocks; b++) {
        for (int64_t p = plan.block_ptr[b]; p < plan.block_ptr[b + 1]; p++) {
            double square = (double)length[plan.sequence[p]] * (double)length[plan.sequence[p]];
            part[b * 4 / plan.blocks] += square;
            all += square;
        }
    }
    for (int i = 0; i < 4; i++)
        ck_assert_double_eq_tol(part[i] / all, 0.25, 0.01);
    free(length);
}

static int64_t pair_key(uint32_t a, uint32_t b)
{
    return a < b ? (int64_t)a << 32 | b : (int64_t)b << 32 | a;
}

static int compare_keys(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Returns the sorted pairs of sequences that share a block. */
static int64_t *list_pairs(const struct bl_plan *plan, size_t *count)
{
    *count = 0;
    for (size_t b = 0; b < plan->blocks; b++) {
        size_t n = (size_t)(plan->block_ptr[b + 1] - plan->block_ptr[b]);
        *count += n * (n - (n > 0)) / 2;
    }
    int64_t *pair = malloc((*count + 1) * sizeof *pair);
    ck_assert_ptr_nonnull(pair);
    size_t next = 0;
    for (size_t b = 0; b < plan->blocks; b++)
        for (int64_t p = plan->block_ptr[b]; p < plan->block_ptr[b + 1]; p++)
            for (int64_t q = p + 1; q < plan->block_ptr[b + 1]; q++)
                pair[next++] = pair_key(plan->sequence[p], plan->sequence[q]);
    qsort(pair, *count, sizeof *pair, compare_keys);
    return pair;
}

/* Pairs of one seed meet again under another hardly more often than in random blocks of these sizes, where a pair meets
 * with the probability pairs / all pairs. */
UNIT_LOOP(levelled_blocks_have_other_pair_repeat_with_every_seed, unit_unless_brief(1))
{
    size_t count = 12000, a_count, b_count, again = 0;
    int64_t T = 8192, *length = draw_lengths(count, 300, 1, T / 4, 9);
    struct bl_plan_options o = {.strategy = BL_STRATEGY_BLOCK, .T = T, .world_size = 4, .cost = kinds[0]};
    OWNED(bl_plan_free) struct bl_plan one = make(length, count, &o);
    o.seed = 1;
    OWNED(bl_plan_free) struct bl_plan two = make(length, count, &o);
    FREED int64_t *a = list_pairs(&one, &a_count), *b = list_pairs(&two, &b_count);
    for (size_t i = 0; i < a_count; i++)
        again += bsearch(&a[i], b, b_count, sizeof *b, compare_keys) != NULL;
    double random = (double)b_count / ((double)count * (double)(count - 1) / 2);
    ck_assert_double_le((double)again / (double)a_count, 1.5 * random + 0.003);
    free(length);
}
