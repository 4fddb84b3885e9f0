/* Geometry: from a coded picture to the rectangle of pixels that the user asked for.
 *
 * Pure arithmetic, no libav types: coded size, sample aspect ratio, display matrix, target size and fit go in; what
 * the converter has to do comes out. The order of things is fixed: the sample aspect ratio widens or narrows the
 * coded width (never the height), the result is turned upright, and the upright picture is fitted into the target.
 * The converter works the other way about: it scales the source rectangle, still lying as coded, and turns the small
 * result while it writes it. */
#ifndef BL_GEOMETRY_H
#define BL_GEOMETRY_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define BL_SIDE_MAX 32768              /* pixels: no coded, display or target side may be longer */
#define BL_AREA_MAX (INT64_C(1) << 28) /* pixels: nor may any picture be larger (16384 x 16384) */

enum bl_fit {
    BL_FIT_STRETCH, /* the whole picture, its shape given up for the target's */
    BL_FIT_CROP,    /* the target filled, the overhang cut evenly from both sides */
    BL_FIT_PAD,     /* the whole picture in its own shape, centred, the rest black */
};

/* The eight right-angled orientations: transpose (rows become columns) first, then mirror. */
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
};

struct bl_geometry {
    int coded_width, coded_height;                          /* the frames that this is for */
    int display_width, display_height;                      /* upright, pixels square: the picture's own size */
    int width, height;                                      /* of the RGB picture to make */
    unsigned orientation;                                   /* bits of enum bl_orientation */
    double source_x, source_y, source_width, source_height; /* what is seen, in coded pixels, as coded */
    int scaled_width, scaled_height;                        /* to which that is scaled, still as coded */
    int place_x, place_y; /* where the upright scaled picture lies in the RGB picture; around it is black */
};

/* Errors: BL_EDATA when this picture cannot be shown so (rotated by no right angle, a side or an area out of bounds),
 * BL_EUSAGE for a target that cannot be. A matrix that says nothing sensible (all zero, singular) turns nothing. */
int bl_geometry_make(struct bl_geometry *geometry, const struct bl_geometry_input *input, struct bl_error *e);

/* Where the scaled picture goes in the RGB picture, 3 bytes a pixel, while it is turned and placed: returns the byte of
 * its first pixel, and sets how far it is from there to its next pixel and its next row. */
ptrdiff_t bl_geometry_place(const struct bl_geometry *geometry, ptrdiff_t *step_x, ptrdiff_t *step_y);

/* The target and the fit as the command line writes them: "224x224"; "stretch", "crop", "pad". BL_EUSAGE. */
int bl_size_parse(const char *text, int *width, int *height, struct bl_error *e);
int bl_fit_parse(const char *text, enum bl_fit *fit, struct bl_error *e);

#endif
