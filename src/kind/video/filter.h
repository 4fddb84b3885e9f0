/* Filter tables that scale one axis: which samples, with which weights, make each output sample.
 *
 * The filters are zimg's, which the converter uses (convert.h): a kernel around the centre of an output sample, widened
 * by the scale when shrinking, with normalised weights; positions beyond the picture are mirrored at its edge. Pure
 * arithmetic, in double until the weights are stored. */
#ifndef BL_FILTER_H
#define BL_FILTER_H

#include <stdint.h>

#include "base/error.h"
#include "kind/video/geometry.h"

/* Output i is the sum over t of weight[t * count + i] times sample first[i] + t; all of these samples exist. The
 * weights of a tap are contiguous, since neighbouring outputs are computed together. size: samples of the axis. */
struct bl_filter {
    int count, taps, size;
    int32_t *first; /* [count] */
    float *weight;  /* [taps, count] */
};

/* Scales the range [start, start + length) of an axis of size samples to count samples. BL_EFAIL: out of memory. */
int bl_filter_make(struct bl_filter *filter, enum bl_resize resize, int size, double start, double length, int count,
                   struct bl_error *e);

/* The same for chroma with half as many samples as luma's size, rounded up: includes the bilinear upsampling to that
 * size, clamped at the edges. phase: the position of a block's first luma sample relative to its chroma sample, in
 * chroma samples; 0: cosited, -0.25: a quarter before it. */
int bl_filter_make_chroma(struct bl_filter *filter, enum bl_resize resize, int size, double start, double length,
                          int count, double phase, struct bl_error *e);

void bl_filter_free(struct bl_filter *filter);

#endif
