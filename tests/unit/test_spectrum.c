/* Power spectra, filters and logarithms, four at a time, against sums in double, one at a time. */
#include "kind/audio/features.h"

#include <float.h>
#include <math.h>

#include "kind/audio/lanes.h"
#include "unit.h"

#define WINDOW_MAX 1024

/* In -1 to 1. */
static float noise(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return (float)(int32_t)*state / 2147483648.0f;
}

/* As features.h tells of Kaldi. */
static void raise_high(double *in, int count)
{
    double mean = 0;
    for (int i = 0; i < count; i++)
        mean += in[i] / count;
    for (int i = 0; i < count; i++)
        in[i] -= mean;
    for (int i = count - 1; i >= 0; i--)
        in[i] -= 0.97 * in[i ? i - 1 : 0];
}

static double power_of(const double *in, int window, int fft, int bin)
{
    double real = 0, imaginary = 0;
    for (int i = 0; i < window; i++) {
        real += in[i] * cos(2 * M_PI * bin * i / fft);
        imaginary -= in[i] * sin(2 * M_PI * bin * i / fft);
    }
    return real * real + imaginary * imaginary;
}

static void check_power(int window, int fft, bool raised)
{
    struct bl_spectrum s;
    struct bl_error e = {0};
    float samples[WINDOW_MAX + BL_LANES];
    double in[WINDOW_MAX], total = 0;
    uint32_t state = 1;
    ck_assert_int_eq(bl_spectrum_open(&s, window, fft, raised, &e), BL_OK);
    for (int i = 0; i < window + BL_LANES; i++)
        samples[i] = noise(&state) + 0.25f; /* what lies behind the window is none of its */
    for (int i = 0; i < window; i++) {
        s.shape[i] = 0.5f + noise(&state) / 2;
        in[i] = samples[i];
    }
    if (raised)
        raise_high(in, window);
    for (int i = 0; i < window; i++) {
        in[i] *= s.shape[i];
        total += fabs(in[i]);
    }
    bl_spectrum_compute(&s, samples);
    bl_spectrum_compute(&s, samples); /* nothing is left from before */
    for (int k = 0; k <= fft / 2; k++)
        ck_assert_double_eq_tol(s.power[k], power_of(in, window, fft, k), 1e-6 * total * total);
    for (int k = 0; k < BL_LANES; k++)
        ck_assert_float_eq(s.power[fft / 2 + 1 + k], 0);
    bl_spectrum_close(&s);
}

UNIT_TEST(power_is_that_of_the_definition)
{
    static const int windows[][2] = {{2, 2}, {5, 8}, {25, 32}, {200, 256}, {400, 400}, {400, 512}, {551, 1024}};
    for (size_t i = 0; i < COUNT(windows); i++) {
        check_power(windows[i][0], windows[i][1], false);
        check_power(windows[i][0], windows[i][1], true);
    }
}

UNIT_TEST(filters_are_sums_of_what_they_weigh)
{
    static const int filters[] = {1, 4, 23, 80, 130};
    float power[257 + BL_LANES] = {0}, out[130 + BL_LANES];
    struct bl_mel mel;
    uint32_t state = 2;
    for (int b = 0; b < 257; b++)
        power[b] = noise(&state) + 1;
    for (size_t i = 0; i < COUNT(filters); i++) {
        ck_assert_int_eq(bl_mel_kaldi(&mel, filters[i], 512, 16000, 20, 8000, &e), BL_OK);
        bl_mel_apply(&mel, power, out);
        for (int f = 0; f < filters[i]; f++) {
            double sum = 0;
            for (int b = 0; b < mel.filter[f].count; b++)
                sum += (double)mel.filter[f].weight[b] * power[mel.filter[f].first + b];
            ck_assert_double_eq_tol(out[f], sum, 1e-6 * sum + FLT_MIN);
        }
        bl_mel_free(&mel);
    }
}

UNIT_TEST(logarithms_are_those_of_the_library)
{
    enum { COUNT = 1003 };
    float value[COUNT + BL_LANES] = {0}, before[COUNT];
    uint32_t state = 3;
    for (int i = 0; i < COUNT; i++)
        before[i] = value[i] = i < 500 ? 1 + noise(&state) / 1000 : expf(80 * noise(&state));
    value[0] = before[0] = 0;
    value[1] = before[1] = FLT_MAX;
    ck_assert_double_eq_tol(bl_spectrum_log(value, COUNT, 1e-10f, 1), log(FLT_MAX), 1e-5);
    for (int i = 0; i < COUNT; i++) {
        double expected = log(fmax(before[i], 1e-10f));
        ck_assert_double_eq_tol(value[i], expected, 1.2e-7 * fabs(expected) + 1e-7);
    }
    float decimal[BL_LANES] = {1e-3f, 1, 10, 1e4f};
    ck_assert_double_eq_tol(bl_spectrum_log(decimal, BL_LANES, 1e-10f, (float)M_LOG10E), 4, 1e-6);
    ck_assert_double_eq_tol(decimal[0], -3, 1e-6);
    ck_assert_float_eq(decimal[1], 0);
}
