/* Prepares the drawing of surfaces by nv12_rgb.h: filters, colours and places, with the same geometry, tags and rules
 * as the converter (convert.h). Independent of any device. */
#ifndef BL_NV12_H
#define BL_NV12_H

#include <libavutil/frame.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/video/geometry.h"
#include "kind/video/nv12_rgb.h"

/* --- filter ------------------------------------------------------------------------------------------------------- */

/* Filter tables that scale one axis: which samples, with which weights, make each output sample.
 *
 * The filters are zimg's, which the converter uses (convert.h): a kernel around the centre of an output sample, widened
 * by the scale when shrinking, with normalised weights; positions beyond the picture are mirrored at its edge. Pure
 * arithmetic, in double until the weights are stored. */

/* Output i is the sum over t of weight[t * count + i] times sample first[i] + t; all of these samples exist. The
 * weights of a tap are contiguous, since neighbouring outputs are computed together. size: samples of the axis. */
struct bl_filter {
    int count, taps, size;
    int32_t *first; /* [count] */
    float *weight;  /* [taps, count] */
};

/* --- nv12 --------------------------------------------------------------------------------------------------------- */

/* What filters are made for. Compared as bytes: no padding. */
struct bl_nv12_key {
    int width, height, scaled_width, scaled_height, phase_w, phase_h;
    int64_t resize; /* enum bl_resize */
    double x, y, source_width, source_height;
};

/* The filters of luma and of chroma. Must be zeroed before its first use. */
struct bl_nv12 {
    struct bl_nv12_key key;
    struct bl_filter across[2], down[2];
};

/* Makes the filters for pictures of this geometry and chroma location; *made: they were not the current ones. BL_EFAIL:
 * out of memory. */
int bl_nv12_prepare(struct bl_nv12 *nv12, const struct bl_geometry *geometry, enum AVChromaLocation location,
                    bool *made, struct bl_error *e);
void bl_nv12_free(struct bl_nv12 *nv12);

/* Fills in a picture by the frame's tags, except for its surface, tables and rgb. format: of the surface: NV12, P010 or
 * P016. *origin: the offset of the scaled picture in the RGB picture. BL_EDATA as bl_colour_make. */
int bl_nv12_describe(struct bl_nv12_rgb *picture, const struct bl_geometry *geometry, enum AVPixelFormat format,
                     const AVFrame *frame, ptrdiff_t *origin, struct bl_error *e);

/* An axis with the filter's tables in host memory. */
struct bl_nv12_axis bl_nv12_axis(const struct bl_filter *filter);

/* Points the picture to a frame's surface, cropped at the left and the top, which the decoder leaves to us. */
void bl_nv12_set_surface(struct bl_nv12_rgb *picture, const AVFrame *frame);

#endif
