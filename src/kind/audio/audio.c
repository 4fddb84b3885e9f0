/* The audio kind. options.c has what its options say; what decodes is in the media module, behind decoding.c: count.c
 * counts samples, cuts.c the lines of a manifest. A sample's way: decoder.c, trim.c (the frames of a cut), mix.c
 * (channels and rate), samples.c (steps in order), read.c (pieces). */
#include "kind/audio/audio.h"

#include <stddef.h>
#include <string.h>

#include "base/text.h"
#include "kind/audio/config.h"
#include "kind/audio/entry.h"
#include "kind/audio/manifest_keys.h"
#include "kind/audio/options.h"
#include "kind/list.h"
#include "kind/media/forward.h"

/* Videos have sound, too, but are videos unless --kind says otherwise. */
static const char *const extensions[] = {
    "wav",  "wave", "w64", "rf64", "aif", "aiff", "aifc", "au",   "snd",  "caf", "sph",  "flac", "mp3",
    "mp2",  "mpga", "m4a", "m4b",  "aac", "adts", "ogg",  "oga",  "opus", "spx", "wma",  "ac3",  "eac3",
    "dts",  "thd",  "amr", "awb",  "gsm", "ape",  "wv",   "tta",  "tak",  "mpc", "alac", "mka",  "weba",
    "voc",  "ra",   "mp4", "m4v",  "mov", "qt",   "mkv",  "webm", "avi",  "ts",  "mts",  "m2ts", "mpg",
    "mpeg", "vob",  "ogv", "ogm",  "flv", "wmv",  "asf",  "3gp",  "3g2",  "mxf", "nut",  NULL};

/* A frame of features begins every rate / 100 samples, rounded down. */
static bool audio_sampling_rate(const char *sampling, int64_t *num, int64_t *den)
{
    size_t size = strncmp(sampling, "rate=", 5) == 0 ? strcspn(sampling + 5, " ") : 0;
    if (!size || !bl_text_to_int(sampling + 5, size, 1, INT32_MAX, num))
        return false;
    *den = strstr(sampling, " features=") ? *num / 100 : 1;
    return *den > 0;
}

/* The columns of a manifest's lines. */
static void audio_columns(const void *config, bool manifests, struct bl_buffer *out)
{
    (void)config;
    if (manifests)
        bl_buffer_text(out, "\tstart\tduration\tchannel\ttext");
}

/* Standard input is a manifest, too. */
static bool audio_is_list(const char *path)
{
    return strcmp(path, "-") == 0 || bl_list_has_name(path);
}

static bool audio_decodes(const void *config)
{
    (void)config;
    return true;
}

static const struct bl_kind_scan audio_scan = {
    .sampling = bl_audio_sampling,
    .rate = audio_sampling_rate,
    .columns = audio_columns,
    .is_list = audio_is_list,
    .names = bl_entry_names,
    .manifest_values = bl_manifest_values,
    .open = bl_audio_forward_open_counter,
    .close = bl_audio_forward_close_counter,
    .count = bl_audio_forward_count,
};

static const struct bl_kind_read audio_read = {
    .memory = (int64_t)64 << 20,
    .fields = bl_audio_fields,
    .open = bl_audio_forward_open_reader,
    .piece = bl_audio_forward_piece,
    .close = bl_audio_forward_close_reader,
    .describe = bl_audio_describe,
    .versions = bl_audio_forward_versions,
};

const struct bl_kind bl_kind_audio = {
    .name = "audio",
    .title = "Audio",
    .steps = "samples",
    .extensions = extensions,
    .decodes = audio_decodes,
    .steps_of = bl_audio_steps,
    .options = {.table = bl_audio_options,
                .config_size = sizeof(struct bl_audio_config),
                .dtypes = bl_audio_dtypes,
                .dtype = offsetof(struct bl_audio_config, dtype),
                .stream = offsetof(struct bl_audio_config, stream),
                .check = bl_audio_check,
                .check_dtype = bl_audio_check_dtype},
    .scan = &audio_scan,
    .read = &audio_read,
};
