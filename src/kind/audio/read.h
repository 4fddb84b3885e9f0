/* What the media module does for the audio kind: it counts the samples of files (count.c) and of the lines of
 * manifests (cuts.c), and reads pieces of sound (read.c). */
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

/* Counting the lines of a manifest of speech: each names a sound file, or a part of one, and becomes a row. */

/* See struct bl_kind_scan. The counter, a struct bl_list_counter, is for manifests and lists of clips alone. */
bl_counter_open bl_cuts_counter_open;

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Reading pieces of sound: see struct bl_kind_read. */

bl_reader_open bl_audio_reader_open;

/* --- functions of the module -------------------------------------------------------------------------------------- */

/* The functions of the audio kind that the media module has, for struct bl_decoding. */

bl_kind_count bl_audio_decoding_count;
void bl_audio_decoding_versions(const void *config, bl_version_emit *emit, void *sink);

/* --- counting ----------------------------------------------------------------------------------------------------- */

/* Counts a file's samples by decoding it: headers are right for half of the files. */

struct bl_audio_info {
    int64_t samples; /* at the wanted rate */
    int stream;
    int64_t decoded;            /* samples of the recording; -1: it changes rate or channels within */
    int rate, channels;         /* of the recording */
    int channels_least;         /* the same, unless its number of channels changes */
    int64_t damaged_begin;      /* its first sample that may be wrong, or INT64_MAX */
    int64_t odd_begin, odd_end; /* [begin, end) has all samples that are made 0 or clipped */
    double origin;              /* time of its first sample, in seconds, by the container's clock, or NAN */
    char unmixable[128];        /* why its channels cannot be mixed to the wanted number; "": they can */
    char reason[256];           /* what is wrong with it; "": nothing */
};

/* meter: told of the bytes that are read, or NULL. marks: added to, or NULL; of use only where info has no reason.
 * BL_EDATA: unusable. BL_EFAIL, BL_ECANCEL. */
int bl_audio_count(const struct bl_audio_config *config, const struct bl_kind_env *env, const char *path,
                   struct bl_meter *meter, struct bl_marks *marks, struct bl_audio_info *info, struct bl_error *e);

/* The same for a file that is a sequence. BL_EDATA also where its channels cannot be mixed. */
int bl_audio_count_file(const struct bl_audio_config *config, const struct bl_kind_env *env, const char *path,
                        struct bl_meter *meter, struct bl_audio_info *info, struct bl_error *e);

/* Whether the recording has the channel, from 0, that a sequence wants; -1: that of the options, else all of them,
 * mixed. BL_EDATA: it has not, or they cannot be mixed. */
int bl_audio_check_channels(const struct bl_audio_config *config, const struct bl_audio_info *info, int channel,
                            struct bl_error *e);

/* The steps that so many samples at the wanted rate give. BL_EDATA: none, or too many. */
int bl_audio_count_steps(const struct bl_audio_config *config, int64_t samples, int64_t *steps, struct bl_error *e);

#endif
