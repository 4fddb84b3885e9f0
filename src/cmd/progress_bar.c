/* Progress on stderr: when to show it, and the lines that show it.
 *
 * Stages call bl_progress_bar_tick several times a second with a copy of their counters (struct bl_progress). The bar
 * takes samples of them for its estimates, and draws a line if one is due. The forms are
 *
 *     pack [#####...................] 12 s left, 21 %, 12 of 57 blocks, 4,800 frames/s    a terminal
 *     bload: pack: 12 s left, 21 %, 12 of 57 blocks, 4,800 frames/s                       a log
 *     {"stage": "pack", "done": 12, "total": 57, "unit": "blocks", ...}                   a program */
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

/* --- lines -------------------------------------------------------------------------------------------------------- */

#define CELLS 24        /* characters of the bar */
#define CELLS_FROM 72   /* columns: a narrower terminal has no bar */
#define NAME_MAX_BAR 31 /* columns of a file's name in the bar's line */

/* A line that is made field by field, the most important first. The first field without room ends the line. */
struct line {
    struct bl_buffer *out;
    int used, room; /* columns */
    bool full;
};

/* Returns the unit of the rate: steps, or the unit of the progress while no step is done. */
static const char *progress_rate_of(const struct bl_progress *p)
{
    return p->step && p->steps ? p->step : p->unit;
}

/* Adds a field after `before` if it fits, and empties the field. An empty field adds nothing. */
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

/* Adds the fields that a bar and a plain line share. `first` comes before the first of them, ", " before the others;
 * the name of a file has at most name_max columns. */
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
    if (!p->total && !p->done) { /* nothing is counted yet: only the time passes */
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

/* While the stage waits for a file, the file's name takes the place of the cells: it is worth more. */
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

/* Appends a JSON string. Names are bytes, and JSON is text: invalid UTF-8 becomes U+FFFD. */
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

/* The names of stages, units and steps are plain words, so that they need no escapes. */
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

/* --- bar ---------------------------------------------------------------------------------------------------------- */

/* Seconds between two events of the same form. */
#define SAMPLES 0.1      /* samples of the estimates */
#define DRAWINGS 0.2     /* of the bar: fast enough to look alive, slow enough to read */
#define JSON_LINES 1.0   /* one by one */
#define PLAIN_FIRST 10.0 /* plain lines during the first PLAIN_NEW seconds of a stage, and at least ever */
#define PLAIN_NEW 60.0
#define PLAIN_LATER 60.0 /* plain lines afterwards at most; each tenth of the work has one, too */

/* A terminal that cannot clear a line (TERM=dumb) gets plain lines, as a file does. --progress overrides the choice,
 * and wins over --quiet, too. */
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

/* Takes a sample of the counters for the estimates of the time left and of the rates. */
static void bar_sample(struct bl_progress_bar *bar, double seconds)
{
    const struct bl_progress *p = &bar->now;
    double done, left; /* in the unit that predicts the time best: steps, bytes or units */
    bl_progress_work(p, &done, &left);
    bl_estimate_add(&bar->left, seconds, done, left);
    /* Units advance by their parts, if those are known: a file of ten chunks is a tenth done after the first one. */
    bool by_steps = p->step && p->steps;
    bl_rate_add(&bar->rate, seconds, by_steps ? (double)p->steps : p->bytes_total ? (double)p->done : done);
    bl_rate_add(&bar->byte_rate, seconds, (double)p->bytes);
    bar->sampled = seconds;
}

/* Prints the progress in a form: the bar in place of the previous one, other forms as a line. */
static void bar_print(struct bl_progress_bar *bar, double seconds, int form)
{
    struct bl_progress_view view = {.progress = &bar->now,
                                    .seconds = seconds,
                                    .left = bl_estimate_left(&bar->left),
                                    .rate = bl_rate_get(&bar->rate, seconds),
                                    .byte_rate = bl_rate_get(&bar->byte_rate, seconds)};
    struct bl_buffer line = {0};
    struct winsize size; /* requested each time, since a terminal's size may change */
    bool is_known = form == BL_PROGRESS_BAR && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    if (form == BL_PROGRESS_BAR)
        bl_progress_line_bar(&view, is_known ? size.ws_col : 80, &line);
    else if (form == BL_PROGRESS_JSON)
        bl_progress_line_json(&view, &line);
    else {
        struct line plain = {.out = &line, .room = INT_MAX};
        bl_buffer_text(&line, view.progress->what);
        line_add_state(&plain, &view, ": ", INT_MAX);
    }
    if (!line.failed && line.size)
        /* The bar goes to the beginning of its line and clears it: \r, and ESC [ K. It has no line end. */
        fprintf(stderr,
                form == BL_PROGRESS_BAR    ? "\r\033[K%s"
                : form == BL_PROGRESS_JSON ? "%s\n"
                                           : "bload: %s\n",
                line.data);
    fflush(stderr);
    bl_buffer_free(&line);
}

/* Logs of long runs stay short: a run of ten hours has about 600 lines. */
bool bl_progress_bar_plain_is_due(double seconds, double share, double shown, double shown_share)
{
    double since = seconds - shown;
    if (since < PLAIN_FIRST)
        return false;
    return seconds < PLAIN_NEW + PLAIN_FIRST || since >= PLAIN_LATER || (int)(10 * share) > (int)(10 * shown_share);
}

/* Returns whether the bar's own form is due at that many seconds of the stage. */
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

void bl_progress_bar_tick(struct bl_progress_bar *bar, const struct bl_progress *p)
{
    bool asked = bl_signals_take_question();
    double seconds = bl_progress_seconds(p);
    if (!bar->begun || bar->now.started != p->started) { /* a stage begins: the estimates are of another one */
        bar->begun = true;
        bar->shown = bar->shown_share = bar->sampled = 0;
        bar->left = (struct bl_estimate){0};
        bar->rate = bar->byte_rate = (struct bl_rate){0};
    }
    bar->now = *p;
    if (asked || seconds - bar->sampled >= SAMPLES)
        bar_sample(bar, seconds);
    if (asked) { /* by SIGUSR2: a bar is not readable in a log, where the answer may go */
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

/* A stage that SIGUSR2 has asked about in its last moment still answers. */
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
