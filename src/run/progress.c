#include "run/progress.h"

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

double bl_progress_seconds(const struct bl_progress *p)
{
    return bl_progress_now() - p->started;
}
