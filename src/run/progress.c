#include "run/progress.h"

#include <math.h>
#include <time.h>

double bl_progress_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void bl_progress_start(struct bl_progress *p, const char *what, const char *unit, const char *step, int64_t total)
{
    *p = (struct bl_progress){.what = what, .unit = unit, .step = step, .total = total, .started = bl_progress_now()};
}

void bl_progress_work(const struct bl_progress *p, double *done, double *left)
{
    if (p->step && p->steps_left >= 0) {
        *done = (double)p->steps;
        *left = p->total ? (double)p->steps_left : -1;
    } else if (p->bytes_total) {
        *done = (double)p->bytes;
        *left = fmax((double)p->bytes_total - *done, 0);
    } else {
        *done = p->parts ? (double)p->parts / 1000 : (double)p->done;
        *left = p->total ? fmax((double)p->total - *done, 0) : -1;
    }
}

double bl_progress_fraction(const struct bl_progress *p)
{
    double done, left, found = p->step && p->steps_left >= 0 ? (double)p->steps_found : 0;
    bl_progress_work(p, &done, &left);
    return left >= 0 && found + done > 0 ? (found + done) / (found + done + left) : 0;
}

double bl_progress_seconds(const struct bl_progress *p)
{
    return bl_progress_now() - p->started;
}
