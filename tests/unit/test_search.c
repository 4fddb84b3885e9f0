/* The search for few blocks: lists whose optimum is known are solved at the default effort, no bound is above it, no
 * part does harm, and the effort is never passed. */

#include "plan/histogram.h"
#include "plan/colgen.h"
#include "plan/plan.h"
#include "plan/random.h"
#include "plan/search.h"
#include "unit.h"

enum { T = 1000, BILLION = 1000000000 };

static struct bl_histogram histogram_of(uint32_t *length, size_t count)
{
    FREED int64_t *wide = malloc(count * sizeof *wide);
    struct bl_histogram h;
    ck_assert_ptr_nonnull(wide);
    for (size_t i = 0; i < count; i++)
        wide[i] = length[i];
    struct bl_lengths lengths = {wide, NULL, count, 1, INT32_MAX, 1, INT32_MAX};
    ck_assert_int_eq(bl_histogram_make(&h, &lengths, NULL), 0);
    return h;
}

static uint32_t between(struct bl_random *r, uint32_t low, uint32_t high)
{
    return low + (uint32_t)bl_random_below(r, high - low + 1);
}

/* Blocks of three lengths that fill them to the step, as Falkenauer's (1996). */
static struct bl_histogram triplets(size_t blocks, uint64_t seed)
{
    struct bl_random r;
    FREED uint32_t *length = malloc(3 * blocks * sizeof *length);
    bl_random_seed(&r, seed, BL_STREAM_FILL);
    ck_assert_ptr_nonnull(length);
    for (size_t i = 0; i < blocks; i++) {
        length[3 * i] = between(&r, 380, 490);
        length[3 * i + 1] = between(&r, 250, (T - length[3 * i]) / 2);
        length[3 * i + 2] = T - length[3 * i] - length[3 * i + 1];
    }
    struct bl_histogram h = histogram_of(length, 3 * blocks);
    return h;
}

/* Even between two lengths: 150 to 200 in blocks of 1,000 are Schwerin's and Waescher's (1997). */
static struct bl_histogram even(size_t count, uint32_t low, uint32_t high, uint64_t seed)
{
    struct bl_random r;
    FREED uint32_t *length = malloc(count * sizeof *length);
    bl_random_seed(&r, seed, BL_STREAM_FILL);
    ck_assert_ptr_nonnull(length);
    for (size_t i = 0; i < count; i++)
        length[i] = between(&r, low, high);
    struct bl_histogram h = histogram_of(length, count);
    return h;
}

/* All lengths, each as often as it is there, in blocks that they fit into. */
static void assert_sound(const struct bl_patterns *p, const struct bl_histogram *h, const struct bl_limits *limits)
{
    FREED uint32_t *count = calloc(h->distinct + 1, sizeof *count);
    size_t blocks = 0;
    ck_assert_ptr_nonnull(count);
    for (size_t i = 0; i < p->count; i++) {
        int64_t steps = 0;
        for (uint32_t k = p->first[i]; k < p->first[i + 1]; k++) {
            steps += h->length[p->bucket[k]];
            count[p->bucket[k]] += p->use[i];
        }
        ck_assert_int_le(steps, limits->T);
        ck_assert_uint_le(p->first[i + 1] - p->first[i], limits->sequences);
        blocks += p->use[i];
    }
    for (size_t b = 0; b < h->distinct; b++)
        ck_assert_uint_eq(count[b], bl_histogram_count(h, b));
    ck_assert_uint_eq(blocks, p->blocks);
}

static struct bl_limits default_limits(int64_t *used)
{
    return (struct bl_limits){
        .T = T, .sequences = UINT32_MAX, .work = BL_EFFORT_DEFAULT * (int64_t)BILLION, .used = used};
}

static size_t solve(const struct bl_histogram *h, const struct bl_limits *limits, int64_t *bound)
{
    OWNED(bl_patterns_free) struct bl_patterns p = {0};
    *bound = bl_bound_blocks(h, limits->T);
    ck_assert_int_eq(bl_search_best(&p, bound, h, limits, NULL), 0);
    size_t blocks = p.blocks;
    assert_sound(&p, h, limits);
    ck_assert_int_ge((int64_t)blocks, *bound);
    return blocks;
}

UNIT_LOOP(triplets_are_solved, unit_times(20))
{
    size_t blocks = 20 + 5 * ((size_t)_i % 5);
    OWNED(bl_histogram_free) struct bl_histogram h = triplets(blocks, (uint64_t)_i);
    int64_t used = 0, bound;
    struct bl_limits limits = default_limits(&used);
    ck_assert_uint_eq(solve(&h, &limits, &bound), blocks);
}

UNIT_LOOP(schwerin_is_solved, unit_times(40))
{
    OWNED(bl_histogram_free) struct bl_histogram h = even(_i % 2 ? 120 : 100, 150, 200, (uint64_t)_i);
    int64_t used = 0, bound;
    struct bl_limits limits = default_limits(&used);
    ck_assert_uint_eq(solve(&h, &limits, &bound), (size_t)bound);
}

/* Lists of every kind, with efforts from hardly any on: each part counts what it does, and none goes on for long when
 * all is spent. */
UNIT_TEST(effort_is_not_passed)
{
    static const int64_t work[] = {1, 1000000, 10000000, 100000000};
    struct bl_histogram lists[] = {triplets(60, 1), even(170, 1, 800, 2), even(100, 150, 200, 3), even(2000, 1, T, 4),
                                   even(300, 1, 400000, 5)};
    for (size_t i = 0; i < COUNT(lists); i++)
        for (size_t k = 0; k < COUNT(work); k++) {
            int64_t used = 0, bound;
            struct bl_limits limits = default_limits(&used);
            limits.T = i == 4 ? 480000 : T;
            limits.work = work[k];
            solve(&lists[i], &limits, &bound);
            ck_assert_int_le(used, work[k] + work[k] / 20 + 10000000);
        }
    for (size_t i = 0; i < COUNT(lists); i++)
        bl_histogram_free(&lists[i]);
}

/* Whatever is left out, the rest is sound, and the optimum is not passed by the bound. */
UNIT_LOOP(parts_can_be_left_out, unit_times(6))
{
    OWNED(bl_histogram_free)
    struct bl_histogram h = _i % 3 ? even(160, 1, 800, (uint64_t)_i) : triplets(20, (uint64_t)_i);
    int64_t bound, least;
    struct bl_limits limits = default_limits(NULL);
    limits.work = BILLION / 50;
    limits.sequences = _i % 2 ? UINT32_MAX : 3;
    size_t blocks = solve(&h, &limits, &bound);
    for (uint32_t without = BL_SEARCH_GROUPED; without <= BL_SEARCH_DIVE; without *= 2) {
        limits.without = without;
        ck_assert_uint_ge(solve(&h, &limits, &least), (size_t)bound);
        ck_assert_int_le(least, (int64_t)blocks);
    }
}

/* The parts alone: better than what is known, or nothing. */
UNIT_LOOP(dives_and_completion_find_what_is_there, unit_times(4))
{
    OWNED(bl_histogram_free) struct bl_histogram h = triplets(20, (uint64_t)_i);
    struct bl_patterns known, dived, completed, none;
    struct bl_limits limits = default_limits(NULL);
    int64_t bound = 0;
    limits.work = BILLION / 4;
    ck_assert_int_eq(bl_search_bestfit(&known, &h, &limits, NULL), 0);
    ck_assert_uint_gt(known.blocks, 20);
    ck_assert_int_eq(bl_search_dive(&dived, &bound, &h, &known, &limits, NULL), 0);
    ck_assert_int_eq(bound, 20);
    ck_assert_uint_gt(dived.count, 0);
    ck_assert_uint_lt(dived.blocks, known.blocks);
    assert_sound(&dived, &h, &limits);
    ck_assert_int_eq(bl_search_complete(&completed, &h, 20, &limits, NULL), 0);
    ck_assert_uint_eq(completed.blocks, 20);
    assert_sound(&completed, &h, &limits);
    ck_assert_int_eq(bl_search_complete(&none, &h, 19, &limits, NULL), 0);
    ck_assert_uint_eq(none.count, 0);
    limits.sequences = 2; /* triplets cannot be completed by twos */
    limits.work = BILLION / 100;
    ck_assert_int_eq(bl_search_complete(&none, &h, 20, &limits, NULL), 0);
    ck_assert_uint_eq(none.count, 0);
    bl_patterns_free(&known);
    bl_patterns_free(&dived);
    bl_patterns_free(&completed);
}

/* Returns the worth of the best block by trying all: of lengths below `end`, no more often than they are there. */
static double best_by_trial(const struct bl_knapsack *k, size_t end, uint32_t room, uint32_t left)
{
    double best = 0;
    if (end == 0)
        return 0;
    for (uint32_t i = 0; i <= bl_histogram_count(k->h, end - 1) && i <= left && i * k->h->length[end - 1] <= room;
         i++) {
        double worth = i * k->price[end - 1] + best_by_trial(k, end - 1, room - i * k->h->length[end - 1], left - i);
        best = worth > best ? worth : best;
    }
    return best;
}

UNIT_LOOP(bounded_knapsack_is_exact, unit_times(200))
{
    enum { ROOM = 40, CAPACITY = 64 };
    OWNED(bl_histogram_free) struct bl_histogram h = even(12, 3, 20, (uint64_t)_i);
    struct bl_random r;
    struct bl_knapsack k;
    uint32_t sequences = _i % 2 ? UINT32_MAX : 1 + (uint32_t)_i % 5, item[CAPACITY];
    bl_random_seed(&r, (uint64_t)_i, BL_STREAM_CLIP);
    ck_assert_int_eq(bl_knapsack_make(&k, &h, ROOM, sequences, true, NULL), 0);
    for (size_t b = 0; b < h.distinct; b++)
        k.price[b] = (double)bl_random_below(&r, 50);
    ck_assert_double_eq(bl_knapsack_solve(&k), best_by_trial(&k, h.distinct, ROOM, sequences));
    size_t n = bl_knapsack_block(&k, BL_KNAPSACK_ANY, item, CAPACITY);
    double worth = 0;
    uint32_t steps = 0;
    ck_assert_uint_le(n, sequences);
    for (size_t i = 0; i < n; i++) {
        worth += k.price[item[i]];
        steps += h.length[item[i]];
    }
    ck_assert_uint_le(steps, ROOM);
    ck_assert_double_eq(worth, bl_knapsack_solve(&k));
    bl_knapsack_free(&k);
}

UNIT_TEST(patterns_are_cut_off)
{
    OWNED(bl_patterns_free) struct bl_patterns p = {0};
    for (uint32_t i = 0; i < 5; i++) {
        ck_assert_int_eq(bl_patterns_push(&p, i, NULL), 0);
        ck_assert_int_eq(bl_patterns_close(&p, i + 1, NULL), 0);
    }
    ck_assert_int_eq(bl_patterns_push(&p, 9, NULL), 0);
    bl_patterns_truncate(&p, 2);
    ck_assert_uint_eq(p.count, 2);
    ck_assert_uint_eq(p.blocks, 3);
    ck_assert_uint_eq(p.entries, 2);
    bl_patterns_truncate(&p, 0);
    ck_assert_uint_eq(p.blocks + p.entries, 0);
}
