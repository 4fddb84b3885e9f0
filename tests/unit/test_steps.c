#include "kind/audio/per_step.h"
#include "unit.h"

UNIT_TEST(a_window_is_as_long_as_the_longest_distance)
{
    ck_assert_int_eq(bl_steps_samples(16000, 25, 1), 640);
    ck_assert_int_eq(bl_steps_samples(16000, 30, 1), 534);
    ck_assert_int_eq(bl_steps_samples(48000, 30000, 1001), 1602);
    ck_assert_int_eq(bl_steps_samples(100, 1000, 1), 1);
    ck_assert_int_eq(bl_steps_samples(768000, 1, INT64_MAX), INT64_MAX);
}

UNIT_TEST(a_step_begins_at_the_nearest_sample)
{
    struct bl_steps steps = {.rate = 16000, .samples = 640, .length = 32000};
    ck_assert_int_eq(bl_steps_begin(&steps, 0), 0);
    ck_assert_int_eq(bl_steps_begin(&steps, 1 / 30.0), 533);
    ck_assert_int_eq(bl_steps_begin(&steps, 2 / 30.0), 1067);
    ck_assert_int_eq(bl_steps_begin(&steps, 2 / 12800.0), 3); /* 2.5: halves are rounded up */
    ck_assert_int_eq(bl_steps_begin(&steps, 1e300), (int64_t)0x1p53);
    steps.lead = -0.3;
    ck_assert_int_eq(bl_steps_begin(&steps, 0.3), 0);
    ck_assert_int_eq(bl_steps_begin(&steps, 0), -4800);
    ck_assert_int_eq(bl_steps_begin(&steps, -1e300), -(int64_t)0x1p53);
}

static struct bl_steps_sum add_up(const struct bl_steps *steps, const double *times, int count)
{
    struct bl_steps_sum sum = {0};
    for (int i = 0; i < count; i++)
        bl_steps_add(&sum, steps, times[i]);
    bl_steps_end(&sum, steps);
    return sum;
}

/* Every sample is looked at, whether some step has it; and every place of every step, whether there is sound. */
static void check_sum(const struct bl_steps *steps, const double *times, int count)
{
    struct bl_steps_sum sum = add_up(steps, times, count);
    int64_t left_out = 0, filled = 0, silent = 0;
    for (int64_t sample = 0; sample < steps->length; sample++) {
        bool had = false;
        for (int i = 0; i < count; i++) {
            int64_t begin = bl_steps_begin(steps, times[i]);
            had |= sample >= begin && sample < begin + steps->samples;
        }
        left_out += !had;
    }
    for (int i = 0; i < count; i++) {
        int64_t begin = bl_steps_begin(steps, times[i]);
        for (int64_t place = begin; place < begin + steps->samples; place++)
            filled += place < 0 || place >= steps->length;
        silent = begin >= steps->length ? silent + 1 : 0;
    }
    ck_assert_int_eq(sum.left_out, left_out);
    ck_assert_int_eq(sum.filled, filled);
    ck_assert_int_eq(sum.silent, silent);
    ck_assert_int_eq(sum.last, bl_steps_begin(steps, times[count - 1]));
}

UNIT_TEST(what_is_left_out_and_filled_is_counted_to_the_sample)
{
    uint32_t state = 11;
    for (int round = 0; round < unit_times(400); round++) {
        double times[12], time = 0;
        int count = 1 + (int)(state >> 8) % 12;
        for (int i = 0; i < count; i++) {
            times[i] = time;
            state = state * 1664525 + 1013904223;
            time += (double)(state >> 24) / 1000; /* also not at all */
        }
        struct bl_steps steps = {.rate = 100 + (int)(state >> 10) % 300,
                                 .samples = 1 + (state >> 20) % 40,
                                 .length = 1 + (state >> 12) % 500,
                                 .lead = (double)((int)(state >> 16) % 400 - 200) / 200};
        check_sum(&steps, times, count);
    }
}

UNIT_TEST(a_sound_that_ends_too_early_lacks)
{
    const double times[] = {0, 0.25, 0.5, 0.75, 1, 1.25};
    struct bl_steps steps = {.rate = 100, .samples = 25, .length = 75};
    struct bl_steps_sum sum = add_up(&steps, times, 6);
    ck_assert_int_eq(sum.silent, 3);
    ck_assert_int_eq(sum.filled, 75);
    ck_assert(bl_steps_is_short(&sum, &steps, 2));
    ck_assert(!bl_steps_is_short(&sum, &steps, 3));
    ck_assert(!bl_steps_is_short(&sum, &steps, -1)); /* half a second */
    steps.length = 74;
    sum = add_up(&steps, times, 6);
    ck_assert_int_eq(sum.silent, 3);
    ck_assert(bl_steps_is_short(&sum, &steps, -1));
    ck_assert(bl_steps_is_short(&sum, &steps, 0));
    steps.length = 126;
    sum = add_up(&steps, times, 6);
    ck_assert(!bl_steps_is_short(&sum, &steps, 0));
}
