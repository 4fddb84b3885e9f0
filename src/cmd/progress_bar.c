#include "cmd/progress_bar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cmd/progress_line.h"
#include "run/signals.h"

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
        bl_progress_line_plain(&view, &line);
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
