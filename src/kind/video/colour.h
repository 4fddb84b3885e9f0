/* Colour: from scaled planes to packed RGB, or to grey, in integers.
 *
 * The scaler outputs each component as a 16-bit word, the value shifted up (8 bits: times 256), whatever the range.
 * Matrix and range are one affine map from there to 0...255, in fixed point, which gives the same bytes with every
 * instruction set. */
#ifndef BL_COLOUR_H
#define BL_COLOUR_H

#include <libavutil/frame.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/media_options.h"
#include "kind/video/options.h"
#include "kind/video/scanlines.h"

/* In 16-bit words with BL_COLOUR_SHIFT bits below a level, 128 subtracted so that the worst sums (levels -310 to 571,
 * of YCgCo) fit: R - 128 = base + gain Y' + red[0] U' + red[1] V', likewise G and B; Y' is Y - 32768 and so on, a
 * factor is in units of 2^-15. Each product is rounded, so the sum is within 1/40 of a level. For grey and RGB only
 * base and gain count. */
struct bl_colour {
    enum bl_family family;
    int16_t base, gain;
    int16_t red[2], green[2], blue[2];
};

#define BL_COLOUR_SHIFT 6

/* BL_EDATA if the conversion is not linear (constant luminance, ICtCp) or not known. */
int bl_colour_check(enum AVColorSpace matrix, struct bl_error *e);

/* The map for frames of these pixels and tags. Formulas: ITU-T H.273, 8.3. */
int bl_colour_make(struct bl_colour *colour, const struct bl_pixels *pixels, enum AVColorSpace matrix,
                   enum AVColorRange range, struct bl_error *e);

/* Mixes count words of R, G and B, components of so many bits, to those of their luma, rounded to as many bits. */
void bl_colour_mix_row(enum bl_simd simd, int depth, const uint16_t *const plane[3], int count, uint16_t *luma);

/* Writes count levels of one component: of grey, of luma, or of the luma of RGB. */
void bl_colour_grey_row(const struct bl_colour *colour, enum bl_simd simd, const uint16_t *words, int count,
                        uint8_t *levels);

/* Writes count pixels, rgb[3 * count], from count words of each plane (grey: of the first). */
void bl_colour_row(const struct bl_colour *colour, enum bl_simd simd, const uint16_t *const plane[3], int count,
                   uint8_t *rgb);

/* --- pixel writer ------------------------------------------------------------------------------------------------- */

/* Scaled lines of words become what --pixels says, stored where the orientation puts them. */

struct bl_pixel_writer {
    enum bl_channels channels;
    enum bl_simd simd;
    struct bl_colour colour;  /* from words to levels */
    int depth;                /* bits of the components, which words have at their upper end */
    uint8_t *origin;          /* where the scaled picture's first pixel goes */
    ptrdiff_t step_x, step_y; /* bytes from there to its next pixel, next row */
    uint8_t *row;             /* room for a line of the scaled picture */
};

#endif
