/* The picture that a video stream or an image shows: its geometry and colours, as the converter needs them. */
#ifndef BL_PICTURE_H
#define BL_PICTURE_H

#include <libavutil/frame.h>

#include "base/error.h"
#include "kind/video/convert.h"
#include "kind/media/demux.h"
#include "kind/video/geometry.h"
#include "kind/video/config.h"

struct bl_convert_options bl_picture_options(const struct bl_video_config *config, enum bl_simd simd);

/* Whether the stream can be used, as far as the container says: its decoder, size, angle, colours. BL_EDATA. */
int bl_picture_check(const struct bl_demux *d, const struct bl_video_config *config, struct bl_error *e);

/* The geometry of a decoded frame; d NULL: of an image. Images are turned as EXIF says, as videos are, but their pixels
 * are square: most densities are wrong. BL_EDATA as bl_geometry_make. */
int bl_picture_geometry(const struct bl_demux *d, const struct bl_video_config *config, AVFrame *frame,
                        struct bl_geometry *geometry, struct bl_error *e);

#endif
