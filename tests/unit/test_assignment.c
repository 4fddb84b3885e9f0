/* Sequences go to ranks and micro-batches: within every limit, as evenly as trying everything finds, and the same every
 * time. */
#include <math.h>

#include "plan/assignment.h"
#include "plan/random.h"
#include "unit.h"

enum { MANY = 3000, SMALL = 6 };

static struct bl_random number;

static uint64_t below(uint64_t n)
{
    return bl_random_below(&number, n);
}

/* A list, its options, and the arrays to which they point. */
struct list {
    int64_t length[MANY];
    double cost[MANY];
    uint32_t group[MANY], together[MANY];
    size_t count;
    struct bl_assignment_options o;
};

static double cost_of(const struct list *l, size_t i)
{
    const struct bl_assignment_options *o = &l->o;
    double length = (double)l->length[i];
    if (o->cost)
        return o->cost[i];
    return o->cost_alpha == 0 && o->cost_beta == 0 ? length : o->cost_alpha * length + o->cost_beta * length * length;
}

/* Returns what is lost in units of cost: the sum of the highest costs. */
static double highest_of(const struct list *l, const int64_t *place, int64_t ranks, int64_t rows)
{
    double *cost = calloc((size_t)(ranks * rows), sizeof *cost), sum = 0, highest = 0;
    for (size_t i = 0; i < l->count; i++)
        cost[place[i]] += cost_of(l, i);
    for (int64_t m = 0; m < rows; m++) {
        double most = 0;
        for (int64_t r = 0; r < ranks; r++)
            most = fmax(most, cost[r * rows + m]);
        sum += most;
    }
    for (int64_t r = 0; r < ranks; r++) {
        double whole = 0;
        for (int64_t m = 0; m < rows; m++)
            whole += cost[r * rows + m];
        highest = fmax(highest, whole);
    }
    free(cost);
    return l->o.sync == BL_SYNC_MICRO ? sum : highest;
}

/* Returns whether places keep the limits: tokens, groups, and what is together. */
static bool is_kept(const struct list *l, const int64_t *place, int64_t ranks, int64_t rows)
{
    int64_t *tokens = calloc((size_t)(ranks * rows), sizeof *tokens);
    bool kept = true;
    for (size_t i = 0; i < l->count && kept; i++) {
        kept = place[i] >= 0 && place[i] < ranks * rows;
        if (kept)
            tokens[place[i]] += l->length[i];
    }
    for (int64_t b = 0; b < ranks * rows && kept; b++)
        kept = !l->o.max_tokens || tokens[b] <= l->o.max_tokens;
    for (size_t i = 0; i < l->count && kept; i++)
        for (size_t j = l->count < 64 ? 0 : i - (i > 40 ? 40 : i); j < i && kept; j++) {
            bool group = l->o.group && l->group[i] == l->group[j] && l->group[i] != BL_ALONE;
            bool together = l->o.together && l->together[i] == l->together[j] && l->together[i] != BL_ALONE;
            kept = (!group || place[i] / rows == place[j] / rows) && (!together || place[i] == place[j]);
        }
    free(tokens);
    return kept;
}

/* Draws options and a list; lengths are up to `most`. */
static void list_draw(struct list *l, size_t count, int64_t most)
{
    l->count = count;
    l->o = (struct bl_assignment_options){.ranks = 1 + (int64_t)below(count < 10 ? 3 : 40),
                                          .sync = below(2) ? BL_SYNC_STEP : BL_SYNC_MICRO,
                                          .multiple = (int64_t)below(3)};
    int64_t widest = 1;
    bool is_tailed = below(2), has_group = below(3) == 0, has_together = below(3) == 0;
    for (size_t i = 0; i < count; i++) {
        l->length[i] = (int64_t)below((uint64_t)most + 1);
        if (is_tailed && below(8))
            l->length[i] /= 8;
        l->cost[i] = (double)below(1000) / 64;
        l->group[i] = below(4) ? (uint32_t)below(count / 3 + 1) : BL_ALONE;
        l->together[i] = below(2) ? (uint32_t)(below(2) ? i / 2 : i / 3) : BL_ALONE;
    }
    for (size_t i = 0; i < count; i++) {
        int64_t sum = 0;
        for (size_t j = 0; j < count && (has_together || j <= i); j++)
            if (j == i || (has_together && l->together[i] == l->together[j] && l->together[i] != BL_ALONE))
                sum += l->length[j];
        widest = sum > widest ? sum : widest;
    }
    uint64_t kind = below(4);
    if (kind == 1)
        l->o.cost = l->cost;
    if (kind == 2)
        l->o.cost_alpha = 1, l->o.cost_beta = 0.1;
    l->o.group = has_group ? l->group : NULL;
    l->o.together = has_together ? l->together : NULL;
    if (below(3))
        l->o.max_tokens = widest + (int64_t)below((uint64_t)most * 3);
    else
        l->o.micro_batches = (1 + (int64_t)below(3)) * (l->o.multiple ? l->o.multiple : 1);
}

/* --- small lists -------------------------------------------------------------------------------------------------- */

/* Tries all places from sequence i on. Returns whether any keeps the limits; *best: the least that is lost. */
static bool try_all(const struct list *l, int64_t *place, size_t i, int64_t rows, double *best)
{
    if (i == l->count) {
        if (!is_kept(l, place, l->o.ranks, rows))
            return false;
        *best = fmin(*best, highest_of(l, place, l->o.ranks, rows));
        return true;
    }
    bool any = false;
    for (int64_t b = 0; b < l->o.ranks * rows; b++) {
        place[i] = b;
        any |= try_all(l, place, i + 1, rows, best);
        if (i == 0 && l->o.ranks == 1 && rows == 1)
            break;
    }
    return any;
}

/* Micro-batches are as few as trying everything finds, the bounds hold, and nearly all assignments are the best. */
UNIT_TEST(small_lists_are_assigned_as_well_as_trying_everything)
{
    static struct list l;
    int tried = 0, best_found = 0, more = 0;
    bl_random_seed(&number, 1, BL_STREAM_LOAD);
    for (int k = 0; k < (getenv("UNIT_BRIEF") ? 300 : 1500); k++) {
        struct bl_assignment a;
        int64_t place[SMALL], multiple, rows;
        list_draw(&l, 1 + below(SMALL), 12);
        multiple = l.o.multiple ? l.o.multiple : 1;
        if (bl_assignment_make(&a, l.length, l.count, &l.o, &e) != BL_OK)
            ck_abort_msg("%s", e.text);
        ck_assert_int_eq(a.micro_batches % multiple, 0);
        ck_assert(is_kept(&l, a.place, a.ranks, a.micro_batches));
        double sum = 0, best = INFINITY;
        for (size_t i = 0; i < l.count; i++)
            sum += cost_of(&l, i);
        for (rows = multiple; rows < a.micro_batches && !l.o.micro_batches; rows += multiple)
            if (try_all(&l, place, 0, rows, &best))
                break;
        more += rows < a.micro_batches && !l.o.micro_batches;
        ck_assert_int_le(a.micro_batches_bound, a.micro_batches);
        if (!l.o.micro_batches)
            ck_assert_int_le(a.micro_batches_bound, rows);
        best = INFINITY;
        if (pow((double)(a.ranks * a.micro_batches), (double)l.count) < 60000) {
            ck_assert(try_all(&l, place, 0, a.micro_batches, &best));
            double lost = sum > 0 ? best * (double)a.ranks / sum - 1 : 0;
            ck_assert_double_le(a.bound, lost + 1e-9);
            ck_assert_double_ge(a.lost, lost - 1e-9);
            tried++;
            best_found += a.lost < lost + 1e-9;
        }
        bl_assignment_free(&a);
    }
    ck_assert_int_eq(more, 0);
    ck_assert_msg(best_found * 100 >= tried * 95, "%d of %d are the best", best_found, tried);
}

/* --- any list ----------------------------------------------------------------------------------------------------- */

/* Limits are kept, what is lost is what the places say, and a second call gives the same. */
UNIT_TEST(drawn_lists_keep_their_limits)
{
    static struct list l;
    bl_random_seed(&number, 2, BL_STREAM_LOAD);
    for (int k = 0; k < (getenv("UNIT_BRIEF") ? 100 : 600); k++) {
        struct bl_assignment a, again;
        list_draw(&l, below(k % 10 ? 200 : 2000), k % 2 ? 5000 : 40);
        if (bl_assignment_make(&a, l.length, l.count, &l.o, &e) != BL_OK)
            ck_abort_msg("%s", e.text);
        ck_assert(is_kept(&l, a.place, a.ranks, a.micro_batches));
        if (l.o.micro_batches)
            ck_assert_int_eq(a.micro_batches, l.o.micro_batches);
        double sum = 0, highest = highest_of(&l, a.place, a.ranks, a.micro_batches);
        for (size_t i = 0; i < l.count; i++)
            sum += cost_of(&l, i);
        ck_assert_double_eq_tol(a.lost, sum > 0 ? highest * (double)a.ranks / sum - 1 : 0, 1e-9);
        ck_assert_double_le(a.bound, a.lost);
        for (int64_t b = 1; b < a.ranks * a.micro_batches; b++)
            if (b % a.micro_batches && l.o.sync == BL_SYNC_STEP)
                ck_assert_double_le(a.cost[b], a.cost[b - 1] + 1e-6);
        ck_assert_int_eq(bl_assignment_make(&again, l.length, l.count, &l.o, &e), BL_OK);
        ck_assert_mem_eq(again.place, a.place, l.count * sizeof *a.place);
        bl_assignment_free(&a);
        bl_assignment_free(&again);
    }
}

/* --- known lists -------------------------------------------------------------------------------------------------- */

UNIT_TEST(rollouts_are_divided_evenly)
{
    static struct list l;
    struct bl_assignment a;
    bl_random_seed(&number, 3, BL_STREAM_LOAD);
    l.count = 1024;
    for (size_t i = 0; i < l.count; i++)
        l.length[i] = 100 + (int64_t)below(4000);
    const struct bl_assignment_options o = {.ranks = 64, .max_tokens = 16384, .sync = BL_SYNC_STEP};
    ck_assert_int_eq(bl_assignment_make(&a, l.length, l.count, &o, &e), BL_OK);
    ck_assert_int_eq(a.micro_batches, a.micro_batches_bound);
    ck_assert_double_lt(a.lost, 0.001);
    bl_assignment_free(&a);
}

/* Rows of one number of micro-batches cost the same: the two long sequences share a row. */
UNIT_TEST(long_sequences_share_a_row)
{
    const int64_t length[] = {100, 10, 10, 100, 10, 10};
    const struct bl_assignment_options o = {.ranks = 2, .micro_batches = 2, .sync = BL_SYNC_MICRO};
    struct bl_assignment a;
    ck_assert_int_eq(bl_assignment_make(&a, length, 6, &o, &e), BL_OK);
    ck_assert_double_eq(a.lost, 0);
    ck_assert_int_eq(a.place[0] % 2, 0);
    ck_assert_int_eq(a.place[3] % 2, 0);
    bl_assignment_free(&a);
}

/* The numbers of sequences are limited instead of their tokens, and costs are level. */
UNIT_TEST(equal_numbers_of_sequences_are_level_too)
{
    static struct list l;
    struct bl_assignment a;
    bl_random_seed(&number, 4, BL_STREAM_LOAD);
    l.count = 256;
    for (size_t i = 0; i < l.count; i++) {
        l.length[i] = 1;
        l.cost[i] = 100 + (double)below(4000);
    }
    const struct bl_assignment_options o = {
        .ranks = 16, .max_tokens = 16, .micro_batches = 1, .cost = l.cost, .sync = BL_SYNC_STEP};
    ck_assert_int_eq(bl_assignment_make(&a, l.length, l.count, &o, &e), BL_OK);
    for (int r = 0; r < 16; r++)
        ck_assert_int_eq(a.tokens[r], 16);
    ck_assert_double_lt(a.lost, 0.001);
    bl_assignment_free(&a);
}

UNIT_TEST(few_sequences_leave_micro_batches_empty)
{
    const int64_t length[] = {7, 0};
    const struct bl_assignment_options o = {.ranks = 3, .max_tokens = 8, .multiple = 4};
    struct bl_assignment a;
    for (size_t count = 0; count < 3; count++) {
        ck_assert_int_eq(bl_assignment_make(&a, length, count, &o, &e), BL_OK);
        ck_assert_int_eq(a.micro_batches, 4);
        ck_assert_double_eq(a.lost, count ? 2 : 0);
        ck_assert_double_eq(a.bound, a.lost);
        bl_assignment_free(&a);
    }
}

/* A micro-batch is empty only where a sequence in it would make the ranks wait. */
UNIT_TEST(no_micro_batch_is_empty_without_need)
{
    const int64_t length[] = {100, 30, 30, 1, 1, 1, 1}, even[] = {50, 50, 50, 50};
    struct bl_assignment a;
    for (int sync = 0; sync < 2; sync++) {
        const struct bl_assignment_options o = {
            .ranks = 2, .micro_batches = 2, .sync = sync ? BL_SYNC_STEP : BL_SYNC_MICRO};
        ck_assert_int_eq(bl_assignment_make(&a, length, 7, &o, &e), BL_OK);
        ck_assert_int_eq((a.tokens[0] == 0) + (a.tokens[1] == 0) + (a.tokens[2] == 0) + (a.tokens[3] == 0), 2 - sync);
        ck_assert_double_eq(a.lost, a.bound);
        bl_assignment_free(&a);
        ck_assert_int_eq(bl_assignment_make(&a, even, 4, &o, &e), BL_OK);
        for (int b = 0; b < 4; b++)
            ck_assert_int_eq(a.tokens[b], 50);
        bl_assignment_free(&a);
    }
}

/* --- bad input ---------------------------------------------------------------------------------------------------- */

UNIT_TEST(bad_input_is_named)
{
    const int64_t length[] = {5, 6, 7, 4}, below_zero[] = {5, -6}, large[] = {INT64_MAX / 2, 1, INT64_MAX};
    const double nan_cost[] = {1, NAN, 1, 1}, negative[] = {1, 1, -2, 1}, endless[] = {1e308, 1e308, 1, 1};
    const uint32_t pair[] = {1, 1, 2, 3}, one[] = {1, 1, 1, 1};
    const volatile int cancel = 1;
    struct bl_assignment a;
#define REFUSED(list, count, words, ...)                                                                               \
    do {                                                                                                               \
        const struct bl_assignment_options o = {__VA_ARGS__};                                                          \
        FAILS_WITH(bl_assignment_make(&a, list, count, &o, &e), BL_EUSAGE, words);                                     \
        ck_assert_ptr_null(a.place);                                                                                   \
    } while (0)
    REFUSED(length, 4, "ranks is 0", .micro_batches = 1);
    REFUSED(length, 4, "ranks is -3", .ranks = -3, .micro_batches = 1);
    REFUSED(length, 4, "at least one of", .ranks = 1);
    REFUSED(length, 4, "micro_batches is -1", .ranks = 1, .micro_batches = -1);
    REFUSED(length, 4, "max_tokens is -1", .ranks = 1, .max_tokens = -1);
    REFUSED(length, 4, "multiple is -1", .ranks = 1, .max_tokens = 9, .multiple = -1);
    REFUSED(length, 4, "micro_batches is 3, not a multiple of 2", .ranks = 1, .micro_batches = 3, .multiple = 2);
    REFUSED(below_zero, 2, "sequence 1 has the length -6", .ranks = 1, .micro_batches = 1);
    REFUSED(large, 1, "up to sequence 0", .ranks = 1, .micro_batches = 1);
    REFUSED(length, 4, "sequence 1 has 6 tokens, more than max_tokens = 5", .ranks = 1, .max_tokens = 5);
    REFUSED(length, 4, "sequence 0 and those together with it have 11 tokens, more than max_tokens = 10", .ranks = 1,
            .max_tokens = 10, .together = pair);
    REFUSED(length, 4, "sequence 1 has the cost nan", .ranks = 1, .max_tokens = 10, .cost = nan_cost);
    REFUSED(length, 4, "sequence 2 has the cost -2", .ranks = 1, .max_tokens = 10, .cost = negative);
    REFUSED(length, 4, "sequence 1 has the cost 1e+308", .ranks = 1, .max_tokens = 10, .cost = endless);
    REFUSED(length, 4, "the cost nan,0", .ranks = 1, .max_tokens = 10, .cost_alpha = NAN);
    REFUSED(length, 4, "both given", .ranks = 1, .max_tokens = 10, .cost_alpha = 1, .cost = negative);
    REFUSED(length, 4, "fit into 1 micro-batches of at most 7 tokens on each of 2 ranks; 2 would do", .ranks = 2,
            .max_tokens = 7, .micro_batches = 1);
    REFUSED(length, 4, "; 4 would do", .ranks = 2, .max_tokens = 7, .micro_batches = 1, .group = one);
    REFUSED(length, 4, "are too many", .ranks = BL_ASSIGNMENT_RANKS_MAX, .micro_batches = 1000);
    const struct bl_assignment_options o = {.ranks = 2, .micro_batches = 2, .cancel = &cancel};
    FAILS_WITH(bl_assignment_make(&a, length, 4, &o, &e), BL_ECANCEL, "cancelled");
}
