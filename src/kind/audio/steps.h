/* Which samples of a sound belong to each step of another kind's sequence: arithmetic on times alone.
 *
 * A step that begins at t has a fixed number of samples from sample round((t + lead) * rate) on, halves rounded up.
 * With ceil(rate / steps per second) of them, no sample between two steps of a constant rate is lost, and neighbours
 * share at most one. */
#ifndef BL_STEPS_H
#define BL_STEPS_H

#include <stdbool.h>
#include <stdint.h>

struct bl_steps {
    int rate;        /* Hz, of the samples */
    int64_t samples; /* of each step */
    int64_t length;  /* samples of the sound */
    double lead;     /* seconds from the sound's first sample to the first step; negative: the sound begins later */
};

/* Samples of each step with num / den steps per second, at most INT64_MAX. */
int64_t bl_steps_samples(int64_t rate, int64_t num, int64_t den);

/* The first sample of a step that begins at this time, in seconds from the first step; it may lie outside the sound. */
int64_t bl_steps_begin(const struct bl_steps *steps, double time);

/* Sums over the steps. Start from {0}. */
struct bl_steps_sum {
    int64_t left_out; /* samples that are in no step; one that a step has passed counts, even if times go back later */
    int64_t filled;   /* samples of steps that lie outside the sound */
    int64_t silent;   /* steps at the end that begin after the sound */
    int64_t last;     /* where the last step begins */
    int64_t passed;   /* end of the steps so far */
};

/* Adds the next step; and, after the last one, the rest of the sound. */
void bl_steps_add(struct bl_steps_sum *sum, const struct bl_steps *steps, double time);
void bl_steps_end(struct bl_steps_sum *sum, const struct bl_steps *steps);

/* Whether the sound ends too early. tolerance: how many steps may begin after its end; -1: those within half a second
 * of it. */
bool bl_steps_is_short(const struct bl_steps_sum *sum, const struct bl_steps *steps, int64_t tolerance);

#endif
