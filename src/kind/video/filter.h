/* Tables for scaling one axis: which samples, with which weights, make each sample that comes out.
 *
 * The filter is that of zimg's bilinear resampling, which the converter uses (convert.h): a triangle around the middle
 * of what a sample covers, widened by the scale when shrinking, its weights normalised; positions beyond the picture
 * are mirrored at its edge. Pure arithmetic, in double until the weights are stored. */
#ifndef BL_FILTER_H
#define BL_FILTER_H

#include <stdint.h>

#include "base/error.h"

/* Sample i is the sum over t of weight[t * count + i] times sample first[i] + t of an axis of size samples; all of
 * those lie in it. The weights of one tap lie together, for neighbours are computed together. */
struct bl_filter {
    int count, taps, size;
    int32_t *first; /* [count] */
    float *weight;  /* [taps, count] */
};

/* Scales the stretch [start, start + length) of an axis of size samples to count of them. BL_EFAIL: no memory. */
int bl_filter_make(struct bl_filter *filter, int size, double start, double length, int count, struct bl_error *e);

/* The same from an axis of chroma that has half as many samples (rounded up) as luma's size: first brought to luma's
 * size bilinearly, clamped at the edges. phase: where a block's first sample of luma lies from its sample of chroma, in
 * samples of chroma; 0: at it, -0.25: a quarter before it. */
int bl_filter_make_chroma(struct bl_filter *filter, int size, double start, double length, int count, double phase,
                          struct bl_error *e);

void bl_filter_free(struct bl_filter *filter);

#endif
