/* Maps the tones of a PQ or HLG picture, given as words at its final size, to BT.709 RGB.
 *
 * zimg converts the picture to linear light, where 1 is the reference white of BT.2408 (203 cd/m2). The EETF of
 * BT.2390-10 (5.4.1) then maps the largest component of each pixel, and the other components get the same factor, which
 * keeps the hue. The stream's peak luminance becomes white, and dark pixels do not change. Last, zimg encodes the
 * result with BT.709 primaries, the inverse of BT.1886's curve, and full range. */
#ifndef BL_TONEMAP_H
#define BL_TONEMAP_H

#include <libavutil/frame.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/media_options.h"
#include "kind/video/colour.h"
#include "kind/video/scanlines.h"

struct bl_tonemap;

/* Opens a tone mapper; bl_tonemap_close frees it, and accepts NULL. BL_EFAIL: out of memory. */
int bl_tonemap_open(struct bl_tonemap **tonemap, enum bl_simd simd, struct bl_error *e);
void bl_tonemap_close(struct bl_tonemap *tonemap);

/* Returns whether the transfer curve is PQ or HLG. */
bool bl_tonemap_is_hdr(enum AVColorTransferCharacteristic transfer);

/* Returns the peak luminance of a frame in cd/m2: 1,000 for HLG, by definition. For PQ it is the content light level
 * (MaxCLL), or else the mastering display's maximum, or else 1,000; at most 10,000. */
double bl_tonemap_peak(const AVFrame *frame);

/* Begins a picture of this size with the tags of a frame. BL_EFAIL: out of memory; BL_EDATA: zimg does not support the
 * tags. */
int bl_tonemap_begin(struct bl_tonemap *tonemap, const AVFrame *frame, const struct bl_pixels *pixels, int width,
                     int height, struct bl_error *e);

/* Stores count words of each component (grey: of the first) for row y from column x on. bl_scanlines_read defines the
 * words. */
void bl_tonemap_put(struct bl_tonemap *tonemap, const uint16_t *const plane[3], int x, int y, int count);

/* Maps the picture, and writes its pixels (RGB or luma) to the places that the writer describes. */
int bl_tonemap_finish(struct bl_tonemap *tonemap, const struct bl_pixel_writer *writer, struct bl_error *e);

#endif
