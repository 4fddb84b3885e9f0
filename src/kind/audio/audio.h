/* The audio kind, and the header of the WAV files that are written from it. */
#ifndef BL_AUDIO_H
#define BL_AUDIO_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/kind.h"
#include "kind/row.h"

/* --- audio kind --------------------------------------------------------------------------------------------------- */

/* The kind reads the sound of any file of a format in media/allowlist.h. Steps are samples, or frames of features. */

extern const struct bl_kind bl_kind_audio;

/* --- wave header -------------------------------------------------------------------------------------------------- */

#define BL_WAVE_HEADER_MAX 96 /* bytes */

/* The properties of the samples that follow the header of a WAV file. */
struct bl_wave_header {
    enum bl_dtype dtype; /* BL_I16 or BL_F32 */
    int64_t rate;        /* samples a second, in each channel */
    int64_t channels;
    int64_t samples; /* in each channel */
};

/* Formats the header of a WAV file, up to the first sample, and sets *size to its bytes. It is RIFF, or RF64 (EBU Tech
 * 3306) from 4 GiB on. BL_EUSAGE: WAV has no such samples, rate or channels. */
int bl_wave_header_format(const struct bl_wave_header *header, char out[BL_WAVE_HEADER_MAX], size_t *size,
                          struct bl_error *e);

#endif
