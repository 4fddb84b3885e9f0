#include "kind/audio/mel.h"

#include <math.h>
#include <stdlib.h>

#include "kind/audio/elementary.h"
#include "kind/audio/lanes.h"

/* Slaney's scale: 3 mel for 200 Hz below 1000 Hz, above it 27 mel for a factor of 6.4. */
static double mel_slaney_to_hz(double mel)
{
    return mel < 15 ? mel * 200 / 3 : 1000 * bl_elementary_exp((mel - 15) * bl_elementary_log(6.4) / 27);
}

static double mel_slaney_from_hz(double hz)
{
    return hz < 1000 ? hz * 3 / 200 : 15 + bl_elementary_log(hz / 1000) * 27 / bl_elementary_log(6.4);
}

static double mel_kaldi_from_hz(double hz)
{
    return 1127 * bl_elementary_log(1 + hz / 700);
}

static int mel_alloc(struct bl_mel *m, int filters, int fft, struct bl_error *e)
{
    *m = (struct bl_mel){.filters = filters, .bins = fft / 2 + 1};
    m->row = m->bins + BL_LANES;
    m->filter = calloc((size_t)filters + BL_LANES, sizeof *m->filter);
    m->weights = calloc((size_t)filters * (size_t)m->row, sizeof *m->weights);
    if (m->filter && m->weights)
        return BL_OK;
    bl_mel_free(m);
    return bl_error_memory(e);
}

void bl_mel_free(struct bl_mel *m)
{
    free(m->filter);
    free(m->weights);
    *m = (struct bl_mel){0};
}

/* The value at a place of the triangle over left, centre and right, of height 1; 0 beside it. */
static double mel_triangle(double left, double centre, double right, double at)
{
    double up = (at - left) / (centre - left), down = (right - at) / (right - centre);
    return fmax(0, fmin(up, down));
}

/* Sets the bins of a filter: without the zeros at both ends. */
static void mel_filter_trim(struct bl_mel *m, int f)
{
    float *row = m->weights + (size_t)f * (size_t)m->row;
    int first = 0, end = m->bins;
    while (first < end && row[first] == 0)
        first++;
    while (end > first && row[end - 1] == 0)
        end--;
    m->filter[f] = (struct bl_mel_filter){first, end - first, row + first};
}

int bl_mel_slaney(struct bl_mel *m, int filters, int fft, int rate, struct bl_error *e)
{
    int code = mel_alloc(m, filters, fft, e);
    if (code)
        return code;
    double step = mel_slaney_from_hz(rate / 2.0) / (filters + 1);
    for (int f = 0; f < filters; f++) {
        double left = mel_slaney_to_hz(step * f), centre = mel_slaney_to_hz(step * (f + 1));
        double right = mel_slaney_to_hz(step * (f + 2));
        for (int b = 0; b < m->bins; b++)
            m->weights[f * m->row + b] =
                (float)(mel_triangle(left, centre, right, (double)b * rate / fft) * 2 / (right - left));
        mel_filter_trim(m, f);
    }
    return BL_OK;
}

int bl_mel_kaldi(struct bl_mel *m, int filters, int fft, int rate, double low, double high, struct bl_error *e)
{
    int code = mel_alloc(m, filters, fft, e);
    if (code)
        return code;
    double first = mel_kaldi_from_hz(low), step = (mel_kaldi_from_hz(high) - first) / (filters + 1);
    for (int f = 0; f < filters; f++) {
        /* Kaldi's spectrum is without the last bin. */
        for (int b = 0; b < m->bins - 1; b++)
            m->weights[f * m->row + b] =
                (float)mel_triangle(first + step * f, first + step * (f + 1), first + step * (f + 2),
                                    mel_kaldi_from_hz((double)b * rate / fft));
        mel_filter_trim(m, f);
    }
    return BL_OK;
}

/* Weights after the filter's end, up to whole lanes, are 0. */
static bl_lanes mel_filter_apply(const struct bl_mel_filter *filter, const float *power)
{
    bl_lanes sum = {0};
    for (int b = 0; b < filter->count; b += BL_LANES)
        sum += bl_lanes_load(filter->weight + b) * bl_lanes_load(power + filter->first + b);
    return sum;
}

void bl_mel_apply(const struct bl_mel *m, const float *power, float *out)
{
    for (int f = 0; f < m->filters; f += BL_LANES) {
        const struct bl_mel_filter *filter = m->filter + f;
        bl_lanes_store(out + f,
                       bl_lanes_sum_each(mel_filter_apply(filter, power), mel_filter_apply(filter + 1, power),
                                         mel_filter_apply(filter + 2, power), mel_filter_apply(filter + 3, power)));
    }
}
