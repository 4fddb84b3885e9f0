#include <math.h>
#include <stdint.h>

#include "report/statistics.h"
#include "unit.h"

/* The definition, in long double. */
static void check(const struct bl_moments *m, const double *value, size_t count, size_t channels, size_t channel)
{
    long double sum = 0, squares = 0;
    size_t n = 0;
    for (size_t i = channel; i < count; i += channels)
        sum += isfinite(value[i]) ? value[i] : 0, n += isfinite(value[i]) != 0;
    for (size_t i = channel; i < count; i += channels) {
        long double off = value[i] - sum / (long double)n;
        squares += isfinite(value[i]) ? off * off : 0;
    }
    ck_assert_int_eq(m->count, (int64_t)n);
    ck_assert_int_eq(m->not_finite, (int64_t)(count / channels - n));
    ck_assert_double_eq_tol(m->first + m->mean, (double)(sum / (long double)n),
                            1e-14 * fabs(m->first + m->mean) + 1e-300);
    ck_assert_double_eq_tol(m->m2, (double)squares, 1e-11 * (double)squares + 1e-300);
}

/* However they are divided among calls; a naive sum of squares has no correct digit here. */
UNIT_TEST(a_large_mean_costs_no_digits)
{
    enum { CHANNELS = 3, VALUES = 300000 };
    static double value[VALUES];
    uint64_t state = 1;
    for (size_t i = 0; i < VALUES; i++) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        value[i] = (i % CHANNELS == 1 ? 1e8 : 0) + (double)(state >> 40) / (1 << 24);
    }
    for (int64_t part = CHANNELS; part <= VALUES; part *= 100) {
        struct bl_moments m[CHANNELS] = {0}, scratch[CHANNELS];
        for (int64_t at = 0; at < VALUES; at += part)
            bl_moments_add(m, CHANNELS, BL_F64, (const uint8_t *)&value[at], VALUES - at < part ? VALUES - at : part,
                           scratch);
        for (size_t c = 0; c < CHANNELS; c++)
            check(&m[c], value, VALUES, CHANNELS, c);
    }
}

UNIT_TEST(values_that_are_not_finite_are_counted_apart)
{
    const double value[] = {NAN, 1, -INFINITY, 2, 5, 6, INFINITY, -9};
    struct bl_moments m[2] = {0}, scratch[2], none = {0};
    bl_moments_add(m, 2, BL_F64, (const uint8_t *)value, COUNT(value), scratch);
    check(&m[0], value, COUNT(value), 2, 0);
    check(&m[1], value, COUNT(value), 2, 1);
    ck_assert_double_eq(m[0].least, 5);
    ck_assert_double_eq(m[0].most, 5);
    ck_assert_double_eq(m[1].least, -9);
    ck_assert_double_eq(m[1].most, 6);
    const struct bl_field_statistics field = {.scale = 1, .channels = 1, .channel = &none};
    ck_assert(isnan(bl_channel_numbers(&field, 0).mean));
}

UNIT_TEST(pixels_are_on_the_scale_from_0_to_1)
{
    const uint8_t value[] = {0, 255, 255, 0, 51, 102};
    struct bl_moments m[1] = {0}, scratch[1];
    bl_moments_add(m, 1, BL_U8, value, COUNT(value), scratch);
    const struct bl_field_statistics field = {.scale = 255, .channels = 1, .channel = m};
    const struct bl_channel_numbers n = bl_channel_numbers(&field, 0);
    ck_assert_double_eq_tol(n.mean, 2.6 / 6, 1e-15);
    ck_assert_double_eq_tol(n.std, sqrt(2.2 / 6 - 2.6 / 6 * 2.6 / 6), 1e-15);
    ck_assert_double_eq(n.least, 0);
    ck_assert_double_eq(n.most, 1);
}
