#include "show/sheet_raster.h"

#include "show/sheet_geometry.h"
#include "show/style.h"

/* Copies a lane of a line, and marks what is not of it. */
static void raster_draw_lane(const struct bl_sheet *s, struct bl_canvas *canvas, int line, int lane, int y)
{
    const struct bl_lane *l = &s->lane[lane];
    const int height = l->canvas.height;
    bl_canvas_copy(&l->canvas, (struct bl_area){line * s->width, 0, bl_sheet_line_width(s, line), height}, canvas,
                   BL_SHEET_MARGIN, y);
    for (size_t i = 0; i < s->spans; i++) {
        const struct bl_sheet_span *span = &s->span[i];
        const struct bl_area area = {BL_SHEET_MARGIN + span->x, y, span->width, height};
        if (span->line != line)
            continue;
        if (span->piece < 0 || s->piece[span->piece].failed)
            bl_canvas_hatch(canvas, area, BL_COLOUR_GREY, BL_COLOUR_SHADE);
        else if (l->damaged[span->piece])
            bl_canvas_hatch(canvas, area, BL_COLOUR_RED, BL_COLOUR_PINK);
    }
}

/* The bar of the pieces, and a mark through all lanes where one begins. */
static void raster_draw_spans(const struct bl_sheet *s, struct bl_canvas *canvas, int line, int y)
{
    const int lanes = bl_sheet_line_height(s) - BL_SHEET_LINE_GAP - BL_SHEET_SCALE;
    for (size_t i = 0; i < s->spans; i++) {
        const struct bl_sheet_span *span = &s->span[i];
        struct bl_area area = {BL_SHEET_MARGIN + span->x, y, span->width, BL_SHEET_BAR};
        if (span->line != line)
            continue;
        if (span->piece < 0)
            bl_canvas_hatch(canvas, area, BL_COLOUR_GREY, BL_COLOUR_SHADE);
        else
            bl_canvas_fill(canvas, area, bl_style_colour((uint64_t)span->piece));
        area.width = 2;
        area.height = lanes;
        if (span->begins)
            bl_canvas_fill(canvas, area, BL_COLOUR_INK);
    }
}

int bl_sheet_rasterize(const struct bl_sheet *s, struct bl_canvas *canvas, struct bl_error *e)
{
    const int line_height = bl_sheet_line_height(s);
    int code = bl_canvas_make(canvas, s->width + 2 * BL_SHEET_MARGIN,
                              2 * BL_SHEET_MARGIN + s->lines * line_height - BL_SHEET_LINE_GAP, BL_COLOUR_PAPER, e);
    for (int line = 0; line < s->lines && !code; line++) {
        int top = BL_SHEET_MARGIN + line * line_height;
        for (int lane = 0; lane < s->lanes; lane++)
            raster_draw_lane(s, canvas, line, lane, top + bl_sheet_lane_top(s, lane));
        raster_draw_spans(s, canvas, line, top + BL_SHEET_SCALE);
    }
    return code;
}
