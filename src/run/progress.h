/* Progress: how far a stage of a run has come, for whoever looks on and for the heartbeat. */
#ifndef BL_PROGRESS_H
#define BL_PROGRESS_H

#include <stdint.h>

struct bl_progress {
    const char *what;    /* "scan", "pack" */
    const char *unit;    /* "files", "blocks" */
    const char *step;    /* "frames", or NULL */
    int64_t total;       /* units; 0: not known */
    int64_t done;        /* units */
    int64_t steps;       /* done in this run: the rate, and what the time left is estimated by */
    int64_t steps_left;  /* to be done */
    int64_t steps_found; /* done by runs before this one */
    int64_t parts;       /* thousandths of units, also of those under way; 0: not known */
    int64_t bytes;       /* written in this run */
    double started;      /* seconds of a monotonic clock */
};

void bl_progress_start(struct bl_progress *progress, const char *what, const char *unit, const char *step,
                       int64_t total);

/* Seconds since the start. */
double bl_progress_seconds(const struct bl_progress *progress);

#endif
