/* Progress: how far a stage of a run is, for the display and for the heartbeat. */
#ifndef BL_PROGRESS_H
#define BL_PROGRESS_H

#include <stdint.h>

struct bl_progress {
    const char *what;    /* "scan", "pack" */
    const char *unit;    /* "files", "blocks" */
    const char *step;    /* "frames", or NULL */
    int64_t total;       /* units; 0: unknown */
    int64_t done;        /* units */
    int64_t steps;       /* done in this run, for the rate and the estimate of the time left */
    int64_t steps_left;  /* not done yet */
    int64_t steps_found; /* done by earlier runs */
    int64_t parts;       /* thousandths of units, including those in progress; 0: unknown */
    int64_t bytes;       /* written in this run */
    double started;      /* start time in seconds of a monotonic clock */
};

void bl_progress_start(struct bl_progress *progress, const char *what, const char *unit, const char *step,
                       int64_t total);

/* Seconds of a monotonic clock. */
double bl_progress_now(void);

/* Seconds since the start. */
double bl_progress_seconds(const struct bl_progress *progress);

#endif
