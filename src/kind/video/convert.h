/* Converts decoded frames (AVFrame) to packed RGB, U8 [H,W,3], or to the other pixels of enum bl_channels.
 *
 * zimg scales the planes, because it has the least error and is fast enough, and colour.c converts them to RGB;
 * docs/colour.md has the figures. The rules:
 * - Matrix, range and chroma location come from the frame's tags. Primaries and transfer curves are not converted.
 * - Missing tags mean what FFmpeg's own scaler assumes: BT.601, limited range, chroma sited left.
 * - RGB, the yuvj formats and frames tagged as full range are full range, and so is grey unless it is tagged limited.
 * - Alpha is dropped, as FFmpeg does for rgb24, except for RGBA. There colours are multiplied by their opacity before
 *   they are scaled, and divided afterwards, as Pillow does: what a transparent pixel would show is not mixed in.
 * - 8-bit grey is luma in full range. For RGB frames luma is computed before scaling, as Pillow does (options.h).
 * - 16-bit grey, 16-bit RGB and indices keep the numbers of the file: no arithmetic changes them. Depths are these
 *   numbers, divided once.
 * - Interlaced frames are not deinterlaced.
 * Planes may begin at any address, so a frame that was cropped at the left is read in place.
 *
 * A converter belongs to one worker. It caches the last few zimg graphs, since making one takes up to a millisecond. */
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
    double per_metre; /* for BL_CHANNELS_DEPTH: numbers in a metre */
    int hdr_clip;     /* convert PQ and HLG by their matrix alone, clipped, instead of rejecting them */
    int hdr_tonemap;  /* map them (tonemap.h) instead of rejecting them */
};

struct bl_convert;

/* Makes a converter; bl_convert_close frees it. BL_EFAIL: out of memory. */
int bl_convert_open(struct bl_convert **convert, const struct bl_convert_options *options, struct bl_error *e);
void bl_convert_close(struct bl_convert *convert); /* NULL is fine */

/* Checks whether frames with this format and these tags can be converted. BL_EDATA (with the reason): PQ or HLG without
 * hdr_clip or hdr_tonemap, a matrix that is not linear, or an unsupported pixel format; for channels that keep numbers
 * every format without such numbers. The format may be AV_PIX_FMT_NONE if it is unknown. The scan calls it before
 * anything is decoded; bl_convert_frame checks every frame again. */
int bl_convert_check(enum AVPixelFormat format, enum AVColorTransferCharacteristic transfer, enum AVColorSpace matrix,
                     const struct bl_convert_options *options, struct bl_error *e);

/* Converts a frame, and writes geometry->height * geometry->width pixels to out. The frame must have the geometry's
 * coded size. Format, colours and geometry may change with every frame. BL_EDATA as bl_convert_check; BL_EFAIL: out of
 * memory, or the frame has another size. */
int bl_convert_frame(struct bl_convert *convert, const AVFrame *frame, const struct bl_geometry *geometry, uint8_t *out,
                     struct bl_error *e);

#endif
