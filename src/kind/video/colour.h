/* Converts scaled planes to packed RGB or to grey, in integer arithmetic.
 *
 * The scaler outputs each component as a 16-bit word, the value shifted up (8 bits: times 256), whatever the range.
 * Matrix and range are one affine map from there to 0...255, in fixed point, which gives the same bytes with every
 * instruction set. */
#ifndef BL_COLOUR_H
#define BL_COLOUR_H

#include <libavutil/frame.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/media_options.h"
#include "kind/video/options.h"
#include "kind/video/scanlines.h"

/* The affine map from words to levels (0 to 255), in 16-bit fixed point with BL_COLOUR_SHIFT fractional bits:
 *
 *     R - 128 = base + gain * Y' + red[0] * U' + red[1] * V', likewise G and B
 *
 * Y' is Y - 32768, likewise U' and V'; the factors are in units of 2^-15. The map subtracts 128 so that the extreme
 * sums (levels -310 to 571, with YCgCo) fit into 16 bits. Each product is rounded, so a sum is exact within 1/40 of a
 * level. Grey and RGB use base and gain only. */
struct bl_colour {
    enum bl_family family;
    int16_t base, gain;
    uint16_t black; /* the word of black, of luma, grey and RGB */
    int16_t red[2], green[2], blue[2];
};

#define BL_COLOUR_SHIFT 6

/* Checks that bl_colour_make supports the matrix. BL_EDATA: the conversion is not linear (constant luminance, ICtCp) or
 * unknown. */
int bl_colour_check(enum AVColorSpace matrix, struct bl_error *e);

/* Makes the map for frames of these pixels and tags, by the formulas of ITU-T H.273, 8.3. Errors as bl_colour_check. */
int bl_colour_make(struct bl_colour *colour, const struct bl_pixels *pixels, enum AVColorSpace matrix,
                   enum AVColorRange range, struct bl_error *e);

/* Computes the luma of count pixels from words of R, G and B. `depth` is the number of bits of a component; the luma is
 * rounded to as many. */
void bl_colour_mix_row(enum bl_simd simd, int depth, const uint16_t *const plane[3], int count, uint16_t *luma);

/* Converts count words of one component (grey, luma, or the luma of RGB) to levels. */
void bl_colour_grey_row(const struct bl_colour *colour, enum bl_simd simd, const uint16_t *words, int count,
                        uint8_t *levels);

/* Writes count pixels, rgb[3 * count], from count words of each plane (grey: of the first). */
void bl_colour_row(const struct bl_colour *colour, enum bl_simd simd, const uint16_t *const plane[3], int count,
                   uint8_t *rgb);

/* --- pixel writer ------------------------------------------------------------------------------------------------- */

/* Converts scaled lines of words to the pixels that --pixels names, and stores each at its place in the rotated
 * picture. */

struct bl_pixel_writer {
    enum bl_channels channels;
    enum bl_simd simd;
    struct bl_colour colour;  /* from words to levels */
    struct bl_colour alpha;   /* of transparency, from words to levels */
    bool has_alpha;           /* false: all pixels are opaque */
    int depth;                /* bits of a component, which are the upper bits of a word */
    uint8_t mask;             /* of an index: the bits that it has in the frame */
    double per_metre;         /* numbers of a depth map in a metre */
    uint8_t *levels;          /* a buffer for RGB and alpha of one line */
    uint8_t *origin;          /* the place of the scaled picture's first pixel */
    ptrdiff_t step_x, step_y; /* bytes from a pixel's place to that of the next pixel and of the next row */
    uint8_t *row;             /* a buffer for one line of the scaled picture */
};

/* Writes count pixels of row y from column x on, from count words of R, G and B (or Y, U and V), or of the first plane
 * alone, and of transparency. */
void bl_pixel_writer_put(const struct bl_pixel_writer *writer, const uint16_t *const plane[4], int x, int y, int count);

#endif
