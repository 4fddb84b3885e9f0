/* The colours of pictures and pages, on light and on dark. */
#ifndef BL_STYLE_H
#define BL_STYLE_H

#include <stdint.h>

#define BL_STYLE_PAPER "#fff"
#define BL_STYLE_INK "#1f2328"
#define BL_STYLE_LINE "#d0d7de"
#define BL_STYLE_SHADE "#f6f8fa"
#define BL_STYLE_DARK_PAPER "#0d1117"
#define BL_STYLE_DARK_INK "#d7dde4"
#define BL_STYLE_DARK_LINE "#30363d"
#define BL_STYLE_DARK_SHADE "#161b22"

/* Fills with a contrast of 3 and more to both papers. */
#define BL_STYLE_BLUE "#2f6fb5"
#define BL_STYLE_BROWN "#a8521c"

/* The same, of pixels: 0xRRGGBB. */
#define BL_COLOUR_PAPER 0xffffffU
#define BL_COLOUR_INK 0x1f2328U
#define BL_COLOUR_SHADE 0xf6f8faU
#define BL_COLOUR_GREY 0x8c959fU
#define BL_COLOUR_BLUE 0x2f6fb5U
#define BL_COLOUR_RED 0xb83a3aU
#define BL_COLOUR_PINK 0xf7e1e1U

#define BL_STYLE_COLOURS 12

/* A colour for the i-th of something, 0xRRGGBB, again from BL_STYLE_COLOURS on: fills that have a contrast of 3 and
 * more to both papers, and of 4.5 to white letters on them; neighbours in number differ in hue and lightness. */
uint32_t bl_style_colour(uint64_t i);

#endif
