/* The audio kind: its options and its place in the table of kinds. The way of a sample: sound (decoded, trimmed), mix
 * (channels and rate), samples (a file's steps), read (a piece of them); count tells lengths. */
#include "kind/audio/audio.h"

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
#include <libswresample/swresample.h>
#include <stddef.h>
#include <stdio.h>

#include "kind/audio/count.h"
#include "kind/audio/read.h"

/* Those of videos too, which are videos unless --kind says that their sound is wanted. */
static const char *const extensions[] = {
    "wav", "wave", "w64", "rf64", "aif", "aiff", "aifc", "au",  "snd",  "caf", "sph",  "flac", "mp3",
    "mp2", "mpga", "m4a", "m4b",  "aac", "adts", "ogg",  "oga", "opus", "spx", "wma",  "ac3",  "eac3",
    "dts", "thd",  "amr", "awb",  "gsm", "ape",  "wv",   "tta", "tak",  "mpc", "alac", "mka",  "voc",
    "ra",  "mp4",  "m4v", "mov",  "qt",  "mkv",  "webm", "avi", "ts",   "mts", "m2ts", "mpg",  "mpeg",
    "vob", "ogv",  "ogm", "flv",  "wmv", "asf",  "3gp",  "3g2", "mxf",  "nut", NULL};

static const char *const dtypes[] = {"s16", "f32", NULL};

#define AT(member) offsetof(struct bl_audio_config, member)

static const struct bl_option options[] = {
    {.name = "rate",
     .type = &bl_option_int,
     .initial = "16000",
     .affects = BL_AFFECTS_LENGTHS,
     .offset = AT(rate),
     .placeholder = "HZ",
     .min = 100,
     .max = 768000,
     .help = "samples per second to resample to"},
    {.name = "channels",
     .type = &bl_option_int,
     .initial = "1",
     .affects = BL_AFFECTS_BYTES,
     .offset = AT(channels),
     .placeholder = "N",
     .min = 1,
     .max = 8,
     .help = "mix to so many channels; one: the mean"},
    {0},
};

static int check(const void *values, struct bl_error *e)
{
    (void)values, (void)e;
    return BL_OK;
}

static void sampling(const void *values, struct bl_buffer *out)
{
    const struct bl_audio_config *config = values;
    bl_buffer_printf(out, "rate=%lld", (long long)config->rate);
}

static int count(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                 struct bl_stretch *stretch, bl_row_emit *emit, void *sink, struct bl_error *e)
{
    (void)counter;
    const struct bl_input *input = stretch->input;
    struct bl_error unusable = {0};
    struct bl_audio_count result;
    int rc = bl_count_audio(config, env->cancel, input, &result, &unusable);
    struct bl_row row = {.bytes = input->bytes, .stream = result.stream, .reason = result.reason, .offset = -1};
    if (rc && rc != BL_EDATA)
        return bl_error_set(e, rc, "%s", unusable.text);
    row.status = rc ? BL_ROW_SKIPPED : BL_ROW_OK;
    row.length = rc ? 0 : result.length;
    if (rc)
        row.reason = unusable.text;
    return emit(sink, 0, &row, e);
}

static int fields(const void *values, const struct bl_kind_env *env, const struct bl_row *row, struct bl_fields *out,
                  struct bl_error *e)
{
    (void)env, (void)row, (void)e;
    const struct bl_audio_config *config = values;
    *out = (struct bl_fields){.count = 1};
    out->field[0] = (struct bl_field){.name = "audio",
                                      .kind = "audio",
                                      .dtype = config->dtype == BL_AUDIO_F32 ? BL_F32 : BL_I16,
                                      .rank = config->channels > 1,
                                      .shape = {config->channels}};
    return BL_OK;
}

static void describe(const void *values, struct bl_buffer *out)
{
    const struct bl_audio_config *config = values;
    bl_buffer_printf(out, "samples at %lld Hz, mixed and resampled by swresample in float", (long long)config->rate);
}

static void emit_version(void (*emit)(void *sink, const char *name, const char *version), void *sink, const char *name,
                         unsigned version)
{
    char text[64];
    snprintf(text, sizeof text, "%u.%u.%u", AV_VERSION_MAJOR(version), AV_VERSION_MINOR(version),
             AV_VERSION_MICRO(version));
    emit(sink, name, text);
}

static void versions(void (*emit)(void *sink, const char *name, const char *version), void *sink)
{
    emit(sink, "ffmpeg", av_version_info());
    emit_version(emit, sink, "libavformat", avformat_version());
    emit_version(emit, sink, "libavcodec", avcodec_version());
    emit_version(emit, sink, "libswresample", swresample_version());
}

const struct bl_kind bl_kind_audio = {
    .name = "audio",
    .title = "Audio",
    .steps = "samples",
    .extensions = extensions,
    .dtypes = dtypes,
    .dtype = AT(dtype),
    .reader_memory = (int64_t)16 << 20,
    .options = options,
    .config_size = sizeof(struct bl_audio_config),
    .check = check,
    .sampling = sampling,
    .count = count,
    .fields = fields,
    .open = bl_audio_open,
    .read = bl_audio_read,
    .close = bl_audio_close,
    .describe = describe,
    .versions = versions,
};
