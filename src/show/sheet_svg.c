/* Writes sheets as one picture, as SVG and as pages (show/sheet.h).
 *
 * Lanes are PNG images in the SVG; bars, scales and words are elements, which browsers can zoom, search and read aloud.
 * A line is, from top to bottom: the scale, the bar of the pieces, and the lanes, with gaps between them. */
#include "show/sheet.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "bload.h"
#include "show/html.h"
#include "show/passages.h"

/* --- sizes -------------------------------------------------------------------------------------------------------- */

/* Sizes in pixels: of the margin around everything, the scale above the bar, the bar, the gap between lanes, and the
 * gap between lines. They fit letters of 10 to 12 pixels. */
enum {
    BL_SHEET_MARGIN = 16,
    BL_SHEET_SCALE = 16, /* above the bar */
    BL_SHEET_BAR = 20,
    BL_SHEET_GAP = 5,
    BL_SHEET_LINE_GAP = 14
};

/* Returns the top of a lane, in pixels below the top of its line. Lanes have different heights. */
static inline int sheet_lane_top(const struct bl_sheet *sheet, int lane)
{
    int y = BL_SHEET_SCALE + BL_SHEET_BAR + BL_SHEET_GAP;
    for (int i = 0; i < lane; i++)
        y += sheet->lane[i].canvas.height + BL_SHEET_GAP;
    return y;
}

/* Returns the height of a line in pixels, with the gap below it. */
static inline int sheet_line_height(const struct bl_sheet *sheet)
{
    return sheet_lane_top(sheet, sheet->lanes) - BL_SHEET_GAP + BL_SHEET_LINE_GAP;
}

/* --- picture ------------------------------------------------------------------------------------------------------ */

/* Copies a lane of a line, and hatches padding and pieces that failed or are damaged. The canvas of a lane has all
 * lines side by side. */
static void raster_draw_lane(const struct bl_sheet *s, struct bl_canvas *canvas, int line, int lane, int y)
{
    const struct bl_lane *l = &s->lane[lane];
    const int height = l->canvas.height;
    bl_canvas_copy(&l->canvas, (struct bl_area){line * s->width, 0, bl_sheet_line_width(s, line), height}, canvas,
                   BL_SHEET_MARGIN, y);
    for (size_t i = 0; i < s->spans; i++) {
        const struct bl_sheet_span *span = &s->span[i];
        /* The span's x counts from the left end of the line. */
        const struct bl_area area = {BL_SHEET_MARGIN + span->x, y, span->width, height};
        if (span->line != line)
            continue;
        /* A failed piece has no steps, and padding belongs to no piece. */
        if (span->piece < 0 || s->piece[span->piece].failed)
            bl_canvas_hatch(canvas, area, BL_COLOUR_GREY, BL_COLOUR_SHADE);
        else if (l->damaged[span->piece])
            bl_canvas_hatch(canvas, area, BL_COLOUR_RED, BL_COLOUR_PINK);
    }
}

/* Draws the bar of the pieces, and a mark through all lanes where a piece begins. */
static void raster_draw_spans(const struct bl_sheet *s, struct bl_canvas *canvas, int line, int y)
{
    /* The mark reaches from the top of the bar to the bottom of the last lane. */
    const int lanes = sheet_line_height(s) - BL_SHEET_LINE_GAP - BL_SHEET_SCALE;
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

/* Draws the whole sheet, without any text, as bload has no fonts. The caller frees the canvas, also after errors. */
int bl_sheet_rasterize(const struct bl_sheet *s, struct bl_canvas *canvas, struct bl_error *e)
{
    const int line_height = sheet_line_height(s);
    /* The gap after the last line is left out. */
    int code = bl_canvas_make(canvas, s->width + 2 * BL_SHEET_MARGIN,
                              2 * BL_SHEET_MARGIN + s->lines * line_height - BL_SHEET_LINE_GAP, BL_COLOUR_PAPER, e);
    for (int line = 0; line < s->lines && !code; line++) {
        int top = BL_SHEET_MARGIN + line * line_height;
        for (int lane = 0; lane < s->lanes; lane++)
            raster_draw_lane(s, canvas, line, lane, top + sheet_lane_top(s, lane));
        raster_draw_spans(s, canvas, line, top + BL_SHEET_SCALE);
    }
    return code;
}

/* --- SVG ---------------------------------------------------------------------------------------------------------- */

/* Sizes of text in pixels or columns. LEFT is the left end of the axis, with the names of the lanes before it. No
 * text is measured: LETTER is wider than the letters of usual fonts. */
enum { LEFT = 104, LETTER = 7, NAME_COLUMNS = 14, TICK = 90, HEAD = 64, TEXT_LINE = 16, TEXT_COLUMNS = 132 };

/* Appends a tick of the scale with the number of its step, beside the tick. */
static void svg_append_tick(const struct bl_sheet *s, int line, int64_t step, int y, struct bl_buffer *out)
{
    char count[32];
    int x = LEFT + bl_sheet_pixel(s, step) - line * s->width;
    bl_buffer_printf(out, "<path class=\"g\" d=\"M%d %dv4\"/><text x=\"%d\" y=\"%d\">%s</text>\n", x,
                     y + BL_SHEET_SCALE - 4, x + 3, y + BL_SHEET_SCALE - 5, bl_text_count(count, step));
}

/* Appends the scale of a line: its first step, and round steps that have room. */
static void svg_append_scale(const struct bl_sheet *s, int line, int y, struct bl_buffer *out)
{
    const int64_t first = line * s->line_steps, tick = bl_sheet_tick(s, TICK);
    int64_t end = first + s->line_steps < s->drawn ? first + s->line_steps : s->drawn;
    svg_append_tick(s, line, first, y, out);
    /* The first tick after the beginning of the line is a multiple of the distance. */
    for (int64_t step = (first / tick + 1) * tick; step < end; step += tick) {
        int x = bl_sheet_pixel(s, step) - line * s->width;
        /* A number near an end would overlap the first one, or be cut off. */
        if (x >= TICK / 2 && x <= s->width - TICK / 2)
            svg_append_tick(s, line, step, y, out);
    }
}

/* Appends the label of a piece, escaped. */
static void append_piece_label(const struct bl_sheet *s, const struct bl_sheet_piece *piece, struct bl_buffer *out)
{
    size_t from = out->size;
    /* The text is appended plain first and then escaped in place. */
    bl_sheet_append_label(s, piece, out);
    bl_xml_escape_from(out, from);
}

/* Appends the title or the summary, escaped. */
static void append_sheet_words(const struct bl_sheet *s, void (*append)(const struct bl_sheet *, struct bl_buffer *),
                               struct bl_buffer *out)
{
    size_t from = out->size;
    append(s, out);
    bl_xml_escape_from(out, from);
}

/* Appends the end of a piece's label, as far as it fits into the span; a label of less than two letters is left out. */
static void svg_append_label(const struct bl_sheet *s, const struct bl_sheet_span *span, int y, struct bl_buffer *out)
{
    struct bl_buffer label = {0}, fitted = {0};
    /* Four pixels remain on each side. */
    int columns = (span->width - 8) / LETTER;
    bl_sheet_append_label(s, &s->piece[span->piece], &label);
    if (columns >= 2) {
        bl_columns_append_end(&fitted, label.data ? label.data : "", "…", columns);
        bl_buffer_printf(out, "<text class=\"w\" x=\"%d\" y=\"%d\">", LEFT + span->x + 5, y + BL_SHEET_BAR - 6);
        /* A failed buffer has no text; bl_buffer_free_part notes the failure in out. */
        bl_xml_append_text(out, fitted.data ? fitted.data : "");
        bl_buffer_text(out, "</text>");
    }
    bl_buffer_free_part(&label, out);
    bl_buffer_free_part(&fitted, out);
}

/* Appends a span of the bar. Its title appears below the pointer, and screen readers read it. */
static void svg_append_span(const struct bl_sheet *s, const struct bl_sheet_span *span, const char *id, int y,
                            struct bl_buffer *out)
{
    bl_buffer_printf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"", LEFT + span->x, y, span->width,
                     BL_SHEET_BAR);
    if (span->piece < 0) {
        bl_buffer_printf(out, " fill=\"url(#%s-none)\"><title>%s</title></rect>\n", id,
                         s->subject.block < 0 ? "not stored" : "padding");
        return;
    }
    bl_buffer_printf(out, " fill=\"#%06" PRIx32 "\">", bl_style_colour((uint64_t)span->piece));
    char a[BL_PLURAL_SIZE];
    const struct bl_sheet_piece *piece = &s->piece[span->piece];
    /* The piece may be shorter than its sequence, whose range is then shown. */
    const int64_t steps = piece->end - piece->start;
    bl_buffer_text(out, "<title>");
    append_piece_label(s, piece, out);
    bl_buffer_printf(out, ": from step %" PRId64 ", %s", piece->start, bl_text_plural(a, steps, "step"));
    /* A cut sequence: the steps of the sequence that the piece has, the last one included. */
    if (steps < piece->length)
        bl_buffer_printf(out, ", %" PRId64 " to %" PRId64 " of %" PRId64, piece->source_start,
                         piece->source_start + steps - 1, piece->length);
    bl_buffer_printf(out, "%s</title></rect>", piece->failed ? ", failed while packing" : "");
    svg_append_label(s, span, y, out);
    bl_buffer_byte(out, '\n');
}

/* Appends a hatched rectangle over a span of a lane that has no data: padding, a sequence that failed, damage. */
static void svg_append_cover(const struct bl_sheet *s, const struct bl_lane *lane, const struct bl_sheet_span *span,
                             const char *id, int y, struct bl_buffer *out)
{
    const char *what = span->piece < 0                ? s->subject.block < 0 ? "not stored" : "padding"
                       : s->piece[span->piece].failed ? "failed while packing"
                       : lane->damaged[span->piece]   ? "damaged"
                                                      : NULL;
    if (!what)
        return;
    /* Only "damaged" begins with "d". */
    bool is_damage = *what == 'd';
    /* Half a pixel more at the top and bottom hides the edges of the picture. */
    bl_buffer_printf(
        out, "<rect x=\"%d\" y=\"%d.5\" width=\"%d\" height=\"%d\" fill=\"url(#%s-%s)\"><title>%s</title></rect>",
        LEFT + span->x, y - 1, span->width, lane->canvas.height + 1, id, is_damage ? "bad" : "none", what);
    /* The word needs room for its letters. */
    if (is_damage && span->width >= (int)sizeof "damaged" * LETTER)
        bl_buffer_printf(out, "<text class=\"d\" x=\"%d\" y=\"%d\">damaged</text>", LEFT + span->x + 4,
                         y + lane->canvas.height / 2 + 4);
    bl_buffer_byte(out, '\n');
}

/* Appends a lane of a line: its name, its note, its picture as PNG, and covers over spans without data. */
static int svg_append_lane(const struct bl_sheet *s, const struct bl_lane *lane, const char *id, int line, int y,
                           struct bl_buffer *out, struct bl_error *e)
{
    const struct bl_field *field = bl_sheet_field(s, lane);
    const struct bl_area area = {line * s->width, 0, bl_sheet_line_width(s, line), lane->canvas.height};
    struct bl_buffer png = {0}, name = {0};
    char strange[32];
    /* The paper is transparent except in pictures, so that curves suit a dark page. */
    int code = bl_canvas_append_png(&lane->canvas, area, lane->form != BL_LANE_PICTURES, &png, e);
    if (code)
        goto out;
    bl_columns_append_end(&name, field->name, "…", NAME_COLUMNS);
    bl_buffer_printf(out, "<text class=\"e\" x=\"%d\" y=\"%d\">", LEFT - 6, y + 11);
    bl_xml_append_text(out, name.data ? name.data : "");
    bl_buffer_printf(out, "</text>");
    /* The note needs a second line of text, and the count of strange values a third one. */
    if (lane->canvas.height >= 2 * TEXT_LINE)
        bl_buffer_printf(out, "<text class=\"e s\" x=\"%d\" y=\"%d\">%s</text>", LEFT - 6, y + 25, lane->note);
    if (lane->strange && lane->canvas.height >= 3 * TEXT_LINE)
        bl_buffer_printf(out, "<text class=\"e s\" x=\"%d\" y=\"%d\">%s not finite</text>", LEFT - 6, y + 38,
                         bl_text_count(strange, lane->strange));
    bl_buffer_printf(out, "<image x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" href=\"data:image/png;base64,", LEFT, y,
                     area.width, area.height);
    /* The picture is a part of the page, which loads nothing. */
    bl_base64_append(out, png.data, png.size);
    bl_buffer_text(out, "\"/>\n");
    for (size_t i = 0; i < s->spans; i++) {
        if (s->span[i].line == line)
            svg_append_cover(s, lane, &s->span[i], id, y, out);
    }
out:
    bl_buffer_free(&png);
    bl_buffer_free_part(&name, out); /* without memory the name is missing */
    return code;
}

/* Appends a line of the axis, whose top is at y. Marks come last, above the lanes. */
static int svg_append_line(const struct bl_sheet *s, const char *id, int line, int y, struct bl_buffer *out,
                           struct bl_error *e)
{
    const int bar = y + BL_SHEET_SCALE;
    int code = BL_OK;
    svg_append_scale(s, line, y, out);
    /* Spans come after the lanes of the line, in the order of the axis. */
    for (int lane = 0; lane < s->lanes && !code; lane++)
        code = svg_append_lane(s, &s->lane[lane], id, line, y + sheet_lane_top(s, lane), out, e);
    for (size_t i = 0; i < s->spans; i++) {
        if (s->span[i].line != line)
            continue;
        svg_append_span(s, &s->span[i], id, bar, out);
        if (s->span[i].begins)
            bl_buffer_printf(out, "<path class=\"b\" d=\"M%d %dv%d\"/>\n", LEFT + s->span[i].x + 1, bar,
                             sheet_line_height(s) - BL_SHEET_LINE_GAP - BL_SHEET_SCALE);
    }
    return code;
}

/* Appends all lines of the axis. id: the prefix of the patterns' names, which must be unique on a page. */
static int svg_append_lines(const struct bl_sheet *s, const char *id, int y, struct bl_buffer *out, struct bl_error *e)
{
    char end[32];
    int code = BL_OK;
    /* The patterns are lines from the lower left to the upper right, like bl_canvas_hatch: grey for spans without
     * data, red for damage. */
    bl_buffer_printf(
        out,
        "<defs><pattern id=\"%s-none\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
        "<rect class=\"k\" width=\"6\" height=\"6\"/><path class=\"l\" d=\"M-1 1l2 -2M0 6l6 -6M5 7l2 -2\"/>"
        "</pattern><pattern id=\"%s-bad\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
        "<rect width=\"6\" height=\"6\" fill=\"#%06x\"/><path stroke=\"#%06x\" "
        "d=\"M-1 1l2 -2M0 6l6 -6M5 7l2 -2\"/></pattern></defs>\n",
        id, id, BL_COLOUR_PINK, BL_COLOUR_RED);
    for (int line = 0; line < s->lines && !code; line++)
        code = svg_append_line(s, id, line, y + line * sheet_line_height(s), out, e);
    /* Lines with nothing except padding are not drawn. */
    if (s->drawn < s->steps)
        bl_buffer_printf(out, "<text x=\"%d\" y=\"%d\">padding to step %s</text>\n", LEFT,
                         y + s->lines * sheet_line_height(s), bl_text_count(end, s->steps - 1));
    return code;
}

/* Appends the beginning of an SVG, with a title and a description for screen readers. */
static void svg_append_open(const struct bl_sheet *s, const char *id, const char *class, int height,
                            struct bl_buffer *out)
{
    /* All lines have the width of the look, also the last one. */
    const int width = LEFT + s->look.width + BL_SHEET_MARGIN;
    bl_buffer_printf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"%s\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d "
        "%d\" role=\"img\" aria-labelledby=\"%s-title %s-words\">\n<title id=\"%s-title\">",
        class, width, height, width, height, id, id, id);
    append_sheet_words(s, bl_sheet_append_title, out);
    bl_buffer_printf(out, "</title>\n<desc id=\"%s-words\">", id);
    append_sheet_words(s, bl_sheet_append_summary, out);
    bl_buffer_text(out, "</desc>\n");
}

/* Appends the style of sheets: the colours for light and dark, and the choice between wide and narrow lines. */
static void svg_append_style(struct bl_buffer *out)
{
    bl_buffer_text(out, ".sheet{font:12px sans-serif;max-width:100%;height:auto}.sheet text{fill:" BL_STYLE_INK "}\n"
                        ".sheet .e{text-anchor:end}.sheet .s{font-size:10px}\n"
                        ".sheet text.w{fill:#fff;pointer-events:none}.sheet text.d{fill:" BL_STYLE_INK "}\n"
                        ".sheet .g{stroke:#8c959f}.sheet .b{stroke:" BL_STYLE_INK ";stroke-width:2}\n"
                        ".sheet .k{fill:" BL_STYLE_SHADE "}.sheet .l{stroke:#8c959f}\n"
                        ".narrow{display:none}@media (max-width:44rem){.wide{display:none}.narrow{display:block}}\n"
                        "@media (prefers-color-scheme:dark){.sheet text{fill:" BL_STYLE_DARK_INK
                        "}.sheet .b{stroke:" BL_STYLE_DARK_INK "}.sheet .k{fill:" BL_STYLE_DARK_SHADE
                        "}.sheet .l{stroke:#6e7681}}\n");
}

/* Appends the axis alone, for a page that has the style and the title. id: unique on the page. */
static int sheet_append_axis(const struct bl_sheet *s, const char *id, const char *class, struct bl_buffer *out,
                             struct bl_error *e)
{
    svg_append_open(s, id, class, 2 * BL_SHEET_MARGIN + s->lines * sheet_line_height(s), out);
    BL_TRY(svg_append_lines(s, id, BL_SHEET_MARGIN, out, e));
    bl_buffer_text(out, "</svg>\n");
    return bl_buffer_check(out, e);
}

/* Appends the axis twice, with long lines and with short ones. The style shows the one that suits the width of the
 * screen: so letters keep their size on a phone, and nothing is cut off. */
static int sheet_append_axes(const struct bl_sheet *s, const char *id, struct bl_buffer *out, struct bl_error *e)
{
    /* The narrow sheet shares pieces and lanes with s, and owns its spans only. */
    struct bl_sheet narrow;
    struct bl_buffer narrow_id = {0};
    int code = bl_sheet_cut_lines(s, &narrow, e);
    if (!code)
        code = sheet_append_axis(s, id, "sheet wide", out, e);
    bl_buffer_printf(&narrow_id, "%s-narrow", id);
    if (!code)
        code = bl_buffer_check(&narrow_id, e);
    if (!code)
        code = sheet_append_axis(&narrow, narrow_id.data, "sheet narrow", out, e);
    bl_buffer_free(&narrow_id);
    free(narrow.span);
    return code;
}

/* --- alone ------------------------------------------------------------------------------------------------------ */

/* The text that is written line by line; y: the baseline of the last line, in pixels. */
struct svg_text {
    struct bl_buffer *out;
    int y;
};

/* Callbacks of bl_text_lines: each line is a <text>, each run a <tspan>. */
static void svg_begin_text_line(void *to)
{
    struct svg_text *t = to;
    bl_buffer_printf(t->out, "<text class=\"p\" x=\"%d\" y=\"%d\">", BL_SHEET_MARGIN + 12, t->y += TEXT_LINE);
}

static void svg_put_text(void *to, const char *text, size_t size, bool is_shaded)
{
    struct bl_buffer *out = ((struct svg_text *)to)->out;
    bl_buffer_printf(out, "<tspan%s>", is_shaded ? " class=\"m\"" : "");
    bl_xml_append_plain(out, text, size);
    bl_buffer_text(out, "</tspan>");
}

static void svg_end_text_line(void *to)
{
    bl_buffer_text(((struct svg_text *)to)->out, "</text>\n");
}

/* Appends the texts of a field below the axis, from *y on, and moves *y below them. */
static void svg_append_passages(const struct bl_sheet *s, const struct bl_passages *p, int *y, struct bl_buffer *out)
{
    struct svg_text text = {.out = out, .y = *y};
    const struct bl_text_lines lines = {.begin = svg_begin_text_line,
                                        .put = svg_put_text,
                                        .end = svg_end_text_line,
                                        .to = &text,
                                        .columns = TEXT_COLUMNS};
    if (p->own) {
        text.y += TEXT_LINE + 10;
        bl_buffer_printf(out, "<text class=\"h\" x=\"%d\" y=\"%d\">", BL_SHEET_MARGIN, text.y);
        bl_xml_append_text(out, s->view->manifest.format.fields.field[p->field].name);
        bl_buffer_text(out, ": ");
        bl_sheet_append_fill(s, p, out);
        bl_buffer_text(out, "</text>\n");
    }
    /* Each piece has a heading with the colour of its bar. */
    for (size_t i = 0; i < bl_sheet_passages_pieces(s, p); i++) {
        text.y += TEXT_LINE + 6;
        bl_buffer_printf(out,
                         "<rect x=\"%d\" y=\"%d\" width=\"8\" height=\"8\" fill=\"#%06" PRIx32
                         "\"/><text class=\"h\" x=\"%d\" y=\"%d\">",
                         BL_SHEET_MARGIN, text.y - 9, bl_style_colour(i), BL_SHEET_MARGIN + 12, text.y);
        append_piece_label(s, &s->piece[i], out);
        bl_sheet_append_state(s, p, i, out);
        bl_buffer_text(out, "</text>\n");
        bl_text_lines_put(&lines, p, i);
    }
    *y = text.y;
}

/* Appends a whole SVG file. The texts are made first, since their height is a part of the header. */
int bl_sheet_append_svg(const struct bl_sheet *s, struct bl_buffer *out, struct bl_error *e)
{
    struct bl_buffer texts = {0};
    int y = HEAD + s->lines * sheet_line_height(s);
    /* The texts decide the height, which is in the first element. */
    for (int i = 0; i < s->texts; i++)
        svg_append_passages(s, &s->passages[i], &y, &texts);
    svg_append_open(s, "sheet", "sheet", y + BL_SHEET_MARGIN, out);
    bl_buffer_text(out, "<style>\n");
    svg_append_style(out);
    /* The paper is a rectangle, as an SVG has no background. */
    bl_buffer_text(out, ".paper{fill:" BL_STYLE_PAPER "}.t{font-size:16px;font-weight:bold}.h{font-weight:bold}\n"
                        ".p{font:12px monospace;white-space:pre}.m{text-decoration:underline;font-weight:bold}\n"
                        "@media (prefers-color-scheme:dark){.paper{fill:" BL_STYLE_DARK_PAPER "}}\n</style>\n"
                        "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n");
    bl_buffer_printf(out, "<text class=\"t\" x=\"%d\" y=\"%d\">", BL_SHEET_MARGIN, BL_SHEET_MARGIN + 14);
    append_sheet_words(s, bl_sheet_append_title, out);
    bl_buffer_printf(out, "</text>\n<text x=\"%d\" y=\"%d\">", BL_SHEET_MARGIN, BL_SHEET_MARGIN + 34);
    append_sheet_words(s, bl_sheet_append_summary, out);
    bl_buffer_text(out, "</text>\n");
    int code = svg_append_lines(s, "sheet", HEAD, out, e);
    bl_buffer_append(out, texts.data, texts.size);
    bl_buffer_text(out, "</svg>\n");
    bl_buffer_free_part(&texts, out);
    return code ? code : bl_buffer_check(out, e);
}

/* --- page --------------------------------------------------------------------------------------------------------- */

/* A page also has texts. */
void bl_sheet_append_style(struct bl_buffer *out)
{
    svg_append_style(out);
    bl_buffer_text(out, "section{border-left:6px solid;padding-left:.75rem;margin:1rem 0}\n"
                        ".text{white-space:pre-wrap;font-family:monospace}\n"
                        "mark{background:#fde68a;color:" BL_STYLE_INK "}\n");
}

/* Appends the texts of a field, in a section for each piece. Shaded runs are in <mark>. A report has headings of its
 * own above them. */
static void page_append_passages(const struct bl_sheet *s, const struct bl_passages *p, struct bl_buffer *out)
{
    /* Runs are in the order of the pieces: one pass suffices. */
    size_t run = 0;
    const int heading = s->subject.is_brief ? 4 : 2;
    bl_buffer_printf(out, "<h%d>", heading);
    bl_xml_append_text(out, s->view->manifest.format.fields.field[p->field].name);
    if (p->own) {
        bl_buffer_text(out, ": ");
        bl_sheet_append_fill(s, p, out);
    }
    bl_buffer_printf(out, "</h%d>\n%s", heading,
                     p->is_ids ? "<p>Ids: name their tokenizer to see the text.</p>\n" : "");
    for (size_t i = 0; i < bl_sheet_passages_pieces(s, p); i++) {
        bl_buffer_printf(out, "<section style=\"border-color:#%06" PRIx32 "\"><h%d>", bl_style_colour(i), heading + 1);
        append_piece_label(s, &s->piece[i], out);
        bl_sheet_append_state(s, p, i, out);
        bl_buffer_printf(out, "</h%d>\n", heading + 1);
        if (s->piece[i].failed || p->damaged[i] || (p->own && !p->own[i])) {
            bl_buffer_printf(out, "%s</section>\n",
                             p->damaged[i]        ? "<p><strong>Damaged: not shown.</strong></p>\n"
                             : s->piece[i].failed ? "<p><strong>Failed while packing.</strong></p>\n"
                                                  : "");
            continue;
        }
        bl_buffer_text(out, "<p class=\"text\">");
        for (; run < p->runs && p->run[run].piece <= i; run++) {
            const struct bl_passage_run *r = &p->run[run];
            /* A run begins where the previous one ends. */
            size_t from = run ? r[-1].end : 0;
            bl_buffer_text(out, r->is_shaded ? "<mark>" : "");
            bl_xml_append_plain(out, p->text.data + from, r->end - from);
            bl_buffer_text(out, r->is_shaded ? "</mark>" : "");
        }
        bl_buffer_text(out, "</p>\n</section>\n");
    }
    const size_t shown = bl_sheet_passages_pieces(s, p);
    char more[BL_PLURAL_SIZE];
    if (shown < s->pieces && s->subject.block >= 0)
        bl_buffer_printf(out, "<p>%s more.</p>\n", bl_text_plural(more, (int64_t)(s->pieces - shown), "sequence"));
}

/* Appends the table of the pieces, which has all that the picture shows, for those who cannot see it. */
static void page_append_pieces(const struct bl_sheet *s, struct bl_buffer *out)
{
    bl_page_begin_table(out, "Pieces", "sequence|#start|#steps|#from its step|#of|#block|state");
    for (size_t i = 0; i < s->pieces; i++) {
        const struct bl_sheet_piece *p = &s->piece[i];
        bl_buffer_text(out, "<tr><th scope=\"row\" class=\"w\">");
        bl_xml_append_text(out, p->id);
        bl_buffer_text(out, "</th>");
        bl_page_number(out, p->start);
        bl_page_number(out, p->end - p->start);
        bl_page_number(out, p->source_start);
        bl_page_number(out, p->length);
        bl_page_number(out, p->block);
        const bool is_damaged = bl_sheet_piece_is_damaged(s, i);
        bl_buffer_printf(out, "<td>%s</td></tr>\n", p->failed ? "failed while packing" : is_damaged ? "damaged" : "ok");
    }
    bl_page_end_table(out);
}

/* Appends the table of the lanes, and of own fields. */
static void page_append_lanes(const struct bl_sheet *s, struct bl_buffer *out)
{
    static const char *const what[] = {[BL_LANE_PICTURES] = "pictures",
                                       [BL_LANE_CURVE] = "least and greatest values",
                                       [BL_LANE_SPECTRUM] = "spectrum, 80 dB",
                                       [BL_LANE_MAP] = "values of each step",
                                       [BL_LANE_STRIP] = "a colour for each integer"};
    char steps[BL_PLURAL_SIZE];
    bl_page_begin_table(out, "Fields", "field|drawn|range|made by");
    for (int l = 0; l < s->lanes; l++) {
        const struct bl_lane *lane = &s->lane[l];
        bl_page_begin_row(out, bl_sheet_field(s, lane)->name);
        bl_buffer_printf(out, "<td>%s", what[lane->form]);
        /* A cell that shows one of many steps must say so. */
        if (lane->form == BL_LANE_PICTURES && s->cell_steps > 1)
            bl_buffer_printf(out, ", one of %s", bl_text_plural(steps, s->cell_steps, "step"));
        bl_buffer_printf(out, "</td><td>%s", lane->note);
        if (lane->strange)
            bl_buffer_printf(out, ", %s not finite", bl_text_plural(steps, lane->strange, "value"));
        bl_buffer_text(out, "</td>");
        bl_page_cell(out, s->view->manifest.made[lane->field]);
        bl_buffer_text(out, "</tr>\n");
    }
    for (int i = 0; i < s->texts; i++) {
        if (!s->passages[i].own)
            continue;
        bl_page_begin_row(out, s->view->manifest.format.fields.field[s->passages[i].field].name);
        bl_buffer_text(out, "<td>steps of its own</td><td>");
        bl_sheet_append_fill(s, &s->passages[i], out);
        bl_buffer_text(out, "</td>");
        bl_page_cell(out, s->view->manifest.made[s->passages[i].field]);
        bl_buffer_text(out, "</tr>\n");
    }
    bl_page_end_table(out);
}

/* Appends a sheet as a part of a page, such as that of a report. */
int bl_sheet_append_section(const struct bl_sheet *s, const char *id, struct bl_buffer *out, struct bl_error *e)
{
    bl_buffer_text(out, "<p>");
    append_sheet_words(s, bl_sheet_append_summary, out);
    bl_buffer_text(out, ".</p>\n");
    if (s->damage.code) {
        bl_buffer_text(out, "<p><strong>");
        bl_xml_append_text(out, s->damage.text);
        bl_buffer_text(out, "</strong></p>\n");
    }
    int code = sheet_append_axes(s, id, out, e);
    for (int i = 0; i < s->texts && !code; i++)
        page_append_passages(s, &s->passages[i], out);
    return code;
}

/* Appends a page with the sheet and the tables. path: the dataset, for the title. */
int bl_sheet_append_page(const struct bl_sheet *s, const char *path, struct bl_buffer *out, struct bl_error *e)
{
    struct bl_buffer style = {0}, title = {0};
    bl_sheet_append_style(&style);
    bl_buffer_text(&style, "h3{font-size:1rem}\n");
    bl_buffer_printf(&title, "%s, ", path);
    bl_sheet_append_title(s, &title);
    int code = bl_buffer_check(&style, e);
    if (!code)
        code = bl_buffer_check(&title, e);
    if (!code) {
        bl_page_begin(out, title.data, "bload show", style.data);
        code = bl_sheet_append_section(s, "sheet", out, e);
        page_append_pieces(s, out);
        page_append_lanes(s, out);
        bl_buffer_printf(out, "<p>Manifest %s. This page: bload " BLOAD_VERSION ".</p>\n", s->view->manifest.digest);
        bl_page_end(out);
    }
    bl_buffer_free(&style);
    bl_buffer_free(&title);
    return code ? code : bl_buffer_check(out, e);
}
