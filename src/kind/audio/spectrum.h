/* The power spectrum of a window of samples, by kissfft, and logarithms of many values.
 *
 * Four values at a time, in one order and without fused multiplication: the same numbers from every processor. */
#ifndef BL_SPECTRUM_H
#define BL_SPECTRUM_H

#include <kiss_fft.h>
#include <stdbool.h>

#include "base/error.h"

struct bl_spectrum {
    int window, fft;    /* samples: the FFT is as long or longer, of an even number */
    bool preemphasized; /* the mean removed, preemphasis applied before */
    float *shape;       /* of the window, the caller's to fill */
    float *centred;     /* the window without its mean; the value before the first is the first again */
    float *cosine, *sine;
    kiss_fft_cfg plan; /* of half as many complex samples */
    float *in;
    kiss_fft_cpx *bin;
    float *power; /* fft / 2 + 1, and BL_LANES zeros */
};

/* What is set up before, and after a failure too, is freed by bl_spectrum_close. */
int bl_spectrum_open(struct bl_spectrum *s, int window, int fft, bool preemphasized, struct bl_error *e);
void bl_spectrum_close(struct bl_spectrum *s);

/* Computes s->power of a window of samples, behind which others are, or zeros, up to whole lanes. */
void bl_spectrum_compute(struct bl_spectrum *s, const float *samples);

/* Makes each value the natural logarithm, times scale, of itself or of least, which is more (of least for NaN). least
 * is a normal positive number; count is rounded up to a multiple of BL_LANES. Returns the greatest. Within 1e-7 of the
 * truth, and what is rounded to a float. */
float bl_spectrum_log(float *value, int count, float least, float scale);

#endif
