/* Audio per step: a field of another kind's sequences, of which every step has the samples that follow its beginning.
 *
 * Of a file that is the sequence's own, such as the sound of a video, the container's clock says what belongs together;
 * of another one the first sample belongs to the first step. */
#ifndef BL_PER_STEP_H
#define BL_PER_STEP_H

#include "kind/audio/config.h"
#include "kind/kind.h"

#define BL_PER_STEP_SAMPLES_MAX (1 << 20)

struct bl_per_step_config {
    struct bl_audio_config audio; /* first: see bl_kind.per_step */
    int64_t samples;              /* of each step, or 0: as many as the steps' rate asks for */
    struct bl_rational step_rate; /* steps a second; den 0: those of the sequences */
    /* Once it is known what is followed: */
    int64_t window;    /* samples of each step */
    int64_t tolerance; /* as bl_steps_is_short's */
};

extern const struct bl_kind bl_kind_audio_per_step;

#endif
