/* Where the parts of a sheet are in a picture, in pixels: each line has the scale, the bar of the pieces, and the
 * lanes, one below the other. */
#ifndef BL_SHEET_GEOMETRY_H
#define BL_SHEET_GEOMETRY_H

#include "show/sheet.h"

enum {
    BL_SHEET_MARGIN = 16,
    BL_SHEET_SCALE = 16, /* above the bar */
    BL_SHEET_BAR = 20,
    BL_SHEET_GAP = 5,
    BL_SHEET_LINE_GAP = 14
};

static inline int bl_sheet_lane_top(const struct bl_sheet *sheet, int lane)
{
    int y = BL_SHEET_SCALE + BL_SHEET_BAR + BL_SHEET_GAP;
    for (int i = 0; i < lane; i++)
        y += sheet->lane[i].canvas.height + BL_SHEET_GAP;
    return y;
}

/* With the gap to the next one. */
static inline int bl_sheet_line_height(const struct bl_sheet *sheet)
{
    return bl_sheet_lane_top(sheet, sheet->lanes) - BL_SHEET_GAP + BL_SHEET_LINE_GAP;
}

#endif
