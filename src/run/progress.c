#include "run/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void bl_progress_start(struct bl_progress *p, bool quiet, const char *what, const char *unit, const char *step,
                       int64_t total)
{
    *p = (struct bl_progress){.on = !quiet, .what = what, .unit = unit, .step = step, .total = total};
    p->terminal = isatty(STDERR_FILENO) == 1;
    p->started = p->shown = now();
}

double bl_progress_seconds(const struct bl_progress *p)
{
    return now() - p->started;
}

/* "1:02:03" */
static void append_duration(struct bl_buffer *out, double seconds)
{
    int64_t s = (int64_t)(seconds + 0.5);
    if (s >= 3600)
        bl_buffer_printf(out, "%d:%02d:%02d", (int)(s / 3600), (int)(s / 60 % 60), (int)(s % 60));
    else
        bl_buffer_printf(out, "%d:%02d", (int)(s / 60), (int)(s % 60));
}

static void append_state(const struct bl_progress *p, struct bl_buffer *out)
{
    char a[32], b[32];
    double seconds = bl_progress_seconds(p);
    bl_buffer_printf(out, "%s", bl_text_count(a, p->done));
    if (p->total)
        bl_buffer_printf(out, "/%s", bl_text_count(b, p->total));
    bl_buffer_printf(out, " %s", p->unit);
    double rate = seconds > 0 ? (double)(p->step ? p->steps : p->done) / seconds : 0;
    bl_buffer_printf(out, ", %s %s/s", bl_text_count(a, (int64_t)rate), p->step ? p->step : p->unit);
    if (p->bytes)
        bl_buffer_printf(out, ", %s", bl_text_size(a, p->bytes));
    if (p->total && rate > 0) {
        bl_buffer_text(out, ", ");
        append_duration(out, (double)(p->step ? p->steps_left : p->total - p->done) / rate);
        bl_buffer_text(out, " left");
    }
}

static int terminal_width(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

/* "pack [#####.....] 12/34 blocks, ..." cut to the terminal's width, so that it stays on one line. */
static void draw_bar(const struct bl_progress *p)
{
    const int cells = 24;
    struct bl_buffer line = {0};
    bl_buffer_printf(&line, "%s ", p->what);
    if (p->total) {
        int64_t done = p->step ? p->steps : p->done, all = p->step ? p->steps + p->steps_left : p->total;
        int full = all ? (int)(done * cells / all) : 0;
        bl_buffer_byte(&line, '[');
        for (int i = 0; i < cells; i++)
            bl_buffer_byte(&line, i < full ? '#' : '.');
        bl_buffer_text(&line, "] ");
    }
    append_state(p, &line);
    if (!line.failed)
        fprintf(stderr, "\r\033[K%.*s", terminal_width() - 1, line.data);
    fflush(stderr);
    bl_buffer_free(&line);
}

void bl_progress_tick(struct bl_progress *p)
{
    if (!p->on)
        return;
    double time = now();
    if (time - p->shown < (p->terminal ? 0.2 : 5.0))
        return;
    p->shown = time;
    p->drawn = true;
    if (p->terminal) {
        draw_bar(p);
        return;
    }
    struct bl_buffer line = {0};
    append_state(p, &line);
    if (!line.failed)
        fprintf(stderr, "bload: %s: %s\n", p->what, line.data);
    bl_buffer_free(&line);
}

void bl_progress_end(struct bl_progress *p)
{
    if (p->on && p->terminal && p->drawn)
        fprintf(stderr, "\r\033[K");
    p->on = false;
}
