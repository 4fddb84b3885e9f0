#include "cmd/progress_line.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"

#define CELLS 24      /* of the bar */
#define CELLS_FROM 72 /* columns: a narrower terminal has no bar */
#define NAME_MAX_BAR 31

/* A line that is made field by field, the most important first; from the first one without room on all are left out. */
struct line {
    struct bl_buffer *out;
    int used, room; /* columns */
    bool full;
};

const char *bl_progress_rate_of(const struct bl_progress *p)
{
    return p->step && p->steps ? p->step : p->unit;
}

/* Adds a field if it fits, and empties it. */
static void line_add(struct line *line, const char *before, struct bl_buffer *field)
{
    if (field->size && !field->failed && !line->full) {
        int columns = bl_columns_of(before) + bl_columns_of(field->data);
        line->full = columns > line->room - line->used;
        if (!line->full) {
            bl_buffer_text(line->out, before);
            bl_buffer_text(line->out, field->data);
            line->used += columns;
        }
    }
    line->out->failed |= field->failed;
    bl_buffer_free(field);
}

static void line_add_state(struct line *line, const struct bl_progress_view *v, const char *first, int name_max)
{
    static const char next[] = ", ";
    const struct bl_progress *p = v->progress;
    char a[32], b[32];
    struct bl_buffer field = {0};
    if (v->left >= 0) {
        bl_text_append_duration(&field, v->left);
        bl_buffer_text(&field, " left");
        line_add(line, first, &field);
        first = next;
    }
    if (!p->total && !p->done) { /* how long is all there is to tell */
        bl_buffer_text(&field, "for ");
        bl_text_append_duration(&field, v->seconds);
        line_add(line, first, &field);
        return;
    }
    if (p->total) {
        bl_buffer_printf(&field, "%d %%", (int)(100 * bl_progress_fraction(p)));
        line_add(line, first, &field);
        first = next;
    }
    bl_buffer_text(&field, bl_text_count(a, p->done));
    if (p->total)
        bl_buffer_printf(&field, " of %s", bl_text_count(b, p->total));
    bl_buffer_printf(&field, " %s", p->unit);
    line_add(line, first, &field);
    if (v->rate > 0)
        bl_text_append_rate(&field, v->rate, bl_progress_rate_of(p));
    line_add(line, next, &field);
    if (p->file) {
        bl_buffer_text(&field, "waits for ");
        bl_columns_append_end(&field, p->file, "...", name_max);
    }
    line_add(line, next, &field);
    if (v->byte_rate >= 1)
        bl_buffer_printf(&field, "%s/s", bl_text_size(a, (int64_t)v->byte_rate));
    line_add(line, next, &field);
    if (p->bytes)
        bl_buffer_text(&field, bl_text_size(a, p->bytes));
    line_add(line, next, &field);
}

/* A file that holds the stage up is worth more than the picture of the percentage. */
void bl_progress_line_bar(const struct bl_progress_view *v, int width, struct bl_buffer *out)
{
    const struct bl_progress *p = v->progress;
    struct line line = {.out = out, .room = width - 1};
    struct bl_buffer field = {0};
    bl_buffer_text(&field, p->what);
    line_add(&line, "", &field);
    if (p->total && width >= CELLS_FROM && !p->file) {
        int full = (int)(bl_progress_fraction(p) * CELLS);
        bl_buffer_byte(&field, '[');
        for (int i = 0; i < CELLS; i++)
            bl_buffer_byte(&field, i < full ? '#' : '.');
        bl_buffer_byte(&field, ']');
        line_add(&line, " ", &field);
    }
    line_add_state(&line, v, " ", NAME_MAX_BAR);
}

void bl_progress_line_plain(const struct bl_progress_view *v, struct bl_buffer *out)
{
    struct line line = {.out = out, .room = INT_MAX};
    bl_buffer_text(out, v->progress->what);
    line_add_state(&line, v, ": ", INT_MAX);
}

/* Names are bytes, and JSON is text: what is not UTF-8 becomes U+FFFD. */
static void json_append_text(struct bl_buffer *out, const char *text)
{
    struct bl_buffer whole = {0};
    int64_t replaced = 0;
    if (bl_text_replace_invalid(text, strlen(text), &whole, &replaced) != BL_OK)
        out->failed = true;
    bl_buffer_byte(out, '"');
    for (size_t i = 0; i < whole.size; i++) {
        unsigned char c = (unsigned char)whole.data[i];
        if (c < 0x20)
            bl_buffer_printf(out, "\\u%04x", c);
        else if (c == '"' || c == '\\')
            bl_buffer_printf(out, "\\%c", c);
        else
            bl_buffer_byte(out, (char)c);
    }
    bl_buffer_byte(out, '"');
    bl_buffer_free(&whole);
}

/* The names of stages, units and steps are plain words. */
void bl_progress_line_json(const struct bl_progress_view *v, struct bl_buffer *out)
{
    const struct bl_progress *p = v->progress;
    bl_buffer_printf(out, "{\"stage\": \"%s\", \"done\": %" PRId64 ", \"total\": ", p->what, p->done);
    if (p->total)
        bl_buffer_int(out, p->total);
    else
        bl_buffer_text(out, "null");
    bl_buffer_printf(out, ", \"unit\": \"%s\", \"bytes\": %" PRId64 ", \"seconds\": %.3f, \"seconds_left\": ", p->unit,
                     p->bytes, v->seconds);
    if (v->left >= 0)
        bl_buffer_printf(out, "%.1f", fmin(v->left, 1e15));
    else
        bl_buffer_text(out, "null");
    bl_buffer_printf(out, ", \"rate\": %.3f, \"rate_of\": \"%s\", \"file\": ", v->rate, bl_progress_rate_of(p));
    if (p->file)
        json_append_text(out, p->file);
    else
        bl_buffer_text(out, "null");
    bl_buffer_byte(out, '}');
}
