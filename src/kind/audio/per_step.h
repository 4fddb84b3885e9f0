/* Audio per step: a field on the steps of another kind's sequences. Each step has the samples from its beginning on.
 *
 * For a file that is the sequence's own, such as the sound of a video, the container's clock tells which sample a step
 * begins at; in another file the first sample belongs to the first step. */
#ifndef BL_PER_STEP_H
#define BL_PER_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "kind/audio/options.h"
#include "kind/kind.h"

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
