#include "run/bottleneck.h"

#include <math.h>

#include "unit.h"

/* Work of this total at a rate, in units of which each is done at once; samples as often as those of a display. */
struct work {
    double total, rate, unit;
};

static double work_done(const struct work *w, double seconds)
{
    return fmin(floor(seconds * w->rate / w->unit) * w->unit, w->total);
}

static double sample(struct bl_estimate *e, const struct work *w, double seconds)
{
    double done = work_done(w, seconds);
    bl_estimate_add(e, seconds, done, w->total - done);
    return bl_estimate_left(e);
}

UNIT_TEST(a_steady_rate_runs_down_like_a_clock)
{
    /* Frames; shards of 3.1 s each; 7 shards finished together every 12 s. */
    const struct work works[] = {{10000, 50, 1}, {60, 1 / 3.1, 1}, {140, 7.0 / 12, 7}};
    for (size_t i = 0; i < COUNT(works); i++) {
        const struct work *w = &works[i];
        struct bl_estimate est = {0};
        double before = INFINITY, truth = w->total / w->rate;
        for (double t = 0.2; t < truth; t += 0.2) {
            double left = sample(&est, w, t);
            if (left < 0)
                continue;
            ck_assert_msg(left <= before + 1e-9, "work %zu: at %g s, %g s left after %g", i, t, left, before);
            before = left;
            if (t > truth / 4)
                ck_assert_msg(fabs(left - (truth - t)) < 0.1 * (truth - t) + 4, "work %zu: at %g s: %g, not %g", i, t,
                              left, truth - t);
        }
        ck_assert_double_lt(before, 16);
        ck_assert_double_eq(sample(&est, w, truth + 20), 0);
    }
}

UNIT_TEST(noise_does_not_make_it_climb)
{
    struct bl_estimate est = {0};
    double done = 0, before = INFINITY, total = 20000;
    unsigned state = 1;
    for (int i = 1; done < total; i++) {
        state = state * 1103515245 + 12345;
        done = fmin(done + 5 + (state >> 16) % 11, total); /* 5 to 15 in each fifth of a second */
        bl_estimate_add(&est, i * 0.2, done, total - done);
        double left = bl_estimate_left(&est);
        if (i * 0.2 < 15) /* too little is known */
            continue;
        ck_assert_msg(left <= before + 1e-9, "at %g s: %g after %g", i * 0.2, left, before);
        before = left;
    }
}

UNIT_TEST(it_follows_another_rate_in_steps)
{
    struct bl_estimate est = {0};
    double done = 0, total = 30000, before = -1, left = 0;
    for (int i = 1; i <= 300; i++) { /* a minute at 50 a second */
        done += 10;
        bl_estimate_add(&est, i * 0.2, done, total - done);
    }
    for (int i = 301; i <= 900; i++) { /* then at 25 */
        done += 5;
        bl_estimate_add(&est, i * 0.2, done, total - done);
        left = bl_estimate_left(&est);
        ck_assert_msg(before < 0 || left - before < 15, "at %g s: a jump from %g to %g", i * 0.2, before, left);
        before = left;
    }
    ck_assert_double_gt(left, 0.85 * (total - done) / 25);
    ck_assert_double_lt(left, 1.1 * (total - done) / 25);
}

UNIT_TEST(a_stall_makes_it_climb)
{
    struct bl_estimate est = {0};
    for (int i = 1; i <= 100; i++)
        bl_estimate_add(&est, i * 0.2, i, 1000 - i);
    double before = bl_estimate_left(&est), rate = bl_rate_get(&est.rate, 20);
    for (int i = 101; i <= 300; i++)
        bl_estimate_add(&est, i * 0.2, 100, 900);
    ck_assert_double_gt(bl_estimate_left(&est), 2 * before);
    ck_assert_double_lt(bl_rate_get(&est.rate, 60), rate / 2);
}

UNIT_TEST(nothing_is_known_without_work_or_total)
{
    struct bl_estimate est = {0};
    ck_assert_double_lt(bl_estimate_left(&est), 0);
    ck_assert_double_eq(bl_rate_get(&est.rate, 5), 0);
    for (int i = 1; i < 100; i++)
        bl_estimate_add(&est, i * 0.2, 0, 10);
    ck_assert_double_lt(bl_estimate_left(&est), 0);
    for (int i = 100; i < 200; i++)
        bl_estimate_add(&est, i * 0.2, i, -1);
    ck_assert_double_lt(bl_estimate_left(&est), 0);
    ck_assert_double_gt(bl_rate_get(&est.rate, 40), 0);
}

/* Whatever comes: done that falls, clocks that stand, huge numbers. */
UNIT_TEST(it_is_never_negative_nor_no_number)
{
    struct bl_estimate est = {0};
    unsigned state = 7;
    double seconds = 0;
    for (int i = 0; i < 10000; i++) {
        state = state * 1103515245 + 12345;
        unsigned x = state >> 16;
        seconds += x % 5 ? 0 : (double)(x % 1000) / 100;
        double done = x % 7 ? (double)(x % 100) : 1e18, left = x % 11 ? (double)(x % 3000) * 1e12 : -1;
        bl_estimate_add(&est, seconds, done, left);
        double told = bl_estimate_left(&est), rate = bl_rate_get(&est.rate, seconds);
        ck_assert_msg(told >= 0 ? isfinite(told) : told == -1, "sample %d: %g", i, told);
        ck_assert_msg(rate >= 0 && isfinite(rate), "sample %d: rate %g", i, rate);
    }
}
