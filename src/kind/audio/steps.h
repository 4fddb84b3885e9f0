/* Which samples of a sound each step of another kind's sequence has: arithmetic on times alone.
 *
 * A step that begins at t has a fixed number of samples from sample round((t + lead) * rate) on, halves rounded up.
 * With ceil(rate / steps a second) of them nothing between two steps of a constant rate is lost, and neighbours share
 * one sample at most. */
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

/* Samples of each step, of num / den steps a second; INT64_MAX for more than that. */
int64_t bl_steps_samples(int64_t rate, int64_t num, int64_t den);

/* The first sample of a step that begins at this time, in seconds from the first step; it may lie outside the sound. */
int64_t bl_steps_begin(const struct bl_steps *steps, double time);

/* What becomes of the sound; start from {0}. */
struct bl_steps_sum {
    int64_t left_out; /* samples of it that are in no step; those passed over once count, should times go back */
    int64_t filled;   /* samples of steps where there is no sound */
    int64_t silent;   /* steps at the end that begin behind the sound */
    int64_t last;     /* where the last step begins */
    int64_t passed;   /* the steps so far reach there */
};

/* Adds the next step; and, after the last one, what follows it. */
void bl_steps_add(struct bl_steps_sum *sum, const struct bl_steps *steps, double time);
void bl_steps_end(struct bl_steps_sum *sum, const struct bl_steps *steps);

/* Whether the sound ends too early. tolerance: how many steps may begin behind it; -1: those that begin in the half
 * second after its end. */
bool bl_steps_is_short(const struct bl_steps_sum *sum, const struct bl_steps *steps, int64_t tolerance);

#endif
