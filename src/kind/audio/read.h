/* Declares the functions of the audio kind in the media module: they count the samples of files (count.c) and of the
 * lines of manifests (cuts.c), and read pieces of sound (read.c). */
#ifndef BL_KIND_AUDIO_READ_H
#define BL_KIND_AUDIO_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/meter.h"
#include "kind/audio/marks.h"
#include "kind/audio/options.h"
#include "kind/env.h"
#include "kind/kind.h"
#include "kind/media/demux.h"

/* --- manifests ---------------------------------------------------------------------------------------------------- */

/* Opens the counter of struct bl_kind_scan for manifests of speech and lists of clips: each line names a sound file, or
 * a part of one, and becomes a row. The counter is a struct bl_list_counter. */
bl_counter_open bl_cuts_counter_open;

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Opens a reader of pieces (struct bl_kind_read). Each worker has one. */

bl_reader_open bl_audio_reader_open;

/* --- functions of the module -------------------------------------------------------------------------------------- */

/* The remaining functions of the audio kind in struct bl_decoding. */

bl_kind_count bl_audio_decoding_count;
void bl_audio_decoding_versions(const void *config, bl_version_emit *emit, void *sink);

/* --- counting ----------------------------------------------------------------------------------------------------- */

/* These functions count a file's samples by decoding it, as only half of all headers state the right number. */

/* The properties of a recording, which is the sound stream of a file. */
struct bl_audio_info {
    int64_t samples;            /* at the wanted rate */
    int stream;                 /* the container's index; -1: not known */
    bool stream_missing;        /* the file is read and has no audio stream; bl_audio_count returns BL_EDATA then */
    int64_t decoded;            /* samples at the recording's own rate; -1: rate or channels change within it */
    int rate, channels;         /* of the recording, at its end; rate: Hz */
    int channels_least;         /* the smallest number of channels of a frame */
    int64_t damaged_begin;      /* the first sample, at its own rate, that may be wrong; INT64_MAX: none */
    int64_t odd_begin, odd_end; /* [begin, end) has all samples that are made 0 or clipped */
    double origin;       /* when the first sample is heard, in seconds by the container's clock; NAN: not known */
    char unmixable[128]; /* why the channels cannot be mixed to the wanted number; "": they can */
    char reason[256];    /* why the usable recording is damaged or odd; "": it is not */
};

/* Fills in *info by decoding the file to its end. meter reports the bytes that are read, and may be NULL. marks gets
 * the recording's marks, and may be NULL; they are valid only if info->reason is empty. BL_EDATA: the file is unusable
 * (e has the reason). BL_EFAIL, BL_ECANCEL. */
int bl_audio_count(const struct bl_audio_config *config, const struct bl_kind_env *env, const char *path,
                   struct bl_meter *meter, struct bl_marks *marks, struct bl_audio_info *info, struct bl_error *e);

/* Counts a file that is a sequence itself. BL_EDATA also if its channels cannot be mixed. */
int bl_audio_count_file(const struct bl_audio_config *config, const struct bl_kind_env *env, const char *path,
                        struct bl_meter *meter, struct bl_audio_info *info, struct bl_error *e);

/* Checks that the recording has the channels of a sequence. No choice: those of the options, or else all, mixed.
 * BL_EDATA: it does not, or the channels cannot be mixed. */
int bl_audio_check_channels(const struct bl_audio_config *config, const struct bl_audio_info *info,
                            const struct bl_channel_list *channels, struct bl_error *e);

/* Sets *steps to the number of steps that so many samples at the wanted rate give. BL_EDATA: there are none, or too
 * many. */
int bl_audio_count_steps(const struct bl_audio_config *config, int64_t samples, int64_t *steps, struct bl_error *e);

#endif
