/* The size of samples by a WAV file's header, and as they are: libavformat does not report a difference. */
#ifndef BL_WAVE_H
#define BL_WAVE_H

#include <stdbool.h>
#include <stdint.h>

#include "kind/media/demux.h"

struct bl_wave {
    int64_t claimed, present; /* bytes of samples */
    bool open;                /* the claim says nothing: a writer to a pipe cannot come back to fill it in */
};

/* False for a file without 32-bit sizes (RIFF, RIFX) or without samples. */
bool bl_wave_read(const struct bl_demux *d, struct bl_wave *wave);

#endif
