/* Audio: the sound of any file that the installed FFmpeg reads; steps are samples. */
#ifndef BL_AUDIO_H
#define BL_AUDIO_H

#include <stdbool.h>
#include <stdint.h>

#include "kind/kind.h"

enum bl_audio_dtype { BL_AUDIO_S16, BL_AUDIO_F32 };

struct bl_audio_config {
    int64_t rate; /* Hz */
    int64_t channels;
    int dtype; /* enum bl_audio_dtype */
};

extern const struct bl_kind bl_kind_audio;

#endif
