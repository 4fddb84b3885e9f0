#include "cmd/progress_bar.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/text.h"
#include "cmd/signals.h"

/* --- text of the progress ----------------------------------------------------------------------------------------- */

#define CELLS 24      /* of the bar */
#define CELLS_FROM 72 /* columns: a narrower terminal has no bar */
#define NAME_MAX_BAR 31

/* A line that is made field by field, the most important first; from the first one without room on all are left out. */
struct line {
    struct bl_buffer *out;
    int used, room; /* columns */
    bool full;
};

/* What the rate counts: steps, or units while no step is done. */
static const char *progress_rate_of(const struct bl_progress *p)
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
        bl_text_append_rate(&field, v->rate, progress_rate_of(p));
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

/* "pack: 12 s left, 34 %, ...": all of it. */
static void progress_line_plain(const struct bl_progress_view *v, struct bl_buffer *out)
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
    bl_buffer_printf(out, ", \"rate\": %.3f, \"rate_of\": \"%s\", \"file\": ", v->rate, progress_rate_of(p));
    if (p->file)
        json_append_text(out, p->file);
    else
        bl_buffer_text(out, "null");
    bl_buffer_byte(out, '}');
}

/* --- progress bar ------------------------------------------------------------------------------------------------- */

/* Seconds between: */
#define SAMPLES 0.1 /* of the estimates */
#define DRAWINGS 0.2
#define JSON_LINES 1.0
#define PLAIN_FIRST 10.0 /* lines, while the stage is new: */
#define PLAIN_NEW 60.0
#define PLAIN_LATER 60.0 /* lines, afterwards */

struct bl_progress_bar bl_progress_bar_make(const struct bl_common *common)
{
    const char *terminal = getenv("TERM");
    struct bl_progress_bar bar = {.quiet = common->quiet, .form = common->progress};
    if (bar.form != BL_PROGRESS_AUTO)
        return bar;
    if (common->quiet)
        bar.form = BL_PROGRESS_OFF;
    else if (isatty(STDERR_FILENO) == 1 && !(terminal && strcmp(terminal, "dumb") == 0))
        bar.form = BL_PROGRESS_BAR;
    else
        bar.form = BL_PROGRESS_PLAIN;
    return bar;
}

/* Asked for each time, since a terminal's size may change. */
static int bar_terminal_width(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

static void bar_sample(struct bl_progress_bar *bar, double seconds)
{
    const struct bl_progress *p = &bar->now;
    double done, left;
    bl_progress_work(p, &done, &left);
    bl_estimate_add(&bar->left, seconds, done, left);
    /* Units advance by their parts, if those are known. */
    bool by_steps = p->step && p->steps;
    bl_rate_add(&bar->rate, seconds, by_steps ? (double)p->steps : p->bytes_total ? (double)p->done : done);
    bl_rate_add(&bar->byte_rate, seconds, (double)p->bytes);
    bar->sampled = seconds;
}

static void bar_print(struct bl_progress_bar *bar, double seconds, int form)
{
    struct bl_progress_view view = {.progress = &bar->now,
                                    .seconds = seconds,
                                    .left = bl_estimate_left(&bar->left),
                                    .rate = bl_rate_get(&bar->rate, seconds),
                                    .byte_rate = bl_rate_get(&bar->byte_rate, seconds)};
    struct bl_buffer line = {0};
    if (form == BL_PROGRESS_BAR)
        bl_progress_line_bar(&view, bar_terminal_width(), &line);
    else if (form == BL_PROGRESS_JSON)
        bl_progress_line_json(&view, &line);
    else
        progress_line_plain(&view, &line);
    if (!line.failed && line.size)
        fprintf(stderr,
                form == BL_PROGRESS_BAR    ? "\r\033[K%s"
                : form == BL_PROGRESS_JSON ? "%s\n"
                                           : "bload: %s\n",
                line.data);
    fflush(stderr);
    bl_buffer_free(&line);
}

bool bl_progress_bar_plain_is_due(double seconds, double share, double shown, double shown_share)
{
    double since = seconds - shown;
    if (since < PLAIN_FIRST)
        return false;
    return seconds < PLAIN_NEW + PLAIN_FIRST || since >= PLAIN_LATER || (int)(10 * share) > (int)(10 * shown_share);
}

static bool bar_is_due(const struct bl_progress_bar *bar, double seconds)
{
    double since = seconds - bar->shown;
    switch (bar->form) {
    case BL_PROGRESS_BAR:
        return since >= DRAWINGS;
    case BL_PROGRESS_JSON:
        return bar->shown <= 0 || since >= JSON_LINES;
    case BL_PROGRESS_PLAIN:
        return bl_progress_bar_plain_is_due(seconds, bl_progress_fraction(&bar->now), bar->shown, bar->shown_share);
    default:
        return false;
    }
}

/* A stage begins: what was known is of another one. */
static void bar_begin(struct bl_progress_bar *bar)
{
    bar->begun = true;
    bar->shown = bar->shown_share = bar->sampled = 0;
    bar->left = (struct bl_estimate){0};
    bar->rate = bar->byte_rate = (struct bl_rate){0};
}

void bl_progress_bar_tick(struct bl_progress_bar *bar, const struct bl_progress *p)
{
    bool asked = bl_signals_take_question();
    double seconds = bl_progress_seconds(p);
    if (!bar->begun || bar->now.started != p->started)
        bar_begin(bar);
    bar->now = *p;
    if (asked || seconds - bar->sampled >= SAMPLES)
        bar_sample(bar, seconds);
    if (asked) {
        bl_progress_bar_clear(bar);
        bar_print(bar, seconds, bar->form == BL_PROGRESS_JSON ? BL_PROGRESS_JSON : BL_PROGRESS_PLAIN);
    }
    if (!bar_is_due(bar, seconds))
        return;
    bar_print(bar, seconds, bar->form);
    bar->shown = seconds;
    bar->shown_share = bl_progress_fraction(p);
    bar->drawn = bar->form == BL_PROGRESS_BAR;
}

void bl_progress_bar_choose(struct bl_progress_bar *bar, struct bl_progress *progress, int64_t row, int64_t rows)
{
    if (!row)
        bl_progress_start(progress, "choose", "sequences", NULL, rows);
    progress->done = row;
    if (bl_progress_seconds(progress) >= BL_PROGRESS_LATE)
        bl_progress_bar_tick(bar, progress);
}

void bl_progress_bar_clear(struct bl_progress_bar *bar)
{
    if (bar->drawn)
        fprintf(stderr, "\r\033[K");
    bar->drawn = false;
}

void bl_progress_bar_end(struct bl_progress_bar *bar)
{
    bl_progress_bar_clear(bar);
    if (!bar->begun)
        return;
    double seconds = bl_progress_seconds(&bar->now);
    bar->begun = false;
    bar->now.file = NULL; /* it may be gone */
    bar_sample(bar, seconds);
    bool asked = bl_signals_take_question();
    if (asked || bar->form == BL_PROGRESS_JSON)
        bar_print(bar, seconds, bar->form == BL_PROGRESS_JSON ? BL_PROGRESS_JSON : BL_PROGRESS_PLAIN);
}
