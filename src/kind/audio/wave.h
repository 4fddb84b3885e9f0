/* What a wav file's header claims of its samples, which libavformat reads to the end of the file without a word. */
#ifndef BL_WAVE_H
#define BL_WAVE_H

#include <stdbool.h>
#include <stdint.h>

#include "kind/media/demux.h"

struct bl_wave {
    int64_t claimed, present; /* bytes of samples */
};

/* False where the file is none of those with 32-bit sizes, or has no samples. A size of 0 is that of a writer that
 * never came back to fill it in: it claims nothing. */
bool bl_wave_read(const struct bl_demux *d, struct bl_wave *wave);

#endif
