/* Counting a file's samples, by decoding it: what a header says is right for half of the files. */
#ifndef BL_AUDIO_COUNT_H
#define BL_AUDIO_COUNT_H

#include "kind/audio/audio.h"
#include "kind/audio/sound.h"

struct bl_audio_count {
    int64_t length; /* steps */
    int stream;
    char reason[256]; /* "" for a file without fault */
};

/* BL_EDATA: the file is of no use. BL_EFAIL, BL_ECANCEL. */
int bl_count_audio(const struct bl_audio_config *config, const struct bl_cancel *cancel, const struct bl_input *input,
                   struct bl_audio_count *result, struct bl_error *e);

#endif
