/* The geometry and colours of a video stream, as the converter needs them. */
#ifndef BL_STREAM_H
#define BL_STREAM_H

#include <libavutil/frame.h>

#include "base/error.h"
#include "kind/video/convert.h"
#include "kind/media/demux.h"
#include "kind/video/geometry.h"
#include "kind/video/config.h"

struct bl_convert_options bl_stream_convert_options(const struct bl_video_config *config, enum bl_simd simd);

/* Whether the stream can be used, as far as the container says: its decoder, size, angle, colours. BL_EDATA. */
int bl_stream_check(const struct bl_demux *d, const struct bl_video_config *config, struct bl_error *e);

/* The geometry of a decoded frame. BL_EDATA as bl_geometry_make. */
int bl_stream_geometry(const struct bl_demux *d, const struct bl_video_config *config, AVFrame *frame,
                       struct bl_geometry *geometry, struct bl_error *e);

#endif
