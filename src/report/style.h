/* The colours of pictures and pages, on light and on dark. */
#ifndef BL_STYLE_H
#define BL_STYLE_H

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

#endif
