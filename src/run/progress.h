/* Progress on stderr: a bar when it is a terminal, a plain line every few seconds when it is none, nothing when quiet.
 */
#ifndef BL_PROGRESS_H
#define BL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct bl_progress {
    bool on, terminal;
    bool drawn;            /* the bar stands on the terminal */
    const char *what;      /* "scan", "pack" */
    const char *unit;      /* "files", "blocks" */
    const char *step;      /* "frames", or NULL */
    int64_t total;         /* units; 0: not known */
    int64_t done;          /* units */
    int64_t steps;         /* done in this run: the rate, and what the time left is reckoned by */
    int64_t steps_left;    /* to be done */
    int64_t steps_found;   /* done by runs before this one */
    int64_t parts;         /* thousandths of units, also of those under way; 0: not told */
    int64_t bytes;         /* written in this run */
    double started, shown; /* seconds of a monotonic clock */
};

/* quiet: nothing is ever shown. */
void bl_progress_start(struct bl_progress *progress, bool quiet, const char *what, const char *unit, const char *step,
                       int64_t total);
/* Shows the present state if it is time to. Cheap when it is not. */
void bl_progress_tick(struct bl_progress *progress);
/* Takes the bar off the terminal, so that a message stands alone; it is drawn again when it is time to. */
void bl_progress_clear(struct bl_progress *progress);
/* The same for good. */
void bl_progress_end(struct bl_progress *progress);
/* Seconds since the start. */
double bl_progress_seconds(const struct bl_progress *progress);

#endif
