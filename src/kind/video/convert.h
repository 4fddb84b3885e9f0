/* Conversion of decoded frames: AVFrame in, packed RGB out, U8 [H,W,3].
 *
 * Scaling is zimg's, colour our own (docs/colour.md says why): bilinear, its triangle widened by the scale when
 * shrinking. Matrix and range come from the frame's tags, chroma location too; nothing is converted between primaries
 * or transfer curves. Where a frame says nothing it is taken as FFmpeg's own scaler takes it: BT.601, limited
 * range, and chroma sited left. Full range are the yuvj formats, whatever is tagged full, grey unless it is tagged
 * limited, and RGB always. Alpha is dropped, as FFmpeg does on the way to rgb24. Interlaced frames are converted as
 * they are, both fields woven: no deinterlacing.
 *
 * An object belongs to one worker; it keeps the last few zimg graphs, since making one costs up to a millisecond. */
#ifndef BL_CONVERT_H
#define BL_CONVERT_H

#include <libavutil/frame.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/video/geometry.h"
#include "kind/simd.h"

struct bl_convert_options {
    enum bl_simd simd; /* the level that was applied */
    int hdr_clip;      /* convert PQ and HLG by their matrix alone, their light clipped, instead of refusing them */
};

struct bl_convert;

/* BL_EFAIL for no memory. */
int bl_convert_open(struct bl_convert **convert, const struct bl_convert_options *options, struct bl_error *e);
void bl_convert_close(struct bl_convert *convert); /* NULL is fine */

/* Whether frames tagged so can be converted: 0, or BL_EDATA with the reason (PQ and HLG without hdr_clip, a matrix that
 * is not linear, a pixel format without colours). AV_PIX_FMT_NONE where the format is not known yet. For scan, before
 * anything is decoded; bl_convert_frame asks the same of every frame. */
int bl_convert_check(enum AVPixelFormat format, enum AVColorTransferCharacteristic transfer, enum AVColorSpace matrix,
                     const struct bl_convert_options *options, struct bl_error *e);

/* Writes geometry->height * geometry->width * 3 bytes to rgb. The frame must have the geometry's coded size: whoever
 * sees a frame of another size makes another geometry first. Format, colour and geometry may change with every frame.
 * Errors: BL_EDATA as bl_convert_check, BL_EFAIL for no memory or a frame of another size. */
int bl_convert_frame(struct bl_convert *convert, const AVFrame *frame, const struct bl_geometry *geometry, uint8_t *rgb,
                     struct bl_error *e);

#endif
