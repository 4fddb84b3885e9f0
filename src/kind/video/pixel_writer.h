/* Writing pixels: scaled lines of words become what --pixels says, stored where the orientation puts them. */
#ifndef BL_PIXEL_WRITER_H
#define BL_PIXEL_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "kind/simd.h"
#include "kind/video/channels.h"
#include "kind/video/colour.h"

struct bl_pixel_writer {
    enum bl_channels channels;
    enum bl_simd simd;
    struct bl_colour colour;  /* from words to levels */
    int depth;                /* bits of the components, which words have at their upper end */
    uint8_t *origin;          /* where the scaled picture's first pixel goes */
    ptrdiff_t step_x, step_y; /* bytes from there to its next pixel, next row */
    uint8_t *row;             /* room for a line of the scaled picture */
};

/* Writes count pixels of row y from column x on, from count words of each plane (all but RGB: of the first). */
void bl_pixel_writer_put(const struct bl_pixel_writer *writer, const uint16_t *const plane[3], int x, int y, int count);

#endif
