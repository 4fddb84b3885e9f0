/* The audio kind: its options and its place in the table of kinds. The way of a sample: sound (decoded, trimmed), mix
 * (channels and rate), samples (a file's steps), read (a piece of them); count tells lengths. */
#include "kind/audio/audio.h"

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
#include <libswresample/swresample.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "kind/audio/count.h"
#include "kind/audio/cuts.h"
#include "kind/audio/per_step.h"
#include "kind/audio/read.h"

/* Those of videos too, which are videos unless --kind says that their sound is wanted. */
static const char *const extensions[] = {
    "wav", "wave", "w64", "rf64", "aif", "aiff", "aifc", "au",  "snd",  "caf", "sph",  "flac", "mp3",
    "mp2", "mpga", "m4a", "m4b",  "aac", "adts", "ogg",  "oga", "opus", "spx", "wma",  "ac3",  "eac3",
    "dts", "thd",  "amr", "awb",  "gsm", "ape",  "wv",   "tta", "tak",  "mpc", "alac", "mka",  "voc",
    "ra",  "mp4",  "m4v", "mov",  "qt",  "mkv",  "webm", "avi", "ts",   "mts", "m2ts", "mpg",  "mpeg",
    "vob", "ogv",  "ogm", "flv",  "wmv", "asf",  "3gp",  "3g2", "mxf",  "nut", NULL};

const char *const bl_audio_dtypes[] = {"s16", "f32", NULL};

#define MEL_HIGH (-400) /* Hz, the default of --mel-high */
static const struct bl_option options[] = {
    BL_OPTION_INT("rate", struct bl_audio_config, rate, BL_AFFECTS_LENGTHS, "samples per second to resample to",
                  .initial = "16000", .min = 100, .max = 768000, .placeholder = "HZ"),
    BL_OPTION_INT("channels", struct bl_audio_config, channels, BL_AFFECTS_BYTES,
                  "mix to so many channels; one: the mean", .initial = "1", .min = 1, .max = 8, .placeholder = "N"),
    BL_OPTION_STRING("features", struct bl_audio_config, features, BL_AFFECTS_LENGTHS,
                     "steps are 10 ms frames of log-mel features, of Whisper or, with N filters, of Kaldi",
                     .placeholder = "whisper80|whisper128|fbankN"),
    BL_OPTION_INT("mel-high", struct bl_audio_config, mel_high, BL_AFFECTS_BYTES,
                  "where the filters of fbank end; 0 or less: counted from half the rate", .initial = "-400",
                  .min = -384000, .max = 384000, .placeholder = "HZ"),
    BL_OPTION_FLAG("snip-edges", struct bl_audio_config, snip_edges, BL_AFFECTS_LENGTHS,
                   "frames of fbank only where a whole window fits, as in torchaudio's defaults"),
    {0},
};

bool bl_audio_config_features(const struct bl_audio_config *config, struct bl_features_spec *spec)
{
    *spec =
        (struct bl_features_spec){.rate = (int)config->rate, .high = (int)config->mel_high, .snip = config->snip_edges};
    return config->features && bl_features_parse(config->features, spec, NULL) == BL_OK;
}

static int audio_config_check(const void *values, struct bl_error *e)
{
    const struct bl_audio_config *config = values;
    struct bl_features_spec spec;
    bool fbank = config->features && strncmp(config->features, "fbank", 5) == 0;
    int code = config->features ? bl_features_parse(config->features, &spec, e) : BL_OK;
    if (!code && !fbank && (config->mel_high != MEL_HIGH || config->snip_edges))
        code = bl_error_set(e, BL_EUSAGE, "--%s is for --features fbankN alone",
                            config->snip_edges ? "snip-edges" : "mel-high");
    if (code || !config->features)
        return code;
    if (config->channels != 1)
        code = bl_error_set(e, BL_EUSAGE, "--features are of one channel: --channels cannot be given");
    if (!code && bl_audio_config_features(config, &spec))
        code = bl_features_check(&spec, e);
    return code;
}

static int audio_config_check_dtype(const void *values, struct bl_error *e)
{
    const struct bl_audio_config *config = values;
    if (config->features && config->dtype == BL_AUDIO_S16)
        return bl_error_set(e, BL_EUSAGE, "--features are f32: --dtype s16 cannot be given");
    return BL_OK;
}

static const char *audio_config_steps(const void *config)
{
    return ((const struct bl_audio_config *)config)->features ? "frames" : "samples";
}

static void audio_config_sampling(const void *values, struct bl_buffer *out)
{
    const struct bl_audio_config *config = values;
    bl_buffer_printf(out, "rate=%lld", (long long)config->rate);
    if (config->features)
        bl_buffer_printf(out, " features=%s%s", config->features, config->snip_edges ? " snip" : "");
}

/* Frames of features follow on each other after a hundredth of the rate, rounded down. */
static bool audio_sampling_rate(const char *audio_config_sampling, int64_t *num, int64_t *den)
{
    size_t size = strncmp(audio_config_sampling, "rate=", 5) == 0 ? strcspn(audio_config_sampling + 5, " ") : 0;
    if (!size || !bl_text_to_int(audio_config_sampling + 5, size, 1, INT32_MAX, num))
        return false;
    *den = strstr(audio_config_sampling, " features=") ? *num / 100 : 1;
    return *den > 0;
}

static int audio_file_count(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                            struct bl_chunk *stretch, bl_row_emit *emit, void *sink, struct bl_error *e)
{
    if (stretch->list)
        return bl_cuts_count(config, env, counter, stretch, emit, sink, e);
    const struct bl_input *input = stretch->input;
    struct bl_error unusable = {0};
    struct bl_audio_info result;
    int64_t steps = 0;
    int code = bl_audio_count(config, env->cancel, input->path, stretch->pace, &result, &unusable);
    if (!code)
        code = bl_audio_count_steps(config, result.samples, &steps, &unusable);
    struct bl_row row = {.bytes = input->bytes, .stream = result.stream, .reason = result.reason, .offset = -1};
    if (code && code != BL_EDATA)
        return bl_error_set(e, code, "%s", unusable.text);
    row.status = code ? BL_ROW_SKIPPED : BL_ROW_OK;
    row.length = code ? 0 : steps;
    if (code)
        row.reason = unusable.text;
    return emit(sink, 0, &row, e);
}

/* Of a part of a file, and what is said in it. */
static void audio_columns(const void *config, bool lists, struct bl_buffer *out)
{
    (void)config;
    if (lists)
        bl_buffer_text(out, "\tstart\tduration\tchannel\ttext");
}

static int audio_config_fields(const void *values, const struct bl_kind_env *env, const struct bl_row *row,
                               struct bl_fields *out, struct bl_error *e)
{
    (void)env, (void)row, (void)e;
    const struct bl_audio_config *config = values;
    struct bl_features_spec spec;
    *out = (struct bl_fields){.count = 1};
    if (bl_audio_config_features(config, &spec)) {
        out->field[0] =
            (struct bl_field){.name = "features", .kind = "audio", .dtype = BL_F32, .rank = 1, .shape = {spec.mels}};
        return BL_OK;
    }
    out->field[0] = (struct bl_field){.name = "audio",
                                      .kind = "audio",
                                      .dtype = config->dtype == BL_AUDIO_F32 ? BL_F32 : BL_I16,
                                      .rank = config->channels > 1,
                                      .shape = {config->channels}};
    return BL_OK;
}

static void audio_config_describe(const void *values, const struct bl_field *field, struct bl_buffer *out)
{
    (void)field;
    const struct bl_audio_config *config = values;
    bl_buffer_printf(out, "samples at %lld Hz, mixed and resampled by swresample in float", (long long)config->rate);
    if (config->features)
        bl_buffer_printf(out, "; %s in frames of 10 ms, FFT by kissfft", config->features);
}

static void libav_version_emit(void (*emit)(void *sink, const char *name, const char *version), void *sink,
                               const char *name, unsigned version)
{
    char text[64];
    snprintf(text, sizeof text, "%u.%u.%u", AV_VERSION_MAJOR(version), AV_VERSION_MINOR(version),
             AV_VERSION_MICRO(version));
    emit(sink, name, text);
}

static void audio_versions(const void *config, void (*emit)(void *sink, const char *name, const char *version),
                           void *sink)
{
    (void)config;
    emit(sink, "ffmpeg", av_version_info());
    libav_version_emit(emit, sink, "libavformat", avformat_version());
    libav_version_emit(emit, sink, "libavcodec", avcodec_version());
    libav_version_emit(emit, sink, "libswresample", swresample_version());
}

const struct bl_kind bl_kind_audio = {
    .name = "audio",
    .title = "Audio",
    .steps = "samples",
    .steps_of = audio_config_steps,
    .extensions = extensions,
    .dtypes = bl_audio_dtypes,
    .dtype = offsetof(struct bl_audio_config, dtype),
    .reader_memory = (int64_t)64 << 20,
    .options = options,
    .config_size = sizeof(struct bl_audio_config),
    .check = audio_config_check,
    .check_dtype = audio_config_check_dtype,
    .sampling = audio_config_sampling,
    .rate = audio_sampling_rate,
    .is_list = bl_cuts_is_list,
    .columns = audio_columns,
    .per_step = &bl_kind_audio_per_step,
    .open_counter = bl_cuts_counter_open,
    .close_counter = bl_cuts_counter_close,
    .count = audio_file_count,
    .fields = audio_config_fields,
    .open = bl_audio_reader_open,
    .read = bl_audio_reader_read,
    .close = bl_audio_reader_close,
    .describe = audio_config_describe,
    .versions = audio_versions,
};
