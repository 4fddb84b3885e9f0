/* Audio: the sound of any file of a format in media/formats.h; steps are samples, or frames of features. */
#ifndef BL_AUDIO_H
#define BL_AUDIO_H

#include "kind/kind.h"

extern const struct bl_kind bl_kind_audio;

#endif
