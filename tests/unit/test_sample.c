#include "run/sample.h"

#include <math.h>

#include "store/info.h"
#include "unit.h"

UNIT_TEST(equal_ratios_leave_no_doubt)
{
    const double part[] = {2, 4, 6}, whole[] = {1, 2, 3};
    struct bl_range r = bl_sample_ratio(part, whole, 3);
    ck_assert_double_eq_tol(r.mid, 2, 1e-12);
    ck_assert_double_eq_tol(r.low, 2, 1e-12);
    ck_assert_double_eq_tol(r.high, 2, 1e-12);
}

UNIT_TEST(one_sample_is_half_known_and_none_is_nothing)
{
    const double part[] = {3}, whole[] = {1}, nothing[] = {0};
    struct bl_range r = bl_sample_ratio(part, whole, 1), none = bl_sample_ratio(nothing, nothing, 1);
    ck_assert_double_eq_tol(r.low, 1.5, 1e-12);
    ck_assert_double_eq_tol(r.high, 4.5, 1e-12);
    ck_assert_double_eq(none.mid, 0);
    ck_assert_double_eq(none.high, 0);
}

static double uniform(unsigned *state)
{
    *state = *state * 1103515245 + 12345;
    return (double)(*state >> 8 & 0xffff) / 0x10000;
}

/* Samples of 2 to 30 from a population whose mean ratio is 1: the range has it about 19 times of 20. */
UNIT_TEST(the_range_holds_the_truth)
{
    const int sizes[] = {2, 3, 5, 12, 30}, trials = 4000;
    unsigned state = 5;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        int inside = 0, n = sizes[i];
        for (int trial = 0; trial < trials; trial++) {
            double part[30], whole[30];
            for (int k = 0; k < n; k++) {
                whole[k] = 1 + uniform(&state);
                part[k] = whole[k] * (0.5 + uniform(&state));
            }
            struct bl_range r = bl_sample_ratio(part, whole, n);
            inside += r.low <= 1 && 1 <= r.high;
            ck_assert(0 < r.low && r.low <= r.mid && r.mid <= r.high);
        }
        ck_assert_msg(inside > 0.9 * trials && inside < 0.99 * trials, "%d samples: %d of %d", n, inside, trials);
    }
}

/* Two workers, the first blocks of which take 3 s more. */
UNIT_TEST(first_blocks_count_once)
{
    FREED struct bl_sample *s = calloc(1, sizeof *s);
    double warm = -1;
    ck_assert_ptr_nonnull(s);
    s->blocks = 8;
    for (int b = 0; b < s->blocks; b++)
        s->block[b] = (struct bl_sample_block){.seconds = b < 2 ? 4 : 1, .steps = 10, .is_first = b < 2};
    struct bl_range r = bl_sample_seconds(s, &warm);
    ck_assert_double_eq_tol(r.mid, 0.1, 1e-12);
    ck_assert_double_eq_tol(warm, 3, 1e-12);
    s->blocks = 3; /* too few others */
    r = bl_sample_seconds(s, &warm);
    ck_assert_double_eq_tol(r.mid, 0.3, 1e-12);
    ck_assert_double_eq(warm, 0);
}

UNIT_TEST(tables_are_part_of_the_bytes)
{
    FREED struct bl_sample *s = calloc(1, sizeof *s);
    ck_assert_ptr_nonnull(s);
    s->blocks = 4;
    s->tables = 40;
    for (int b = 0; b < s->blocks; b++)
        s->block[b] = (struct bl_sample_block){.stored = 10, .bytes = 20};
    struct bl_range r = bl_sample_bytes(s);
    ck_assert_double_eq_tol(r.mid, 3, 1e-12);
    ck_assert(r.low < r.mid && r.high > r.mid && r.high < 1.1 * r.mid);
    s->block[0].bytes = 50; /* as far as the sample tells; but the whole is no estimate */
    double spread = bl_sample_bytes(s).high - bl_sample_bytes(s).mid;
    s->is_whole = true;
    ck_assert(bl_sample_bytes(s).high - bl_sample_bytes(s).mid < spread / 10);
}

UNIT_TEST(space_is_that_of_all_files)
{
    struct bl_forecast f = {.bytes = 100, .bytes_files = 10, .bytes_temporary = 50};
    ck_assert_int_eq(bl_forecast_space(&f), 160);
    f.spool_is_elsewhere = true;
    ck_assert_int_eq(bl_forecast_space(&f), 110);
    f.bytes = -1;
    ck_assert_int_eq(bl_forecast_space(&f), -1);
}
