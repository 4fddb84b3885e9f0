/* Pictures for the tests of conversions: a frame to fill, and the geometry of one. */
#ifndef BL_PICTURE_H
#define BL_PICTURE_H

#include <libavutil/frame.h>

#include "kind/video/geometry.h"
#include "unit.h"

static inline AVFrame *frame_of(enum AVPixelFormat format, int width, int height)
{
    AVFrame *frame = av_frame_alloc();
    ck_assert_ptr_nonnull(frame);
    frame->format = format;
    frame->width = width;
    frame->height = height;
    ck_assert_int_ge(av_frame_get_buffer(frame, 64), 0);
    return frame;
}

static inline struct bl_geometry geometry_of(const AVFrame *frame, int width, int height, enum bl_fit fit,
                                             enum bl_resize resize, const int32_t *matrix)
{
    struct bl_geometry g;
    const struct bl_geometry_input in = {.coded_width = frame->width,
                                         .coded_height = frame->height,
                                         .matrix = matrix,
                                         .target_width = width,
                                         .target_height = height,
                                         .fit = fit,
                                         .resize = resize};
    ck_assert_int_eq(bl_geometry_make(&g, &in, NULL), 0);
    return g;
}

static inline struct bl_geometry geometry(const AVFrame *frame, int width, int height, enum bl_fit fit,
                                          const int32_t *matrix)
{
    return geometry_of(frame, width, height, fit, BL_RESIZE_BILINEAR, matrix);
}

#endif
