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
    int64_t steps_left;  /* not done yet; negative: unknown, then units foretell the time left */
    int64_t steps_found; /* done by earlier runs */
    int64_t parts;       /* thousandths of units, by their weights, including those in progress; 0: unknown */
    int64_t bytes;       /* written, or read and checked, in this run */
    int64_t bytes_total; /* 0: unknown; else they foretell the time left, where there are no steps */
    const char *file;    /* the one that holds the stage up, as far as that is known; or NULL */
    double started;      /* start time in seconds of a monotonic clock */
};

/* Seconds after which a stage is shown that mostly takes less: a plan, a subset. */
#define BL_PROGRESS_LATE 1.0

void bl_progress_start(struct bl_progress *progress, const char *what, const char *unit, const char *step,
                       int64_t total);

/* The work done in this run, and left, in what foretells the time best: steps, bytes, or units and their parts. left is
 * negative if it is unknown. */
void bl_progress_work(const struct bl_progress *progress, double *done, double *left);

/* The share of the total that is done, including earlier runs; 0 if the total is unknown. */
double bl_progress_fraction(const struct bl_progress *progress);

/* Seconds of a monotonic clock. */
double bl_progress_now(void);

/* Seconds since the start. */
double bl_progress_seconds(const struct bl_progress *progress);

#endif
