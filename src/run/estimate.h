/* The rate of work and the time left, as people are to see them.
 *
 * A rate is that of the last while: a mean in which older work counts exponentially less. It changes only when work is
 * done, not between two finished units; only where the next one is overdue does it fall. The work is in the unit that
 * foretells time best: steps, bytes, or parts of files (bl_progress_work).
 *
 * The time left is the work left by that rate, smoothed: it runs down as a clock does, follows a lower estimate within
 * seconds, stands still where the new estimate is a little higher, and climbs only where it is a tenth higher. */
#ifndef BL_ESTIMATE_H
#define BL_ESTIMATE_H

#include <stdbool.h>

/* All zeros: nothing is known. */
struct bl_rate {
    double at, done;   /* seconds and work, when work was last done */
    double span, work; /* sums of seconds and work, the older the less */
    double gap;        /* usual seconds between two samples with work */
};

/* Adds a sample: the work done since the start, at this number of seconds since the start. Neither ever falls. */
void bl_rate_add(struct bl_rate *rate, double seconds, double done);

/* Work per second; 0: unknown. seconds: now, not before the last sample. */
double bl_rate_get(const struct bl_rate *rate, double seconds);

/* All zeros: nothing is known. */
struct bl_estimate {
    struct bl_rate rate;
    double at;   /* seconds, of the last sample */
    double left; /* seconds, at that time */
    bool known;  /* whether left is known */
};

/* Adds a sample, also if no work was done since the last. left: work that is not done; negative: unknown. */
void bl_estimate_add(struct bl_estimate *estimate, double seconds, double done, double left);

/* Seconds left at the last sample; negative: unknown. */
double bl_estimate_left(const struct bl_estimate *estimate);

#endif
