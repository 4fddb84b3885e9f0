/* Forms of Shorten that FFmpeg does not decode, of which it says only that they are damaged. */
#ifndef BL_AUDIO_SHORTEN_H
#define BL_AUDIO_SHORTEN_H

#include "base/error.h"
#include "kind/media/demux.h"

/* BL_EDATA: the file is a Shorten file of mu-law or A-law, or a SPHERE file with compressed samples. */
int bl_shorten_check(const struct bl_demux *d, struct bl_error *e);

#endif
