/* The option values of the audio kind. */
#ifndef BL_AUDIO_CONFIG_H
#define BL_AUDIO_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/option.h"

#define BL_AUDIO_CHANNELS_MAX 64 /* of a file, and wanted: those that swresample takes */

enum bl_audio_dtype { BL_AUDIO_S16, BL_AUDIO_F32 };

struct bl_audio_config {
    int64_t rate; /* Hz */
    int64_t channels;
    int channel;          /* 0: all of them, mixed; else 1 + the number of the one that is taken */
    int dtype;            /* enum bl_audio_dtype */
    int stream;           /* as of bl_option_stream_number */
    int resampler;        /* enum bl_resampler_engine */
    const char *features; /* their name, for bl_features_parse; NULL: samples */
    int64_t mel_high;     /* Hz; 0 or less: counted from half the rate */
    bool snip_edges;
    struct bl_rational gap; /* seconds; num 0: timestamps do not count; den 0: not given */
    bool by_clock;          /* timestamps count, unless gap says otherwise: sound per step */
};

#endif
