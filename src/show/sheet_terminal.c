/* Writes sheets for a terminal (show/sheet.h).
 *
 * A character shows two pixels, one above the other, as "▀" in the colour of the upper pixel on the colour of the lower
 * one; without UTF-8 a space in the colour of the upper pixel, and without colours a letter of about its brightness. */
#include "show/sheet.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "show/html.h"
#include "show/passages.h"

/* Sizes in pixels, two in the height of a character: a picture is 18 columns wide, and a tick of the scale needs 10. */
enum { CELL = 18, LINES = 6, CURVE = 10, MAP = 20, STRIP = 2, TICK = 10 };

/* What is being written. */
struct writer {
    const struct bl_sheet *sheet;
    const struct bl_terminal *terminal;
    struct bl_buffer *out;
    struct bl_buffer under; /* of a line of text without colours: marks below what is shaded */
    bool is_under;          /* it has some */
};

/* The sheet is as wide as the terminal, and a cell of pictures not wider than it. */
struct bl_sheet_look bl_sheet_terminal_look(const struct bl_terminal *t)
{
    int cell = t->columns < CELL ? t->columns : CELL;
    return (struct bl_sheet_look){.width = t->columns,
                                  .cell = cell,
                                  .pictures = LINES * (t->columns / cell),
                                  .lines = LINES,
                                  .curve = CURVE,
                                  .map = MAP,
                                  .strip = STRIP};
}

/* --- colours ---------------------------------------------------------------------------------------------------- */

/* Sets a colour of the background (is_ground) or of letters, by the codes that the terminal knows. Without colours
 * the function writes nothing. */
static void colour_set(struct writer *w, bool is_ground, bl_colour c)
{
    const unsigned red = c >> 16 & 255, green = c >> 8 & 255, blue = c & 255;
    /* The cube has 6 * 6 * 6 colours from number 16 on; each level is rounded. */
    if (w->terminal->colours == BL_COLOURS_ALL)
        bl_buffer_printf(w->out, "\033[%d;2;%u;%u;%um", is_ground ? 48 : 38, red, green, blue);
    else if (w->terminal->colours == BL_COLOURS_256) /* xterm's cube of 6 levels each */
        bl_buffer_printf(w->out, "\033[%d;5;%um", is_ground ? 48 : 38,
                         16 + 36 * ((red * 5 + 127) / 255) + 6 * ((green * 5 + 127) / 255) + (blue * 5 + 127) / 255);
}

/* Ends all colours, so that the rest of the line has none. */
static void colour_end(struct writer *w)
{
    /* The code 0 ends all attributes. */
    if (w->terminal->colours)
        bl_buffer_text(w->out, "\033[0m");
}

/* Replaces each character beyond ASCII by one "?", in place. Returns the new size. */
static size_t ascii_mask(char *text, size_t size)
{
    size_t to = 0;
    for (size_t at = 0; at < size; at++) {
        /* Only the first byte of a character in UTF-8 begins with 11: further bytes are left out. */
        if ((text[at] & 0x80) == 0)
            text[to++] = text[at];
        else if ((text[at] & 0xc0) == 0xc0)
            text[to++] = '?';
    }
    text[to] = '\0';
    return to;
}

/* Appends a name as the terminal can show it. Names come from outside: control characters are masked. */
static void name_put(struct writer *w, const char *name)
{
    const size_t from = w->out->size;
    bl_text_append_masked(w->out, name);
    /* Without UTF-8, the masked text still has characters beyond ASCII. */
    if (!w->terminal->has_utf8 && !w->out->failed && w->out->size > from)
        w->out->size = from + ascii_mask(w->out->data + from, w->out->size - from);
}

/* --- lanes ------------------------------------------------------------------------------------------------------ */

/* Returns a pixel of the lane. A canvas of odd height ends with half a character, which is paper. */
static bl_colour lane_pixel(const struct bl_lane *lane, int x, int y)
{
    if (y >= lane->canvas.height)
        return BL_COLOUR_PAPER;
    /* The canvas has three bytes for each pixel. */
    const uint8_t *p = lane->canvas.pixel + ((size_t)y * (size_t)lane->canvas.width + (size_t)x) * 3;
    return (bl_colour)p[0] << 16 | (bl_colour)p[1] << 8 | p[2];
}

/* Writes a character for two pixels, one above the other. Without colours, letters are denser for brighter pixels;
 * curves and strips have one letter for each of the four cases. */
static void lane_put_cell(struct writer *w, const struct bl_lane *lane, int x, int row)
{
    const bl_colour top = lane_pixel(lane, x, 2 * row), bottom = lane_pixel(lane, x, 2 * row + 1);
    if (!w->terminal->colours && (lane->form == BL_LANE_CURVE || lane->form == BL_LANE_STRIP)) {
        bool is_top = top != BL_COLOUR_PAPER, is_bottom = bottom != BL_COLOUR_PAPER;
        bl_buffer_byte(w->out, " .'#"[2 * is_top + is_bottom]);
        return;
    }
    if (!w->terminal->colours) {
        static const char ramp[] = " .:-=+*#%@";
        unsigned light = 0; /* of both, by ITU-R BT.601, 0 to 510 */
        /* Green counts most, as eyes see it best. */
        for (int i = 0; i < 2; i++) {
            bl_colour c = i ? bottom : top;
            light += (299 * (c >> 16 & 255) + 587 * (c >> 8 & 255) + 114 * (c & 255)) / 1000;
        }
        bl_buffer_byte(w->out, ramp[light * (sizeof ramp - 2) / 510]);
        return;
    }
    colour_set(w, true, w->terminal->has_utf8 ? bottom : top);
    if (w->terminal->has_utf8)
        colour_set(w, false, top);
    bl_buffer_text(w->out, w->terminal->has_utf8 ? "▀" : " ");
}

/* Writes a row of characters of a lane. Padding, and pieces that failed or are damaged, are hatched by "/" and "x". */
static void lane_put_row(struct writer *w, const struct bl_lane *lane, int line, int row)
{
    const struct bl_sheet *s = w->sheet;
    for (size_t i = 0; i < s->spans; i++) {
        const struct bl_sheet_span *span = &s->span[i];
        if (span->line != line)
            continue;
        bool is_damage = span->piece >= 0 && !s->piece[span->piece].failed && lane->damaged[span->piece];
        bool is_hidden = span->piece < 0 || s->piece[span->piece].failed || is_damage;
        /* Colours of the previous span must end first. */
        if (is_hidden) {
            colour_end(w);
            colour_set(w, false, is_damage ? BL_COLOUR_RED : BL_COLOUR_GREY);
        }
        for (int x = span->x; x < span->x + span->width; x++) {
            if (is_hidden)
                bl_buffer_byte(w->out, is_damage ? 'x' : '/');
            else
                lane_put_cell(w, lane, line * s->width + x, row);
        }
    }
    colour_end(w);
    bl_buffer_byte(w->out, '\n');
}

/* Writes a lane of a line. The name and the range stand before its first line only. */
static void lane_put(struct writer *w, const struct bl_lane *lane, int line)
{
    char strange[BL_PLURAL_SIZE];
    if (line == 0) {
        name_put(w, bl_sheet_field(w->sheet, lane)->name);
        bl_buffer_printf(w->out, "%s%s", *lane->note ? ": " : "", lane->note);
        if (lane->strange)
            bl_buffer_printf(w->out, ", %s not finite", bl_text_plural(strange, lane->strange, "value"));
        bl_buffer_byte(w->out, '\n');
    }
    /* An odd height needs a character more. */
    for (int row = 0; row < (lane->canvas.height + 1) / 2; row++)
        lane_put_row(w, lane, line, row);
}

/* --- the axis --------------------------------------------------------------------------------------------------- */

/* Writes the numbers of steps, each at the column of its step. Numbers without room are left out. */
static void scale_put(struct writer *w, int line)
{
    const struct bl_sheet *s = w->sheet;
    const int64_t first = line * s->line_steps, tick = bl_sheet_tick(s, TICK);
    int64_t end = first + s->line_steps < s->drawn ? first + s->line_steps : s->drawn;
    int used = 0;
    for (int64_t step = first; step < end; step = (step / tick + 1) * tick) {
        char count[32];
        int x = bl_sheet_pixel(s, step) - line * s->width;
        int size = (int)strlen(bl_text_count(count, step));
        /* The first number always fits; a later one must not be cut at the right end. */
        if (x < used || (x && x + size > s->width))
            continue;
        bl_buffer_printf(w->out, "%*s%s", x - used, "", count);
        used = x + size + 1;
        bl_buffer_byte(w->out, ' ');
    }
    bl_buffer_byte(w->out, '\n');
}

/* Writes a span of the bar: a mark where a piece begins, and the end of its label, as far as it fits. */
static void bar_put_span(struct writer *w, const struct bl_sheet_span *span)
{
    struct bl_buffer label = {0}, fitted = {0};
    int room = span->width - 1; /* the first column is the mark of the boundary, or empty */
    if (span->piece >= 0) {
        bl_sheet_append_label(w->sheet, &w->sheet->piece[span->piece], &label);
        colour_set(w, true, bl_style_colour((uint64_t)span->piece));
        colour_set(w, false, BL_COLOUR_PAPER);
    }
    if (room > 3 && label.data)
        bl_columns_append_end(&fitted, label.data, w->terminal->has_utf8 ? "…" : "..", room);
    if (fitted.data && !w->terminal->has_utf8)
        fitted.size = ascii_mask(fitted.data, fitted.size);
    bl_buffer_text(w->out, span->piece < 0 ? "/" : span->begins ? "|" : " ");
    bl_buffer_text(w->out, fitted.data ? fitted.data : "");
    for (int i = fitted.data ? bl_columns_of(fitted.data) : 0; i < room; i++)
        bl_buffer_byte(w->out, span->piece < 0 ? '/' : w->terminal->colours ? ' ' : '-');
    colour_end(w);
    /* A failed buffer makes the whole output fail. */
    w->out->failed |= label.failed || fitted.failed;
    bl_buffer_free(&label);
    bl_buffer_free(&fitted);
}

/* --- texts ------------------------------------------------------------------------------------------------------ */

/* Begins a line of text. The three functions are callbacks of bl_text_lines. */
static void text_begin(void *to)
{
    struct writer *w = to;
    bl_buffer_clear(&w->under);
    w->is_under = false;
}

/* Writes a part of a line. Shaded text is inverse; without colours, the next line underlines it by "~". */
static void terminal_put_text(void *to, const char *text, size_t size, bool is_shaded)
{
    struct writer *w = to;
    if (is_shaded && w->terminal->colours)
        bl_buffer_text(w->out, "\033[7m");
    const size_t from = w->out->size;
    bl_buffer_append(w->out, text, size);
    if (!w->out->failed && !w->terminal->has_utf8)
        w->out->size = from + ascii_mask(w->out->data + from, size);
    /* Marks have the width of the text above them. */
    for (int i = w->out->failed ? 0 : bl_columns_of(w->out->data + from); i > 0; i--)
        bl_buffer_byte(&w->under, is_shaded ? '~' : ' ');
    w->is_under |= is_shaded;
    if (is_shaded)
        colour_end(w);
}

/* The line of marks is written only where it has some. */
static void text_end(void *to)
{
    struct writer *w = to;
    bl_buffer_byte(w->out, '\n');
    if (w->is_under && !w->terminal->colours && w->under.data)
        bl_buffer_printf(w->out, "%s\n", w->under.data);
}

/* Writes the texts of a field, below the label of each piece, or the number of its own steps. */
static void texts_put(struct writer *w, const struct bl_passages *p)
{
    const struct bl_sheet *s = w->sheet;
    const struct bl_text_lines lines = {
        .begin = text_begin, .put = terminal_put_text, .end = text_end, .to = w, .columns = w->terminal->columns};
    struct bl_buffer label = {0}, state = {0};
    if (p->own) {
        bl_buffer_byte(w->out, '\n');
        name_put(w, s->view->manifest.format.fields.field[p->field].name);
        bl_buffer_text(w->out, ": ");
        bl_sheet_append_fill(s, p, w->out);
        bl_buffer_byte(w->out, '\n');
    }
    for (size_t i = 0; i < bl_sheet_passages_pieces(s, p); i++) {
        bl_buffer_clear(&label);
        bl_buffer_clear(&state);
        bl_sheet_append_label(s, &s->piece[i], &label);
        bl_sheet_append_state(s, p, i, &state);
        bl_buffer_text(w->out, p->own ? "" : "\n");
        colour_set(w, true, bl_style_colour(i));
        colour_set(w, false, BL_COLOUR_PAPER);
        name_put(w, label.data ? label.data : "");
        colour_end(w);
        bl_buffer_append(w->out, state.data, state.size);
        bl_buffer_byte(w->out, '\n');
        bl_text_lines_put(&lines, p, i);
    }
    bl_buffer_free_part(&label, w->out);
    bl_buffer_free_part(&state, w->out);
}

/* --- all -------------------------------------------------------------------------------------------------------- */

/* Writes the table of the pieces, which has the numbers that the bar leaves out. */
static void pieces_put(struct writer *w)
{
    const struct bl_sheet *s = w->sheet;
    bl_buffer_printf(w->out, "\n%10s %10s  %s\n", "start", "steps", s->subject.block < 0 ? "block" : "sequence");
    for (size_t i = 0; i < s->pieces; i++) {
        const struct bl_sheet_piece *p = &s->piece[i];
        struct bl_buffer label = {0};
        const bool is_damaged = bl_sheet_piece_is_damaged(s, i);
        bl_sheet_append_label(s, p, &label);
        bl_buffer_printf(w->out, "%10" PRId64 " %10" PRId64 "  ", p->start, p->end - p->start);
        name_put(w, label.data ? label.data : "");
        if (s->subject.block >= 0 && p->end - p->start < p->length)
            bl_buffer_printf(w->out, " from its step %" PRId64, p->source_start);
        bl_buffer_printf(w->out, "%s\n", p->failed ? " (failed while packing)" : is_damaged ? " (damaged)" : "");
        w->out->failed |= label.failed;
        bl_buffer_free(&label);
    }
}

int bl_sheet_append_terminal(const struct bl_sheet *s, const struct bl_terminal *terminal, struct bl_buffer *out,
                             struct bl_error *e)
{
    struct writer w = {.sheet = s, .terminal = terminal, .out = out};
    struct bl_buffer words = {0};
    bl_sheet_append_title(s, &words);
    bl_buffer_text(&words, ": ");
    bl_sheet_append_summary(s, &words);
    name_put(&w, words.data ? words.data : "");
    bl_buffer_byte(out, '\n');
    for (int line = 0; line < s->lines; line++) {
        bl_buffer_byte(out, '\n');
        scale_put(&w, line);
        for (size_t i = 0; i < s->spans; i++) {
            if (s->span[i].line == line)
                bar_put_span(&w, &s->span[i]);
        }
        bl_buffer_byte(out, '\n');
        for (int l = 0; l < s->lanes; l++)
            lane_put(&w, &s->lane[l], line);
    }
    if (s->drawn < s->steps)
        bl_buffer_printf(out, "padding to step %" PRId64 "\n", s->steps - 1);
    for (int i = 0; i < s->texts; i++)
        texts_put(&w, &s->passages[i]);
    pieces_put(&w);
    out->failed |= words.failed || w.under.failed;
    bl_buffer_free(&words);
    bl_buffer_free(&w.under);
    return bl_buffer_check(out, e);
}
