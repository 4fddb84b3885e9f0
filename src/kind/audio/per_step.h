/* Audio per step: a field on the steps of another kind's sequences. Each step has the samples from its beginning on.
 *
 * For a file that is the sequence's own, such as the sound of a video, the container's clock tells which sample a step
 * begins at; in another file the first sample belongs to the first step. */
#ifndef BL_PER_STEP_H
#define BL_PER_STEP_H

#include "kind/audio/config.h"
#include "kind/kind.h"

#define BL_PER_STEP_SAMPLES_MAX (1 << 20)

struct bl_per_step_config {
    struct bl_audio_config audio; /* first: see bl_kind_follow.per_step_of */
    int64_t samples;              /* of each step; 0: as many as the rate of steps needs */
    struct bl_rational step_rate; /* steps per second; den 0: as in the sequences */
    /* Set when it is known what is followed: */
    int64_t window;    /* samples of each step */
    int64_t tolerance; /* as bl_steps_is_short's */
};

extern const struct bl_kind bl_kind_audio_per_step;

#endif
