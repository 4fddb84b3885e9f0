/* What becomes of a decoder's surfaces: the filters, colours and places of nv12_rgb.h, by the same geometry, tags and
 * rules as the converter's (convert.h). Nothing here knows of a device. */
#ifndef BL_NV12_H
#define BL_NV12_H

#include <libavutil/frame.h>
#include <stdbool.h>

#include "base/error.h"
#include "kind/video/filter.h"
#include "kind/video/geometry.h"
#include "kind/video/nv12_rgb.h"

/* Filters, of luma and of chroma, and what they were made for. Zeroed before its first use. */
struct bl_nv12 {
    struct bl_filter across[2], down[2];
    int width, height, scaled_width, scaled_height, phase_w, phase_h;
    double x, y, source_width, source_height;
};

/* Makes the filters for pictures of this geometry whose chroma lies there, unless they are those at hand: *made tells.
 * BL_EFAIL for no memory. */
int bl_nv12_prepare(struct bl_nv12 *nv12, const struct bl_geometry *geometry, enum AVChromaLocation location,
                    bool *made, struct bl_error *e);
void bl_nv12_free(struct bl_nv12 *nv12);

/* Fills in a picture but for its surface, its tables and rgb, by the frame's tags. format is the surface's, NV12, P010
 * or P016. Returns the byte of the RGB picture where the scaled one begins in *origin. BL_EDATA as bl_colour_make. */
int bl_nv12_describe(struct bl_nv12_rgb *picture, const struct bl_geometry *geometry, enum AVPixelFormat format,
                     const AVFrame *frame, ptrdiff_t *origin, struct bl_error *e);

/* A filter's tables where they lie in this memory. */
struct bl_nv12_axis bl_nv12_axis(const struct bl_filter *filter);

/* Points the picture to a frame's surface: what the decoder left for others to crop at the left and the top is left
 * out. */
void bl_nv12_set_surface(struct bl_nv12_rgb *picture, const AVFrame *frame);

#endif
