/* Costs of several fields: what is parsed and refused, known answers, a bound that no plan beats, and plans whose
 * balance is computed once more from their tables. */
#include <math.h>

#include "plan/capacity.h"
#include "plan/cost.h"
#include "plan/planner.h"
#include "plan/random.h"
#include "unit.h"

enum { ROWS_MAX = 6000 };

/* Sequences with common steps, named tokens in the costs, and own steps of two fields. */
struct lists {
    size_t count;
    int64_t T, length[ROWS_MAX];
    double pixels[ROWS_MAX], sound[ROWS_MAX];
};

static struct bl_plan_cost cost_of(const char *text)
{
    struct bl_plan_cost cost;
    ck_assert_msg(bl_cost_option_type.parse(NULL, text, &cost), "%s", text);
    return cost;
}

static struct bl_plan_options options_of(const struct lists *l, const char *cost, double pixels, double sound)
{
    struct bl_plan_options o = {.strategy = BL_STRATEGY_BLOCK, .T = l->T, .world_size = 2, .cost = cost_of(cost)};
    o.max_column.count = 2;
    o.max_column.each[0] =
        (struct bl_plan_column){.name = "pixels.length", .max = pixels, .value = l->pixels, .is_field = true};
    o.max_column.each[1] =
        (struct bl_plan_column){.name = "sound.length", .max = sound, .value = l->sound, .is_field = true};
    return o;
}

static struct bl_plan plan_of(const struct lists *l, const struct bl_plan_options *o)
{
    struct bl_plan plan;
    struct bl_error e = {0};
    ck_assert_msg(bl_plan_make(&plan, l->length, l->count, o, &e) == BL_OK, "%s", e.text);
    return plan;
}

/* --- options ------------------------------------------------------------------------------------------------------ */

UNIT_TEST(texts_of_costs_are_parsed_and_formatted)
{
    static const struct {
        const char *text, *formatted; /* NULL: refused */
    } cases[] = {
        {"tokens=1,0.5", "tokens=1,0.5"},
        {"tokens=1,2e-5;pixels=0.25,0", "tokens=1,2.0000000000000002e-05;pixels=0.25,0"},
        {"T=0,1;a=1,0;b=1,0;c=1,0", "T=0,1;a=1,0;b=1,0;c=1,0"},
        {"a=1,0;b=1,0;c=1,0;d=1,0;e=1,0", NULL},
        {"tokens=1,0.5;", NULL},
        {";tokens=1,0.5", NULL},
        {"tokens=1", NULL},
        {"tokens=1,", NULL},
        {"tokens=,1", NULL},
        {"tokens=-1,1", NULL},
        {"tokens=1,-1", NULL},
        {"tokens=0,0", NULL},
        {"tokens=nan,1", NULL},
        {"tokens=1,inf", NULL},
        {"tokens=1,1x", NULL},
        {"tokens=1,1,1", NULL},
        {"=1,1", NULL},
        {"1,2;pixels=1,0", NULL},
        {"a-name-of-forty-eight-bytes-which-no-field-can-have=1,0", NULL},
        {"1,0.5", "1,0.5"},
        {"2d_cost", "2d_cost"},
        {"", NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bl_plan_cost cost;
        OWNED(bl_buffer_free) struct bl_buffer text = {0};
        bool good = bl_cost_option_type.parse(NULL, cases[i].text, &cost);
        ck_assert_msg(good == (cases[i].formatted != NULL), "%s", cases[i].text);
        if (!good)
            continue;
        ck_assert(bl_plan_cost_is_given(&cost));
        bl_cost_option_type.format(NULL, &cost, &text);
        ck_assert_str_eq(text.data, cases[i].formatted);
    }
}

UNIT_TEST(fields_that_contradict_each_other_are_refused)
{
    static const struct {
        const char *cost, *message;
    } bad[] = {
        {"pixels=1,0;tokens=1,1;pixels=2,0", "--cost: the field \"pixels\" is given twice"},
        {"tokens=1,1;tokens=1,1", "--cost: the field \"tokens\" is given twice"},
        {"tokens=1,1;pixel=1,0", "--cost: neither \"tokens\" nor \"pixel\" is a field with steps of its own"},
        {"pixels=1,0;text=1,1;T=1,0", "--cost: neither \"text\" nor \"T\" is a field with steps of its own"},
        {"tokens=1e300,1;sound=1,1e307", "a cost of 1,1e+307: both must be numbers of at least 0, and finite for the "
                                         "capacity = 20"},
        {"tokens=1e307,0;sound=5e306,0", "the costs add up to more than a number can hold"},
    };
    static struct lists l = {.count = 2, .T = 10, .length = {4, 7}, .pixels = {3, 0}, .sound = {1, 1}};
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct bl_plan_options o = options_of(&l, bad[i].cost, 20, 20);
        struct bl_plan plan;
        FAILS_WITH(bl_plan_make(&plan, l.length, l.count, &o, &e), BL_EUSAGE, bad[i].message);
    }
}

/* --- known answers ------------------------------------------------------------------------------------------------ */

/* Blocks in the order of the list, one sequence each. */
UNIT_TEST(losses_are_as_computed_by_hand)
{
    static struct lists l = {
        .count = 4, .T = 4, .length = {4, 2, 2, 4}, .pixels = {0, 10, 30, 0}, .sound = {1, 1, 1, 3}};
    /* In the two waits, tokens cost 16 and 4, 4 and 16, pixels 0 and 10, 30 and 0. */
    struct bl_plan_options o = options_of(&l, "tokens=0,1;pixels=1,0", 100, 100);
    o.strategy = BL_STRATEGY_BLOCK;
    o.max_sequences = 1;
    o.order = BL_KEEP_ORDER;
    o.balance = BL_BALANCE_NONE;
    OWNED(bl_plan_free) struct bl_plan plan = plan_of(&l, &o);
    const struct bl_plan_balance *b = &plan.balance;
    ck_assert_int_eq(b->points, 2);
    ck_assert_str_eq(b->point[0].name, "tokens");
    ck_assert_str_eq(b->point[1].name, "pixels");
    ck_assert_double_eq_tol(b->point[0].lost, 32 / 20.0 - 1, 1e-9);
    ck_assert_double_eq_tol(b->point[1].lost, 40 / 20.0 - 1, 1e-9);
    ck_assert_double_eq_tol(b->lost, (32 + 40) / 40.0 - 1, 1e-9);
    /* Ranks that wait after two blocks of each: tokens cost 20 and 20, pixels 30 and 10. */
    o.accumulate = 2;
    o.sync = BL_SYNC_STEP;
    OWNED(bl_plan_free) struct bl_plan step = plan_of(&l, &o);
    ck_assert_double_eq_tol(step.balance.point[0].lost, 0, 1e-9);
    ck_assert_double_eq_tol(step.balance.lost, (20 + 30) / 40.0 - 1, 1e-9);
    /* A field alone: its own steps decide, and there is one point. */
    o = options_of(&l, "sound=1,1", 100, 100); /* 2 and 2, 2 and 12 */
    o.max_sequences = 1;
    o.order = BL_KEEP_ORDER;
    o.balance = BL_BALANCE_NONE;
    OWNED(bl_plan_free) struct bl_plan alone = plan_of(&l, &o);
    ck_assert_int_eq(alone.balance.points, 0);
    ck_assert_double_eq_tol(alone.balance.lost, (2 + 12) / 9.0 - 1, 1e-9);
}

/* --- the bound ---------------------------------------------------------------------------------------------------- */

enum { TINY_ROWS = 6, TINY_BLOCKS = 4 };

struct tiny {
    struct lists l;
    double alpha[2], beta[2], capacity;
    size_t blocks;
    double room[TINY_BLOCKS][2], cost[TINY_BLOCKS][2];
    double least[3]; /* imbalance at each point, and of the sum */
};

/* Adds sequence i to block b, or removes it. */
static void tiny_move(struct tiny *t, size_t i, size_t b, double sign)
{
    const double steps[2] = {(double)t->l.length[i], t->l.pixels[i]};
    for (int p = 0; p < 2; p++) {
        t->room[b][p] -= sign * steps[p];
        t->cost[b][p] += sign * (t->beta[p] * steps[p] * steps[p] + (p ? t->alpha[p] * steps[p] : 0));
    }
}

/* Tries every way to put the sequences from i on into the blocks of two ranks. */
static void tiny_try(struct tiny *t, size_t i)
{
    if (i < t->l.count) {
        for (size_t b = 0; b < t->blocks; b++) {
            tiny_move(t, i, b, 1);
            if (t->room[b][0] >= 0 && t->room[b][1] >= 0)
                tiny_try(t, i + 1);
            tiny_move(t, i, b, -1);
        }
        return;
    }
    double highest[3] = {0}, sum[3] = {0};
    for (size_t b = 0; b < t->blocks; b++) {
        for (int p = 0; p < 2; p++) {
            sum[p] += t->cost[b][p];
            if (b % 2)
                highest[p] += fmax(t->cost[b - 1][p], t->cost[b][p]);
        }
    }
    for (int p = 0; p < 3; p++) {
        if (p == 2) {
            highest[p] = highest[0] + highest[1];
            sum[p] = sum[0] + sum[1];
        }
        double lost = sum[p] > 0 ? 2 * highest[p] / sum[p] - 1 : 0;
        t->least[p] = fmin(lost, t->least[p]);
    }
}

UNIT_TEST(no_plan_beats_the_bounds)
{
    int positive = 0, own = 0;
    struct bl_random r;
    bl_random_seed(&r, 11, BL_STREAM_CLIP);
    static struct tiny t;
    for (int k = 0; k < unit_times(300); k++) {
        t = (struct tiny){.l = {.count = 3 + bl_random_below(&r, TINY_ROWS - 2), .T = 24},
                          .alpha = {k % 3, 1 + k % 2},
                          .beta = {1, k % 4 / 2.0},
                          .capacity = 30,
                          .least = {INFINITY, INFINITY, INFINITY}};
        for (size_t i = 0; i < t.l.count; i++) {
            t.l.length[i] = 1 + (int64_t)bl_random_below(&r, bl_random_below(&r, 2) ? 24 : 6);
            t.l.pixels[i] = bl_random_below(&r, 2) ? (double)bl_random_below(&r, 31) : 0;
        }
        char cost[64];
        snprintf(cost, sizeof cost, "T=%g,%g;pixels=%g,%g", t.alpha[0], t.beta[0], t.alpha[1], t.beta[1]);
        struct bl_plan_options o = options_of(&t.l, cost, t.capacity, 1);
        o.max_column.count = 1;
        o.remainder = BL_REMAINDER_PAD;
        OWNED(bl_plan_free) struct bl_plan plan = plan_of(&t.l, &o);
        if (plan.blocks > TINY_BLOCKS)
            continue;
        t.blocks = plan.blocks;
        for (size_t b = 0; b < t.blocks; b++) {
            t.room[b][0] = (double)t.l.T;
            t.room[b][1] = t.capacity;
            t.cost[b][0] = t.alpha[0] * (double)t.l.T;
        }
        tiny_try(&t, 0);
        const struct bl_plan_balance *b = &plan.balance;
        ck_assert_double_le(b->point[0].bound, t.least[0] + 1e-9);
        ck_assert_double_le(b->point[1].bound, t.least[1] + 1e-9);
        ck_assert_double_le(b->bound, t.least[2] + 1e-9);
        ck_assert_double_ge(b->lost, t.least[2] - 1e-9);
        positive += b->bound > 0;
        own += b->point[1].bound > 0;
    }
    ck_assert_int_gt(positive, 20);
    ck_assert_int_gt(own, 20);
}

/* --- plans -------------------------------------------------------------------------------------------------------- */

static double draw_normal(struct bl_random *r)
{
    double u = ((double)(bl_random_next(r) >> 11) + 0.5) / 9007199254740992.0;
    double v = ((double)(bl_random_next(r) >> 11) + 0.5) / 9007199254740992.0;
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

/* Log-normal lengths; 60 % of the sequences have no pixels, half of them have no sound. */
static void lists_draw(struct lists *l, size_t count, int64_t T, double sigma, uint64_t seed)
{
    struct bl_random r;
    bl_random_seed(&r, seed, BL_STREAM_FILL);
    *l = (struct lists){.count = count, .T = T};
    for (size_t i = 0; i < count; i++) {
        double n = 200 * exp(sigma * draw_normal(&r)), pixels = 300 * exp(sigma * draw_normal(&r));
        double sound = 50 * exp(draw_normal(&r));
        l->length[i] = 1 + (int64_t)fmin(n, (double)T - 1);
        l->pixels[i] = bl_random_below(&r, 10) < 6 ? 0 : floor(fmin(pixels, 8000));
        l->sound[i] = bl_random_below(&r, 2) ? 0 : floor(fmin(sound, 3000));
    }
}

/* Computes the imbalance of a plan from its tables. cost: ALPHA and BETA of tokens, pixels and sound. lost: at each
 * point, and of the sum. */
static void compute_lost(const struct bl_plan *plan, const struct lists *l, const struct bl_plan_options *o,
                         double cost[3][2], double lost[4])
{
    size_t ranks = (size_t)o->world_size, turn = (size_t)(o->batch_size ? o->batch_size : 1);
    turn *= o->sync == BL_SYNC_STEP ? (size_t)o->accumulate : 1;
    double highest[4] = {0}, sum[4] = {0};
    for (size_t wait = 0; wait + ranks * turn <= plan->blocks; wait += ranks * turn) {
        double most[3] = {0};
        for (size_t r = 0; r < ranks; r++) {
            double all[3] = {0};
            for (size_t b = wait + r; b < wait + ranks * turn; b += ranks) {
                all[0] += cost[0][0] * (double)l->T;
                for (int64_t i = plan->block_ptr[b]; i < plan->block_ptr[b + 1]; i++) {
                    size_t s = plan->sequence[i];
                    const double steps[3] = {(double)l->length[s], l->pixels[s], l->sound[s]};
                    for (int p = 0; p < 3; p++)
                        all[p] += cost[p][1] * steps[p] * steps[p] + (p ? cost[p][0] * steps[p] : 0);
                }
            }
            for (int p = 0; p < 3; p++) {
                sum[p] += all[p];
                most[p] = fmax(most[p], all[p]);
            }
        }
        for (int p = 0; p < 3; p++)
            highest[p] += most[p];
    }
    for (int p = 0; p < 3; p++) {
        highest[3] += highest[p];
        sum[3] += sum[p];
    }
    for (int p = 0; p < 4; p++)
        lost[p] = sum[p] > 0 ? highest[p] * (double)ranks / sum[p] - 1 : 0;
}

UNIT_LOOP(the_balance_is_that_of_the_tables, unit_unless_brief(6))
{
    static struct lists l;
    static const struct {
        size_t count;
        int64_t T, ranks, batch, accumulate;
        double sigma, least_gain; /* by how much the imbalance falls */
    } cases[] = {{6000, 4096, 8, 1, 1, 0.8, 8},  {6000, 4096, 4, 2, 2, 0.8, 20}, {6000, 2048, 8, 1, 4, 1.1, 8},
                 {6000, 8192, 4, 3, 1, 1.0, 20}, {4000, 4096, 16, 1, 1, 1.2, 6}, {3000, 2048, 2, 1, 3, 0.6, 20}};
    double cost[3][2] = {{1, 0.002}, {0.5, 0}, {0.1, 0.01}}, lost[4];
    lists_draw(&l, cases[_i].count, cases[_i].T, cases[_i].sigma, (uint64_t)_i);
    struct bl_plan_options o = options_of(&l, "pixels=0.5,0;text=1,0.002;sound=0.1,0.01", 16000, 6000);
    o.world_size = cases[_i].ranks;
    o.batch_size = cases[_i].batch;
    o.accumulate = cases[_i].accumulate;
    o.sync = _i % 2 ? BL_SYNC_STEP : BL_SYNC_MICRO;
    OWNED(bl_plan_free) struct bl_plan plan = plan_of(&l, &o), again = plan_of(&l, &o);
    const struct bl_plan_balance *b = &plan.balance;
    static const int order[3] = {1, 0, 2}; /* the points are in the order of --cost */
    compute_lost(&plan, &l, &o, cost, lost);
    ck_assert_int_eq(b->points, 3);
    for (int p = 0; p < 3; p++) {
        ck_assert_double_eq_tol(b->point[p].lost, lost[order[p]], 1e-6);
        ck_assert_double_le(b->point[p].bound, b->point[p].lost + 1e-9);
    }
    ck_assert_double_eq_tol(b->lost, lost[3], 1e-6);
    ck_assert_double_le(b->bound, b->lost + 1e-9);
    ck_assert_mem_eq(plan.sequence, again.sequence, plan.pieces * sizeof *plan.sequence);
    o.balance = BL_BALANCE_NONE;
    OWNED(bl_plan_free) struct bl_plan none = plan_of(&l, &o);
    ck_assert_double_lt(cases[_i].least_gain * b->lost, none.balance.lost);
    ck_assert_int_le((int64_t)plan.blocks, (int64_t)none.blocks + (int64_t)none.blocks / 500 + 48);
}

/* The form for one field, of the common steps, and the form without a name make the same plan. */
UNIT_TEST(one_field_of_the_common_steps_is_the_plain_cost)
{
    static struct lists l;
    static const char *const costs[] = {"3,0.01", "tokens=3,0.01", "T=3,0.01"};
    lists_draw(&l, 2000, 2048, 1, 3);
    struct bl_plan plan[COUNT(costs)];
    for (size_t i = 0; i < COUNT(costs); i++) {
        struct bl_plan_options o = options_of(&l, costs[i], i == 2 ? 9000 : 0, 4000);
        o.world_size = 4;
        o.max_column.each[0].max = 0; /* to be found */
        ck_assert_msg(bl_capacities_find(&o, l.length, l.count, &e) == BL_OK, "%s", e.text);
        plan[i] = plan_of(&l, &o);
        ck_assert_int_eq(plan[i].balance.points, 0);
        ck_assert_uint_eq(plan[i].blocks, plan[0].blocks);
        ck_assert_int_eq(plan[i].own.field[0].capacity, plan[0].own.field[0].capacity);
        ck_assert_mem_eq(plan[i].sequence, plan[0].sequence, plan[0].pieces * sizeof *plan[0].sequence);
        ck_assert(plan[i].balance.lost == plan[0].balance.lost && plan[i].balance.bound == plan[0].balance.bound);
    }
    for (size_t i = 0; i < COUNT(costs); i++)
        bl_plan_free(&plan[i]);
}
