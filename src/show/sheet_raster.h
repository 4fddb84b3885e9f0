/* A sheet as one picture without words. */
#ifndef BL_SHEET_RASTER_H
#define BL_SHEET_RASTER_H

#include "show/sheet.h"

/* Draws it on a canvas of its own. Free with bl_canvas_free, also after errors. */
int bl_sheet_rasterize(const struct bl_sheet *sheet, struct bl_canvas *canvas, struct bl_error *e);

#endif
