#include "cmd/progress_bar.h"

#include <math.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/text.h"

/* "1:02:03" */
static void progress_append_duration(struct bl_buffer *out, double seconds)
{
    int64_t s = (int64_t)(seconds + 0.5);
    if (s >= 3600)
        bl_buffer_printf(out, "%d:%02d:%02d", (int)(s / 3600), (int)(s / 60 % 60), (int)(s % 60));
    else
        bl_buffer_printf(out, "%d:%02d", (int)(s / 60), (int)(s % 60));
}

/* The steps, or units if there are no steps: done in this run, and left. */
static void progress_weigh(const struct bl_progress *p, double *done, double *left)
{
    *done = p->step ? (double)p->steps : fmax((double)p->done, (double)p->parts / 1000);
    *left = p->step ? (double)p->steps_left : fmax((double)p->total - *done, 0);
}

/* The share of the total that is done, including earlier runs. */
static double progress_fraction(const struct bl_progress *p)
{
    double done, left, found = p->step ? (double)p->steps_found : 0;
    progress_weigh(p, &done, &left);
    return found + done > 0 ? (found + done) / (found + done + left) : 0;
}

/* The most important values come first, since narrow terminals cut the line. */
static void progress_append_state(const struct bl_progress *p, struct bl_buffer *out)
{
    char a[32], b[32];
    double done, left, seconds = bl_progress_seconds(p);
    progress_weigh(p, &done, &left);
    double rate = seconds > 0 ? done / seconds : 0;
    if (p->total && rate > 0) {
        progress_append_duration(out, left / rate);
        bl_buffer_text(out, " left, ");
    }
    if (p->total)
        bl_buffer_printf(out, "%d %%, ", (int)(100 * progress_fraction(p)));
    bl_buffer_printf(out, "%s", bl_text_count(a, p->done));
    if (p->total)
        bl_buffer_printf(out, "/%s", bl_text_count(b, p->total));
    bl_buffer_printf(out, " %s, ", p->unit);
    if (rate > 0 && rate < 10)
        bl_buffer_printf(out, "%.1f", rate);
    else
        bl_buffer_text(out, bl_text_count(a, (int64_t)rate));
    bl_buffer_printf(out, " %s/s", p->step ? p->step : p->unit);
    if (p->bytes)
        bl_buffer_printf(out, ", %s", bl_text_size(a, p->bytes));
}

static int bar_terminal_width(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* Draws "pack [#####.....] 0:12 left, 34 %, 12/34 blocks, ...", cut to the width of the terminal so that it stays on
 * one line. */
static void bar_draw(const struct bl_progress *p)
{
    const int cells = 24, width = bar_terminal_width();
    struct bl_buffer line = {0};
    bl_buffer_printf(&line, "%s ", p->what);
    if (p->total && width >= 72) {
        int full = (int)(progress_fraction(p) * cells);
        bl_buffer_byte(&line, '[');
        for (int i = 0; i < cells; i++)
            bl_buffer_byte(&line, i < full ? '#' : '.');
        bl_buffer_text(&line, "] ");
    }
    progress_append_state(p, &line);
    if (!line.failed)
        fprintf(stderr, "\r\033[K%.*s", width - 1, line.data);
    fflush(stderr);
    bl_buffer_free(&line);
}

void bl_progress_bar_tick(struct bl_progress_bar *bar, const struct bl_progress *p)
{
    if (bar->quiet)
        return;
    if (bar->started != p->started) {
        bar->started = p->started;
        bar->shown = 0;
        bar->terminal = isatty(STDERR_FILENO) == 1;
    }
    double seconds = bl_progress_seconds(p);
    if (seconds - bar->shown < (bar->terminal ? 0.2 : 5.0))
        return;
    bar->shown = seconds;
    bar->drawn = bar->terminal;
    if (bar->terminal) {
        bar_draw(p);
        return;
    }
    struct bl_buffer line = {0};
    progress_append_state(p, &line);
    if (!line.failed)
        fprintf(stderr, "bload: %s: %s\n", p->what, line.data);
    bl_buffer_free(&line);
}

void bl_progress_bar_clear(struct bl_progress_bar *bar)
{
    if (bar->drawn)
        fprintf(stderr, "\r\033[K");
    bar->drawn = false;
}
