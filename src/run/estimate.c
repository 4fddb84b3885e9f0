#include "run/estimate.h"

#include <math.h>

/* Seconds by which work counts less by a factor of e: a quarter of the run, so that a rate that varies from file to
 * file is seen as one, but not more than minutes, so that a slower disk is noticed. */
#define MEMORY_MIN 30.0
#define MEMORY_MAX 300.0

#define SETTLE 3.0        /* seconds in which the time left follows its estimate */
#define FIRST 0.5         /* seconds before which nothing is told */
#define CLIMB_FACTOR 1.1  /* of the time left: an estimate above it, */
#define CLIMB_SECONDS 2.0 /* and these more, makes it climb */

void bl_rate_add(struct bl_rate *r, double seconds, double done)
{
    if (done <= r->done || seconds <= r->at)
        return;
    double passed = seconds - r->at;
    double keep = exp(-passed / fmin(fmax(seconds / 4, MEMORY_MIN), MEMORY_MAX));
    r->span = r->span * keep + passed;
    r->work = r->work * keep + done - r->done;
    r->gap = fmax(passed, r->gap * 0.9);
    r->at = seconds;
    r->done = done;
}

double bl_rate_get(const struct bl_rate *r, double seconds)
{
    double overdue = fmax(seconds - r->at - 2 * r->gap, 0);
    return r->span > 0 ? r->work / (r->span + overdue) : 0;
}

/* The unsmoothed estimate; negative: unknown. Time since the last sample with work is work under way. */
static double estimate_guess(const struct bl_estimate *e, double seconds, double left)
{
    double rate = bl_rate_get(&e->rate, seconds);
    if (left < 0 || seconds < FIRST || !(rate > 0))
        return -1;
    return fmax(left / rate - fmin(seconds - e->rate.at, e->rate.gap), 0);
}

void bl_estimate_add(struct bl_estimate *e, double seconds, double done, double left)
{
    bl_rate_add(&e->rate, seconds, done);
    double passed = fmax(seconds - e->at, 0), guess = estimate_guess(e, seconds, left);
    double follow = 1 - exp(-passed / SETTLE), counted = fmax(e->left - passed, 0);
    e->at = seconds;
    bool known = e->known;
    e->known = guess >= 0;
    if (!known || !e->known)
        e->left = guess;
    else if (guess <= counted)
        e->left = counted + (guess - counted) * follow;
    else if (guess <= e->left * CLIMB_FACTOR + CLIMB_SECONDS)
        e->left = fmin(e->left, guess);
    else
        e->left += (guess - e->left) * follow;
    if (left == 0) { /* exactly, as it is counted */
        e->left = 0;
        e->known = true;
    }
}

double bl_estimate_left(const struct bl_estimate *e)
{
    return e->known ? e->left : -1;
}
