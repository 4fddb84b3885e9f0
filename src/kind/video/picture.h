/* The picture that a video stream or an image shows: its geometry and colours, as the converter needs them. */
#ifndef BL_PICTURE_H
#define BL_PICTURE_H

#include <libavcodec/codec_id.h>
#include <libavutil/frame.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/media/demux.h"
#include "kind/video/convert.h"
#include "kind/video/geometry.h"
#include "kind/video/options.h"

struct bl_convert_options bl_picture_options(const struct bl_video_config *config, enum bl_simd simd);

/* Whether the stream can be used, as far as the container says: its decoder, size, angle, colours. BL_EDATA. */
int bl_picture_check(const struct bl_demux *d, const struct bl_video_config *config, struct bl_error *e);

/* The same for what the stream's own headers say: bits by the numbers of H.273 that occur (timeline.h). */
int bl_picture_check_tags(const struct bl_video_config *config, enum AVCodecID codec, uint32_t transfers,
                          uint32_t matrices, struct bl_error *e);

/* The same for a decoded frame, which knows best. */
int bl_picture_check_frame(const struct bl_video_config *config, const AVFrame *frame, struct bl_error *e);

/* Whether only a decoded frame tells if it can be converted (of some codecs, which may have XYZ, Bayer patterns or
 * constant luminance; of all where 16-bit grey is wanted), or is one at all. */
bool bl_picture_is_told_by_frames(const struct bl_video_config *config, enum AVCodecID codec);

/* The geometry of a decoded frame; d NULL: of an image. Images are turned as EXIF says, as videos are, but their pixels
 * are square: most densities are wrong. BL_EDATA as bl_geometry_make. */
int bl_picture_geometry(const struct bl_demux *d, const struct bl_video_config *config, AVFrame *frame,
                        struct bl_geometry *geometry, struct bl_error *e);

#endif
