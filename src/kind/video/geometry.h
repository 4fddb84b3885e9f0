/* Geometry: from a coded picture to the rectangle of pixels that the user asked for.
 *
 * Pure arithmetic, without libav types. In go the coded size, sample aspect ratio, display matrix, target size and fit;
 * out comes what the converter has to do. The order of steps is fixed: the sample aspect ratio scales the coded width
 * (never the height), the result is turned upright, and the upright picture is fitted into the target. The converter
 * works the other way round: it scales the source rectangle as coded, and turns the small result as it writes it. */
#ifndef BL_GEOMETRY_H
#define BL_GEOMETRY_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define BL_SIDE_MAX 32768              /* pixels: of any coded, display or target side */
#define BL_AREA_MAX (INT64_C(1) << 28) /* pixels: of any picture (16384 x 16384) */

enum bl_fit {
    BL_FIT_STRETCH, /* the whole picture, in the target's shape */
    BL_FIT_CROP,    /* fills the target; the overhang is cut evenly from both sides */
    BL_FIT_PAD,     /* the whole picture in its own shape, centred, the rest black */
};

/* How pixels are scaled: by zimg's filters, widened by the scale when shrinking, as Pillow's are. */
enum bl_resize {
    BL_RESIZE_BILINEAR, /* the triangle */
    BL_RESIZE_BICUBIC,  /* Keys's with a = -1/2 (Catmull-Rom) */
    BL_RESIZE_LANCZOS,  /* of three lobes */
    BL_RESIZE_NEAREST,  /* the nearest pixel, without antialiasing */
};

/* The eight right-angled orientations: first transpose (rows become columns), then mirror. */
enum bl_orientation {
    BL_ORIENT_TRANSPOSE = 1,
    BL_ORIENT_MIRROR_X = 2, /* left and right change places */
    BL_ORIENT_MIRROR_Y = 4, /* top and bottom change places */
};

struct bl_geometry_input {
    int coded_width, coded_height;   /* pixels, after the decoder's own cropping (AVFrame.width, height) */
    int sar_num, sar_den;            /* sample aspect ratio; either not positive: square */
    const int32_t *matrix;           /* the display matrix [9] as FFmpeg gives it, or NULL */
    int target_width, target_height; /* both 0: the picture's own size */
    enum bl_fit fit;
    enum bl_resize resize;
};

struct bl_geometry {
    int coded_width, coded_height;                          /* of the frames that this is for */
    int display_width, display_height;                      /* upright, pixels square: the picture's own size */
    int width, height;                                      /* of the picture to make */
    unsigned orientation;                                   /* bits of enum bl_orientation */
    double source_x, source_y, source_width, source_height; /* the visible part, in coded pixels */
    int scaled_width, scaled_height;                        /* the size to which it is scaled, before turning */
    enum bl_resize resize;
    int place_x, place_y; /* where the upright scaled picture lies in the picture to make; around it is black */
};

/* Errors: BL_EDATA for an unsupported picture (not rotated by a right angle, a side or an area out of bounds),
 * BL_EUSAGE for an invalid target. A singular matrix is ignored. */
int bl_geometry_make(struct bl_geometry *geometry, const struct bl_geometry_input *input, struct bl_error *e);

/* Where the scaled picture goes in the picture to make, of so many bytes a pixel, as it is turned and placed: returns
 * the offset of its first pixel, and sets the distances to its next pixel and its next row, all in bytes. */
ptrdiff_t bl_geometry_place(const struct bl_geometry *geometry, int pixel, ptrdiff_t *step_x, ptrdiff_t *step_y);

#endif
