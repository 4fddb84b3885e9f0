/* Tone mapping: a PQ or HLG picture, as words at its final size, becomes BT.709 RGB.
 *
 * zimg makes linear light of it, where 1 is the reference white of BT.2408 (203 cd/m2), and encodes the result:
 * primaries of BT.709, the inverse of BT.1886's curve, full range. In between the greatest of a pixel's components is
 * mapped by the EETF of BT.2390-10 (5.4.1), and the others by the same factor, which keeps hues. The brightest that the
 * stream may have becomes white; what is dark stays as it is. */
#ifndef BL_TONEMAP_H
#define BL_TONEMAP_H

#include <libavutil/frame.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/media_options.h"
#include "kind/video/colour.h"
#include "kind/video/scanlines.h"

struct bl_tonemap;

/* BL_EFAIL: out of memory. NULL may be closed. */
int bl_tonemap_open(struct bl_tonemap **tonemap, enum bl_simd simd, struct bl_error *e);
void bl_tonemap_close(struct bl_tonemap *tonemap);

/* Whether a curve is one that needs this. */
bool bl_tonemap_is_hdr(enum AVColorTransferCharacteristic transfer);

/* The brightest that a frame may be, in cd/m2: of HLG 1,000 by definition; of PQ what its content light level or its
 * mastering display says, else 1,000. */
double bl_tonemap_peak(const AVFrame *frame);

/* Begins a picture of this size with the tags of a frame. BL_EFAIL, BL_EDATA: tags that zimg does not know. */
int bl_tonemap_begin(struct bl_tonemap *tonemap, const AVFrame *frame, const struct bl_pixels *pixels, int width,
                     int height, struct bl_error *e);

/* Takes count words of each component (grey: of the first), as of struct bl_scanlines, for row y from column x on. */
void bl_tonemap_put(struct bl_tonemap *tonemap, const uint16_t *const plane[3], int x, int y, int count);

/* Maps the picture, and writes its pixels, RGB or their luma, where the writer would. */
int bl_tonemap_finish(struct bl_tonemap *tonemap, const struct bl_pixel_writer *writer, struct bl_error *e);

#endif
