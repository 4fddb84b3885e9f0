/* A sheet as SVG: axis, pieces and lanes, with words and embedded pictures. */
#ifndef BL_SHEET_SVG_H
#define BL_SHEET_SVG_H

#include "base/buffer.h"
#include "show/sheet.h"

/* --- sheet raster ------------------------------------------------------------------------------------------------- */

/* A sheet as one picture without words. */

/* Draws it on a canvas of its own. Free with bl_canvas_free, also after errors. */
int bl_sheet_rasterize(const struct bl_sheet *sheet, struct bl_canvas *canvas, struct bl_error *e);

/* --- sheet svg ---------------------------------------------------------------------------------------------------- */

/* Appends a picture that can stand alone, with title and texts. */
int bl_sheet_append_svg(const struct bl_sheet *sheet, struct bl_buffer *out, struct bl_error *e);

/* Appends the axis alone, for a page that has the style and the words. id: unique on the page. */
int bl_sheet_append_axis(const struct bl_sheet *sheet, const char *id, struct bl_buffer *out, struct bl_error *e);

/* Appends the style of the axis, for a page. */
void bl_sheet_append_style(struct bl_buffer *out);

#endif
