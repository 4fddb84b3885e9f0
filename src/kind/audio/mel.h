/* Mel filters: triangles over the bins of a power spectrum. */
#ifndef BL_MEL_H
#define BL_MEL_H

#include "base/error.h"

/* One filter: weights of count bins from first on. */
struct bl_mel_filter {
    int first, count;
    float *weight;
};

struct bl_mel {
    int filters, bins; /* bins: fft / 2 + 1 */
    int row;           /* floats from one filter's weights to the next's in weights */
    struct bl_mel_filter *filter;
    float *weights; /* of all filters */
};

/* Slaney's scale (linear below 1 kHz), triangles of area 1, from 0 Hz to half the rate. Source: librosa's default. */
int bl_mel_slaney(struct bl_mel *m, int filters, int fft, int rate, struct bl_error *e);

/* Kaldi's scale, 1127 ln(1 + f / 700), triangles of height 1 on that scale, from low to high Hz. */
int bl_mel_kaldi(struct bl_mel *m, int filters, int fft, int rate, double low, double high, struct bl_error *e);

void bl_mel_free(struct bl_mel *m);

/* out[f] is the weighted sum of power by filter f. power: bins floats, then BL_LANES zeros. out: room for filters,
 * rounded up to a multiple of BL_LANES. */
void bl_mel_apply(const struct bl_mel *m, const float *power, float *out);

#endif
