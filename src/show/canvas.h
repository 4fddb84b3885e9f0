/* A picture in memory, U8 RGB, that bars, frames and maps are drawn into. */
#ifndef BL_CANVAS_H
#define BL_CANVAS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "kind/row.h"

struct bl_canvas {
    int width, height; /* pixels */
    uint8_t *pixel;    /* [height, width, 3] */
};

/* A part of a canvas. What lies outside the canvas is not drawn. */
struct bl_area {
    int x, y, width, height;
};

typedef uint32_t bl_colour; /* 0xRRGGBB */

/* All of it gets the colour. Free with bl_canvas_free, also after errors. */
int bl_canvas_make(struct bl_canvas *canvas, int width, int height, bl_colour colour, struct bl_error *e);
void bl_canvas_free(struct bl_canvas *canvas);

void bl_canvas_fill(struct bl_canvas *canvas, struct bl_area area, bl_colour colour);

/* Fills with lines from the lower left to the upper right on a ground, which go on from area to area. */
void bl_canvas_hatch(struct bl_canvas *canvas, struct bl_area area, bl_colour line, bl_colour ground);

/* Draws a step of a field that bl_png_can_encode, without its transparency, scaled to the area: each pixel is the mean
 * of the part of the step that it covers. Classes of masks (--pixels index) have the colours of Pascal VOC's palette.
 */
void bl_canvas_draw(struct bl_canvas *canvas, struct bl_area area, const struct bl_field *field, const uint8_t *step);

/* Copies an area of a canvas to a place of another. */
void bl_canvas_copy(const struct bl_canvas *from, struct bl_area area, struct bl_canvas *to, int x, int y);

/* Gives all pixels of one colour another one. */
void bl_canvas_replace(struct bl_canvas *canvas, bl_colour from, bl_colour to);

/* Appends an area as a PNG file. is_clear: pixels of BL_COLOUR_PAPER are transparent, so that the paper of a dark page
 * shows through. */
int bl_canvas_append_png(const struct bl_canvas *canvas, struct bl_area area, bool is_clear, struct bl_buffer *out,
                         struct bl_error *e);

#endif
