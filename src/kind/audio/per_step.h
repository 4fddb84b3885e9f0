/* Audio per step: a field on the steps of another kind's sequences, such as the sound of each frame of a video. Each
 * step has a fixed number of samples, from the one on that is heard when the step begins.
 *
 * If the sound is in the sequence's own file, the container's clock decides which sample a step begins at. In another
 * file the first sample belongs to the first step. */
#ifndef BL_PER_STEP_H
#define BL_PER_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "kind/audio/options.h"
#include "kind/kind.h"

/* The places of steps in one sound. */
struct bl_steps {
    int rate;        /* Hz, of the samples */
    int64_t samples; /* of each step */
    int64_t length;  /* samples of the sound */
    double lead;     /* seconds from the sound's first sample to the first step; negative: the sound begins later */
};

/* Returns the samples that each step needs at num / den steps per second: ceil(rate * den / num), at most INT64_MAX. */
int64_t bl_steps_samples(int64_t rate, int64_t num, int64_t den);

/* Returns the first sample of a step that begins at this time, in seconds from the first step. It may lie outside the
 * sound. */
int64_t bl_steps_begin(const struct bl_steps *steps, double time);

/* Sums over the steps of a sequence. Initialize it with zeros. */
struct bl_steps_sum {
    int64_t left_out; /* samples that are in no step; one that a step has passed counts, even if times go back later */
    int64_t filled;   /* samples of steps that lie outside the sound */
    int64_t silent;   /* steps at the end that begin after the sound */
    int64_t last;     /* the first sample of the last step */
    int64_t passed;   /* the end of the steps so far, in samples */
};

/* bl_steps_add adds the next step, which begins at `time` in seconds from the first; bl_steps_end adds the rest of the
 * sound after the last step. */
void bl_steps_add(struct bl_steps_sum *sum, const struct bl_steps *steps, double time);
void bl_steps_end(struct bl_steps_sum *sum, const struct bl_steps *steps);

/* Returns whether the sound ends too early. tolerance is the number of steps that may begin after its end; -1: those
 * within half a second of it. */
bool bl_steps_is_short(const struct bl_steps_sum *sum, const struct bl_steps *steps, int64_t tolerance);

#endif
