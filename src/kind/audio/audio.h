/* Audio: the sound of any file of a format in media/formats.h; steps are samples, or frames of features. */
#ifndef BL_AUDIO_H
#define BL_AUDIO_H

#include <stdbool.h>
#include <stdint.h>

#include "kind/audio/features.h"
#include "kind/kind.h"

enum bl_audio_dtype { BL_AUDIO_S16, BL_AUDIO_F32 };

struct bl_audio_config {
    int64_t rate; /* Hz */
    int64_t channels;
    int dtype;            /* enum bl_audio_dtype */
    const char *features; /* NULL: samples */
    int64_t mel_high;     /* Hz */
    bool snip_edges;
};

/* What --features and its parameters say; false when there are none. Checked before. */
bool bl_audio_config_features(const struct bl_audio_config *config, struct bl_features_spec *spec);

extern const char *const bl_audio_dtypes[];
extern const struct bl_kind bl_kind_audio;

#endif
