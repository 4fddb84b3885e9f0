/* Computes how a coded picture becomes the rectangle of pixels that the user requests.
 *
 * This is pure arithmetic without libav types. From the coded size, sample aspect ratio, display matrix, target size
 * and fit it computes which part of the picture is scaled, to which size, and where the result goes. The steps are: the
 * sample aspect ratio scales the coded width (never the height), the display matrix turns the picture upright, and the
 * upright picture is fitted into the target. For example, a coded picture of 720x576 with a sample aspect ratio of
 * 16:15 and a rotation of 90 degrees is 576x768 upright. The converter scales first and rotates the small result while
 * it writes it, which is cheaper. */
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

/* The filters for scaling are zimg's. When a picture shrinks, they are widened by the scale, as Pillow's are. */
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
    int coded_width, coded_height;                          /* the frames' size, pixels */
    int display_width, display_height;                      /* the picture's own size: upright, with square pixels */
    int width, height;                                      /* the output's size, pixels */
    unsigned orientation;                                   /* bits of enum bl_orientation */
    double source_x, source_y, source_width, source_height; /* the visible part of the frame, in coded pixels */
    int scaled_width, scaled_height;                        /* the size to which that part is scaled, not rotated yet */
    enum bl_resize resize;
    int place_x, place_y; /* where the upright scaled picture begins in the output; the rest of the output is black */
};

/* Computes the geometry. BL_EDATA: the picture is unsupported (its rotation is no multiple of 90 degrees, or a side or
 * the area is out of bounds); BL_EUSAGE: the target is invalid. A singular matrix is ignored. */
int bl_geometry_make(struct bl_geometry *geometry, const struct bl_geometry_input *input, struct bl_error *e);

/* Returns the byte offset in the output of the scaled picture's first pixel. *step_x and *step_y are the distances, in
 * bytes, to its next pixel and its next row; the rotation makes them negative or exchanges them. `pixel` is the size of
 * an output pixel in bytes. */
ptrdiff_t bl_geometry_place(const struct bl_geometry *geometry, int pixel, ptrdiff_t *step_x, ptrdiff_t *step_y);

#endif
