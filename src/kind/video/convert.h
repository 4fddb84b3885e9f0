/* Converts decoded frames: AVFrame in, packed RGB out, U8 [H,W,3]; or grey, U8 or U16 [H,W,1].
 *
 * zimg scales, colour.c converts (docs/colour.md says why): bilinear, the triangle widened by the scale when shrinking.
 * Matrix, range and chroma location come from the frame's tags; primaries and transfer curves are not converted. For
 * missing tags it assumes what FFmpeg's own scaler does: BT.601, limited range, chroma sited left. Full range are the
 * yuvj formats, frames tagged so, grey unless tagged limited, and RGB always. Alpha is dropped, as FFmpeg does for
 * rgb24. Grey is luma brought to full range; of RGB it is made before scaling, as Pillow does (options.h). Of 16 bits
 * it is copied, never computed with. Planes may begin at any address: a frame that was cropped at the left is read
 * where it lies. Interlaced frames are converted as they are, without deinterlacing.
 *
 * An object belongs to one worker. It caches the last few zimg graphs, since making one takes up to a millisecond.
 *
 * zimg scales and converts colours, as it has the least error and is fast enough; docs/colour.md has the figures. */
#ifndef BL_CONVERT_H
#define BL_CONVERT_H

#include <libavutil/frame.h>
#include <stddef.h>
#include <stdint.h>
#include <zimg.h>

#include "base/error.h"
#include "kind/media_options.h"
#include "kind/video/colour.h"
#include "kind/video/geometry.h"
#include "kind/video/options.h"

/* --- conversion --------------------------------------------------------------------------------------------------- */

struct bl_convert_options {
    enum bl_simd simd; /* the level that was applied */
    enum bl_channels channels;
    int hdr_clip;    /* convert PQ and HLG by their matrix alone, clipped, instead of rejecting them */
    int hdr_tonemap; /* map them (tonemap.h) instead of rejecting them */
};

struct bl_convert;

/* BL_EFAIL: out of memory. */
int bl_convert_open(struct bl_convert **convert, const struct bl_convert_options *options, struct bl_error *e);
void bl_convert_close(struct bl_convert *convert); /* NULL is fine */

/* Whether frames with these tags can be converted: 0, or BL_EDATA with the reason (PQ and HLG without hdr_clip, a
 * matrix that is not linear, an unsupported pixel format; of 16-bit grey all formats but grey of more than 8).
 * AV_PIX_FMT_NONE: the format is not known yet. For the scan, before anything is decoded; bl_convert_frame checks every
 * frame. */
int bl_convert_check(enum AVPixelFormat format, enum AVColorTransferCharacteristic transfer, enum AVColorSpace matrix,
                     const struct bl_convert_options *options, struct bl_error *e);

/* Writes geometry->height * geometry->width pixels to out. The frame must have the geometry's coded size. Format,
 * colours and geometry may change with every frame. Errors: BL_EDATA as bl_convert_check; BL_EFAIL: out of memory, or a
 * frame of another size. */
int bl_convert_frame(struct bl_convert *convert, const AVFrame *frame, const struct bl_geometry *geometry, uint8_t *out,
                     struct bl_error *e);

#endif
