/* Columns with a maximum: units, bounds and blocks beside all packings there are, seeds, and adopted blocks. */
#include <math.h>
#include <stdlib.h>

#include "plan/needs.h"
#include "plan/planner.h"
#include "plan/random.h"
#include "unit.h"

enum { MOST = 4000 };

struct list {
    size_t count;
    int64_t length[MOST];
    double value[2][MOST];
};

static struct bl_plan_options options(const struct list *l, int64_t T, double first, double second)
{
    return (struct bl_plan_options){
        .strategy = BL_STRATEGY_BLOCK,
        .T = T,
        .max_column = {{{"images", first, l->value[0], false}, {"seconds", second, l->value[1], false}},
                       second > 0 ? 2 : 1}};
}

/* Lengths below T / part, as many of the first column as whole numbers below 4, and of the second in thousandths. */
static void draw(struct list *l, size_t count, int64_t longest, uint64_t seed)
{
    struct bl_random r;
    bl_random_seed(&r, seed, BL_STREAM_FILL);
    l->count = count;
    for (size_t i = 0; i < count; i++) {
        l->length[i] = 1 + (int64_t)bl_random_below(&r, (uint64_t)longest);
        l->value[0][i] = (double)bl_random_below(&r, 4);
        l->value[1][i] = (double)bl_random_below(&r, 5000) / 1000;
    }
}

static struct bl_plan make(const struct list *l, const struct bl_plan_options *o)
{
    struct bl_plan plan;
    struct bl_error e = {0};
    ck_assert_msg(bl_plan_make(&plan, l->length, l->count, o, &e) == 0, "%s", e.text);
    struct bl_plan again = plan;
    ck_assert_msg(bl_plan_check(&again, l->length, l->count, &e) == 0, "%s", e.text);
    for (size_t b = 0; b < plan.blocks; b++) {
        for (int c = 0; c < o->max_column.count; c++) {
            double sum = 0;
            for (int64_t p = plan.block_ptr[b]; p < plan.block_ptr[b + 1]; p++)
                sum += o->max_column.each[c].value[plan.sequence[p]];
            ck_assert_double_le(sum, o->max_column.each[c].max * (1 + 1e-12));
        }
    }
    return plan;
}

/* --- units ------------------------------------------------------------------------------------------------------ */

/* Decimals add up as people expect, although 0.1 + 0.2 > 0.3. */
UNIT_LOOP(decimals_are_exact, 9)
{
    static const struct {
        double value[4], max;
        size_t blocks;
    } cases[] = {
        {{0.1, 0.2, 0, 0}, 0.3, 1},  {{0.1, 0.1, 0.1, 0.7}, 1, 1},     {{0.1, 0.1, 0.1, 0.701}, 1, 2},
        {{1e-7, 0.5, 0.5, 0}, 1, 2}, {{1e12, 2e12, 3e12, 0}, 6e12, 1}, {{1e12, 2e12, 3e12, 1e6}, 6e12, 2},
        {{1, 1, 1, 1}, 2.9, 2},      {{0, 0, 0, 0}, 0.001, 1},         {{1. / 3, 1. / 3, 1. / 3, 0}, 1.000001, 1}};
    static struct list l;
    l.count = 4;
    for (int i = 0; i < 4; i++) {
        l.length[i] = 1;
        l.value[0][i] = cases[_i].value[i];
    }
    struct bl_plan_options o = options(&l, 100, cases[_i].max, 0);
    OWNED(bl_plan_free) struct bl_plan plan = make(&l, &o);
    ck_assert_uint_eq(plan.blocks, cases[_i].blocks);
    ck_assert_int_le(plan.lower_bound, (int64_t)plan.blocks);
}

UNIT_LOOP(unusable_values_are_named, 7)
{
    static const struct {
        double value, max;
        const char *text;
    } cases[] = {{-1, 3, "sequence 2 has -1 images"},
                 {NAN, 3, "images: --max-column needs numbers"},
                 {INFINITY, 3, "sequence 2 alone has inf images"},
                 {3.5, 3, "sequence 2 alone has 3.5 images: more than --max-column images=3"},
                 {1, 0, "--max-column images=0: a maximum is a number above 0"},
                 {1, NAN, "a maximum is a number above 0"},
                 {1, INFINITY, "a maximum is a number above 0"}};
    static struct list l;
    draw(&l, 5, 10, 1);
    l.value[0][2] = cases[_i].value;
    struct bl_plan_options o = options(&l, 100, cases[_i].max, 0);
    struct bl_plan plan;
    FAILS_WITH(bl_plan_make(&plan, l.length, l.count, &o, &e), BL_EUSAGE, cases[_i].text);
}

/* What is not planned may have any value. */
UNIT_TEST(dropped_sequences_have_no_needs)
{
    static struct list l;
    draw(&l, 5, 10, 1);
    l.length[2] = 200;
    l.value[0][2] = NAN;
    struct bl_plan_options o = options(&l, 100, 3, 0);
    o.oversize = BL_OVERSIZE_DROP;
    OWNED(bl_plan_free) struct bl_plan plan = make(&l, &o);
    ck_assert_int_eq(plan.dropped, 1);
}

/* --- blocks ----------------------------------------------------------------------------------------------------- */

struct room {
    int64_t units, images, places;
};

/* Every packing: the fewest blocks there can be. */
static size_t fewest(const struct list *l, size_t i, struct room *room, size_t used, struct room all)
{
    if (i == l->count)
        return used;
    size_t best = SIZE_MAX;
    for (size_t b = 0; b <= used; b++) {
        if (b == used)
            room[b] = all;
        int64_t images = (int64_t)l->value[0][i];
        if (room[b].units < l->length[i] || room[b].images < images || !room[b].places)
            continue;
        room[b].units -= l->length[i];
        room[b].images -= images;
        room[b].places--;
        size_t blocks = fewest(l, i + 1, room, b == used ? used + 1 : used, all);
        room[b].units += l->length[i];
        room[b].images += images;
        room[b].places++;
        best = blocks < best ? blocks : best;
    }
    return best;
}

UNIT_LOOP(blocks_are_nearly_as_few_as_can_be, unit_times(60))
{
    static struct list l;
    struct room room[9], all = {40 + _i % 9, 3 + _i % 4, 2 + _i % 4};
    draw(&l, 8, 25, (uint64_t)_i);
    struct bl_plan_options o = options(&l, all.units, (double)all.images, 0);
    o.max_sequences = all.places;
    size_t optimum = fewest(&l, 0, room, 0, all);
    OWNED(bl_plan_free) struct bl_plan plan = make(&l, &o);
    ck_assert_int_le(plan.lower_bound, (int64_t)optimum);
    ck_assert_uint_ge(plan.blocks, optimum);
    ck_assert_uint_le(plan.blocks, optimum + 1);
}

/* Which maximum binds: steps, images, seconds, or several at once; the bound is reached, or nearly. */
UNIT_LOOP(bounds_are_reached, 5)
{
    static const struct {
        int64_t T;
        double images, seconds;
        int64_t gap;
    } cases[] = {{500, 50, 100, 0}, {5000, 6, 100, 0}, {5000, 50, 20, 0}, {500, 15, 25, 3}, {505, 15, 0, 1}};
    static struct list l;
    draw(&l, MOST, 100, 3);
    struct bl_plan_options o = options(&l, cases[_i].T, cases[_i].images, cases[_i].seconds);
    OWNED(bl_plan_free) struct bl_plan plan = make(&l, &o);
    double sum[2] = {0};
    for (size_t i = 0; i < l.count; i++)
        for (int c = 0; c < 2; c++)
            sum[c] += l.value[c][i];
    ck_assert_int_ge(plan.lower_bound, (plan.steps + plan.T - 1) / plan.T);
    ck_assert_int_ge(plan.lower_bound, (int64_t)ceil(sum[0] / cases[_i].images - 1e-9));
    if (cases[_i].seconds > 0)
        ck_assert_int_ge(plan.lower_bound, (int64_t)ceil(sum[1] / cases[_i].seconds - 1e-9));
    ck_assert_int_le((int64_t)plan.blocks - plan.lower_bound, cases[_i].gap);
}

/* Returns by which part of the bound the blocks are more, for lengths and values from 20 to 500 in blocks of 1000 each:
 * both maxima bind. */
static double gap_of(size_t count)
{
    FREED int64_t *length = malloc(count * sizeof *length);
    FREED double *value = malloc(count * sizeof *value);
    struct bl_random r;
    ck_assert(length && value);
    bl_random_seed(&r, 17, BL_STREAM_FILL);
    for (size_t i = 0; i < count; i++) {
        length[i] = 20 + (int64_t)bl_random_below(&r, 481);
        value[i] = 20 + (double)bl_random_below(&r, 481);
    }
    struct bl_plan_options o = {
        .strategy = BL_STRATEGY_BLOCK, .T = 1000, .effort = 1, .max_column = {{{"images", 1000, value, false}}, 1}};
    OWNED(bl_plan_free) struct bl_plan plan = {0};
    struct bl_error e = {0};
    ck_assert_msg(bl_plan_make(&plan, length, count, &o, &e) == 0, "%s", e.text);
    ck_assert_double_le(plan.filled[0].highest, 1);
    return (double)((int64_t)plan.blocks - plan.lower_bound) / (double)plan.lower_bound;
}

/* Ten times as many sequences need no larger part of the bound in addition, although the effort is the same. */
UNIT_TEST(gap_does_not_grow_with_the_count)
{
    if (unit_brief())
        return;
    double few = gap_of(20000), many = gap_of(200000);
    ck_assert_msg(few <= 0.002, "%f", few);
    ck_assert_msg(many <= few + 0.0003, "%f, of ten times fewer %f", many, few);
}

/* Sequences with much of one have little of the other: three fit in a block, which no maximum alone shows. */
UNIT_TEST(two_maxima_prove_more_than_each)
{
    static struct list l;
    draw(&l, 1000, 481, 11);
    for (size_t i = 0; i < l.count; i++) {
        l.length[i] += 19;
        l.value[0][i] = (double)(520 - l.length[i]);
    }
    struct bl_plan_options o = options(&l, 1000, 1000, 100000);
    OWNED(bl_plan_free) struct bl_plan plan = make(&l, &o);
    ck_assert_int_eq(plan.lower_bound, 334);
    ck_assert_uint_eq(plan.blocks, 334);
}

/* Seeds differ in who shares a block, not in the number of blocks. */
UNIT_TEST(seeds_draw_pair_repeat)
{
    static struct list l;
    draw(&l, 2000, 100, 5);
    struct bl_plan_options o = options(&l, 600, 30, 25);
    OWNED(bl_planner_free) struct bl_planner planner;
    struct bl_plan plan[4];
    struct bl_pair_repeat pair_repeat;
    ck_assert_int_eq(bl_planner_make(&planner, l.length, l.count, &o, NULL), 0);
    for (uint64_t k = 0; k < 4; k++) {
        ck_assert_int_eq(bl_planner_draw(&planner, k, 0, k == 3, &plan[k], NULL), 0);
        ck_assert_uint_eq(plan[k].blocks, plan[0].blocks);
    }
    for (int k = 1; k < 4; k++) {
        ck_assert_int_eq(bl_pair_repeat_measure(&pair_repeat, &plan[0], &plan[k], l.count, NULL), 0);
        ck_assert_double_le(bl_pair_repeat_share(&pair_repeat), 3 * pair_repeat.random + 0.003);
    }
    for (int k = 0; k < 4; k++)
        bl_plan_free(&plan[k]);
}

/* Whatever binds, the plans of all seeds keep to steps, columns and sequences, in the same number of blocks. */
UNIT_LOOP(all_seeds_keep_to_the_maxima, 4)
{
    static const double most[][3] = {{600, 30, 25}, {500, 15, 25}, {5000, 6, 100}, {300, 100, 100}};
    static struct list l;
    draw(&l, unit_brief() ? 800 : MOST, 100, 9);
    struct bl_plan_options o = options(&l, (int64_t)most[_i][0], most[_i][1], most[_i][2]);
    o.max_sequences = 12;
    OWNED(bl_planner_free) struct bl_planner planner;
    size_t blocks = 0;
    ck_assert_int_eq(bl_planner_make(&planner, l.length, l.count, &o, NULL), 0);
    for (uint64_t seed = 0; seed < 5; seed++) {
        OWNED(bl_plan_free) struct bl_plan plan = {0};
        ck_assert_int_eq(bl_planner_draw(&planner, seed, 0, false, &plan, NULL), 0);
        ck_assert_int_eq(bl_plan_check(&plan, l.length, l.count, NULL), 0);
        ck_assert_uint_eq(plan.pieces, l.count);
        ck_assert_int_le(plan.max_sequences, 12);
        ck_assert_double_le(plan.filled[0].highest, 1);
        ck_assert_double_le(plan.filled[1].highest, 1);
        ck_assert(seed == 0 || plan.blocks == blocks);
        blocks = plan.blocks;
    }
}

/* The plans of a dataset's epochs keep to the maxima, in the stored number of blocks. */
UNIT_TEST(adopted_blocks_keep_to_the_maxima)
{
    static struct list l, stored;
    draw(&l, 500, 100, 7);
    struct bl_plan_options o = options(&l, 600, 12, 20);
    OWNED(bl_plan_free) struct bl_plan first = make(&l, &o), drawn;
    stored.count = first.pieces;
    for (size_t p = 0; p < first.pieces; p++) {
        stored.length[p] = l.length[first.sequence[p]];
        for (int c = 0; c < 2; c++)
            stored.value[c][p] = l.value[c][first.sequence[p]];
    }
    o = options(&stored, 600, 12, 20);
    o.fill = BL_FILL_PAPER;
    OWNED(bl_planner_free) struct bl_planner planner;
    ck_assert_int_eq(bl_planner_make(&planner, stored.length, stored.count, &o, NULL), 0);
    ck_assert_int_eq(bl_planner_adopt(&planner, &first, NULL), 0);
    ck_assert_int_eq(bl_planner_draw(&planner, 9, 0, true, &drawn, NULL), 0);
    ck_assert_uint_eq(drawn.blocks, first.blocks);
    ck_assert_double_le(drawn.filled[0].highest, 1);
    ck_assert_double_le(drawn.filled[1].highest, 1);
    struct bl_pair_repeat pair_repeat;
    for (size_t p = 0; p < first.pieces; p++)
        first.sequence[p] = (uint32_t)p;
    ck_assert_int_eq(bl_pair_repeat_measure(&pair_repeat, &first, &drawn, stored.count, NULL), 0);
    ck_assert_double_le(bl_pair_repeat_share(&pair_repeat), 0.2);
}
