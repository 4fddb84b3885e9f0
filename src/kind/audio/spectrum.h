/* The power spectrum of a window of samples, by kissfft, and logarithms of many values.
 *
 * Four values at a time (lanes.h), in one order and without fused multiplication: every processor gives the same. */
#ifndef BL_SPECTRUM_H
#define BL_SPECTRUM_H

#include <kiss_fft.h>
#include <stdbool.h>

#include "base/error.h"

struct bl_spectrum {
    int window, fft;    /* samples; fft is even and at least as long */
    bool preemphasized; /* the mean removed, preemphasis applied before */
    float *shape;       /* of the window; the caller fills it in */
    float *centred;     /* the window without its mean, after a copy of its first value */
    float *cosine, *sine;
    kiss_fft_cfg plan; /* of half as many complex samples */
    float *in;
    kiss_fft_cpx *bin;
    float *power; /* fft / 2 + 1, and BL_LANES zeros */
};

/* After a failure, too, bl_spectrum_close frees what is there. */
int bl_spectrum_open(struct bl_spectrum *s, int window, int fft, bool preemphasized, struct bl_error *e);
void bl_spectrum_close(struct bl_spectrum *s);

/* Computes s->power of a window of samples. Up to whole lanes more are read, which may be any finite numbers. */
void bl_spectrum_compute(struct bl_spectrum *s, const float *samples);

/* Replaces each value by scale * ln(max(value, min)); NaN counts as min, a normal positive number. count is rounded up
 * to a multiple of BL_LANES. Returns the maximum. The error is below 1e-7, beside rounding to a float. */
float bl_spectrum_log(float *value, int count, float min, float scale);

#endif
