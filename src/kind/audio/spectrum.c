#include "kind/audio/spectrum.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "kind/audio/elementary.h"
#include "kind/audio/lanes.h"

#define PREEMPHASIS 0.97f

/* --- setting up ------------------------------------------------------------------------------------------------- */

/* Zeros, with room for whole lanes after them. */
static float *spectrum_alloc_floats(int count)
{
    return calloc((size_t)count + 2 * BL_LANES, sizeof(float));
}

static void spectrum_make_waves(struct bl_spectrum *s)
{
    for (int k = 0; k <= s->fft / 2; k++) {
        double turns = (double)k / s->fft;
        s->cosine[k] = (float)bl_elementary_cos(turns);
        s->sine[k] = (float)bl_elementary_cos(turns + 0.75);
    }
}

int bl_spectrum_open(struct bl_spectrum *s, int window, int fft, bool preemphasized, struct bl_error *e)
{
    int bins = fft / 2 + 1;
    *s = (struct bl_spectrum){.window = window, .fft = fft, .preemphasized = preemphasized};
    s->shape = spectrum_alloc_floats(window);
    s->centred = spectrum_alloc_floats(window);
    s->in = spectrum_alloc_floats(fft);
    s->bin = (kiss_fft_cpx *)(void *)spectrum_alloc_floats(2 * (BL_LANES + bins));
    s->power = spectrum_alloc_floats(bins);
    s->cosine = spectrum_alloc_floats(bins);
    s->sine = spectrum_alloc_floats(bins);
    s->plan = kiss_fft_alloc(fft / 2, 0, NULL, NULL);
    if (!s->shape || !s->centred || !s->in || !s->bin || !s->power || !s->cosine || !s->sine || !s->plan)
        return bl_error_memory(e);
    spectrum_make_waves(s);
    return BL_OK;
}

void bl_spectrum_close(struct bl_spectrum *s)
{
    free(s->shape);
    free(s->centred);
    free(s->in);
    free(s->bin);
    free(s->power);
    free(s->cosine);
    free(s->sine);
    kiss_fft_free(s->plan);
    *s = (struct bl_spectrum){0};
}

/* --- a window --------------------------------------------------------------------------------------------------- */

static float spectrum_mean(const float *samples, int count)
{
    double sum[BL_LANES] = {0};
    int whole = count - count % BL_LANES;
    for (int i = 0; i < whole; i += BL_LANES) {
        for (int k = 0; k < BL_LANES; k++)
            sum[k] += samples[i + k];
    }
    for (int i = whole; i < count; i++)
        sum[0] += samples[i];
    return (float)((sum[0] + sum[1] + (sum[2] + sum[3])) / count);
}

/* Fills s->in, with the mean removed and preemphasis applied. */
static void spectrum_preemphasize(struct bl_spectrum *s, const float *samples)
{
    float mean = spectrum_mean(samples, s->window), *centred = s->centred + 1;
    for (int i = 0; i < s->window; i += BL_LANES)
        bl_lanes_store(centred + i, bl_lanes_load(samples + i) - mean);
    s->centred[0] = centred[0];
    for (int i = 0; i < s->window; i += BL_LANES)
        bl_lanes_store(s->in + i, (bl_lanes_load(centred + i) - PREEMPHASIS * bl_lanes_load(s->centred + i)) *
                                      bl_lanes_load(s->shape + i));
}

/* Separates the real and imaginary parts of complex values. */
static void spectrum_load_bins(const kiss_fft_cpx *at, bl_lanes *real, bl_lanes *imaginary)
{
    const float *values = (const float *)(const void *)at;
    bl_lanes a = bl_lanes_load(values), b = bl_lanes_load(values + BL_LANES);
    *real = BL_SHUFFLE(a, b, 0, 2, 4, 6);
    *imaginary = BL_SHUFFLE(a, b, 1, 3, 5, 7);
}

/* From the FFT of pairs of samples, taken for complex numbers, to the power of that of the samples: its even part E and
 * its odd part O, each doubled, are in bins k and half - k, and bin k is E + O (cos - i sin). kiss_fftr does the same,
 * but not four at a time. */
static void spectrum_compute_power(struct bl_spectrum *s, int half, const kiss_fft_cpx *bin)
{
    for (int k = 0; k <= half; k += BL_LANES) {
        bl_lanes ar, ai, br, bi, cosine = bl_lanes_load(s->cosine + k), sine = bl_lanes_load(s->sine + k);
        spectrum_load_bins(bin + k, &ar, &ai);
        spectrum_load_bins(bin + half - k - (BL_LANES - 1), &br, &bi);
        br = BL_SHUFFLE(br, br, 3, 2, 1, 0);
        bi = BL_SHUFFLE(bi, bi, 3, 2, 1, 0);
        bl_lanes odd_r = ai + bi, odd_i = br - ar;
        bl_lanes real = ar + br + (odd_r * cosine + odd_i * sine);
        bl_lanes imaginary = ai - bi + (odd_i * cosine - odd_r * sine);
        bl_lanes_store(s->power + k, (real * real + imaginary * imaginary) * 0.25f);
    }
    bl_lanes_store(s->power + half + 1, (bl_lanes){0});
}

void bl_spectrum_compute(struct bl_spectrum *s, const float *samples)
{
    int half = s->fft / 2;
    kiss_fft_cpx *bin = s->bin + BL_LANES; /* lanes before and after are read, but not used */
    /* Behind the window s->in stays 0, as the shape is 0 there. */
    if (s->preemphasized) {
        spectrum_preemphasize(s, samples);
    } else {
        for (int i = 0; i < s->window; i += BL_LANES)
            bl_lanes_store(s->in + i, bl_lanes_load(samples + i) * bl_lanes_load(s->shape + i));
    }
    kiss_fft(s->plan, (const kiss_fft_cpx *)(const void *)s->in, bin);
    bin[half] = bin[0];
    spectrum_compute_power(s, half, bin);
}

/* --- logarithms ------------------------------------------------------------------------------------------------- */

/* ln(x) = exponent ln(2) + ln(m), with m between sqrt(1/2) and sqrt(2), and ln(m) = 2 artanh((m - 1) / (m + 1)). The C
 * library's differs with the processor. */
static bl_lanes spectrum_log_lanes(bl_lanes x, float scale)
{
    const int32_t root = 0x3f3504f3; /* sqrt(1/2) */
    bl_lanes_bits bits = (bl_lanes_bits)x, exponent = (bits - root) >> 23;
    bl_lanes m = (bl_lanes)(bits - (exponent << 23)), s = (m - 1) / (m + 1), t = s * s;
    bl_lanes sum = 1 + t * (1.0f / 3 + t * (1.0f / 5 + t * (1.0f / 7 + t * (1.0f / 9))));
    return s * sum * (2 * scale) + __builtin_convertvector(exponent, bl_lanes) * ((float)M_LN2 * scale);
}

float bl_spectrum_log(float *value, int count, float min, float scale)
{
    bl_lanes mins = {min, min, min, min}, max = {-FLT_MAX, -FLT_MAX, -FLT_MAX, -FLT_MAX};
    for (int i = 0; i < count; i += BL_LANES) {
        bl_lanes log = spectrum_log_lanes(bl_lanes_max(bl_lanes_load(value + i), mins), scale);
        bl_lanes_store(value + i, log);
        max = bl_lanes_max(log, max);
    }
    return fmaxf(fmaxf(max[0], max[1]), fmaxf(max[2], max[3]));
}
