/* The colours of lossy WebP. */
#ifndef BL_WEBP_H
#define BL_WEBP_H

#include <libavutil/frame.h>

#include "base/error.h"

/* Replaces a frame of YUV 4:2:0, as FFmpeg decodes lossy WebP, by one of 4:4:4 without transparency, whose chroma is
 * libwebp's to the bit: sited in the centre of four pixels, interpolated, and rounded to 8 bits. Other frames stay as
 * they are. */
int bl_webp_upsample(AVFrame *frame, struct bl_error *e);

#endif
