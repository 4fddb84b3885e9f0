/* The options of the audio kind, and the functions of struct bl_kind that follow from their values alone.
 *
 * Nothing here needs FFmpeg: `bload --help` and `--print-config` run without the media module. */
#include "kind/audio/options.h"

#include <string.h>

#include "base/text.h"
#include "kind/audio/features.h"
#include "kind/audio/mix.h"

const char *const bl_audio_dtypes[] = {"s16", "f32", NULL};

/* Parses the limit of gaps. Matroska rounds timestamps to 1 ms: a limit below 2 ms would take them for gaps. */
static bool gap_parse(const struct bl_option *option, const char *text, void *value)
{
    struct bl_rational *gap = value;
    if (strcmp(text, "off") == 0) {
        *gap = (struct bl_rational){0, 1};
        return true;
    }
    return bl_option_rational.parse(option, text, value) && gap->num >= gap->den / 500.0 && gap->num <= 10 * gap->den;
}

/* Formats the limit as gap_parse reads it; a value that was not given is empty. */
static void gap_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    const struct bl_rational *gap = value;
    if (gap->den && !gap->num)
        bl_buffer_text(out, "off");
    else
        bl_option_rational.format(option, value, out);
}

static const struct bl_option_type gap_type = {"SECONDS", gap_parse, gap_format, "0.002 to 10 seconds, or off"};

struct bl_rational bl_audio_gap(const struct bl_audio_config *config)
{
    if (config->gap.den)
        return config->gap;
    return config->by_clock ? (struct bl_rational){1, 100} : (struct bl_rational){0, 1};
}

/* Parses the numbers of channels, from 0; "all" is no choice. */
static bool channel_parse(const struct bl_option *option, const char *text, void *value)
{
    (void)option;
    struct bl_channel_list *channels = value;
    if (strcmp(text, "all") == 0) {
        *channels = (struct bl_channel_list){0};
        return true;
    }
    return bl_channel_list_parse(text, strlen(text), BL_AUDIO_CHANNELS_MAX - 1, channels) && channels->count;
}

static void channel_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    (void)option;
    const struct bl_channel_list *channels = value;
    if (channels->count)
        bl_channel_list_format(channels, out);
    else
        bl_buffer_text(out, "all");
}

static const struct bl_option_type channel_type = {
    "N[,N...]|all", channel_parse, channel_format,
    "all, or the numbers of different channels from 0, such as 4 or 4,0"};

static const char *const resamplers[] = {"soxr", "swr", NULL}; /* as enum bl_resampler_engine */

const struct bl_option bl_audio_options[] = {
    BL_OPTION_INT("rate", struct bl_audio_config, rate, BL_AFFECTS_LENGTHS, "sample rate to resample to",
                  .initial = "16000", .min = 100, .max = 768000, .placeholder = "HZ"),
    BL_OPTION_INT("channels", struct bl_audio_config, channels, BL_AFFECTS_BYTES,
                  "number of channels to mix to; 1: their mean", .initial = "1", .min = 1, .max = BL_AUDIO_CHANNELS_MAX,
                  .placeholder = "N"),
    BL_OPTION_CUSTOM("channel", &channel_type, struct bl_channel_list, struct bl_audio_config, channel,
                     BL_AFFECTS_LENGTHS, "take these channels of each file, from 0, in this order, or mix all of them",
                     .initial = "all"),
    BL_OPTION_CHOICE("resampler", struct bl_audio_config, resampler, resamplers, BL_AFFECTS_BYTES,
                     "what changes the rate: soxr (20 bits), or swresample", .initial = "soxr"),
    BL_OPTION_CUSTOM("audio-gap", &gap_type, struct bl_rational, struct bl_audio_config, gap, BL_AFFECTS_LENGTHS,
                     "fill gaps in timestamps that are longer than this, and cut such overlaps; per step 0.01",
                     .placeholder = "SECONDS|off"),
    BL_OPTION_STRING("features", struct bl_audio_config, features, BL_AFFECTS_LENGTHS,
                     "steps are 10 ms frames of log-mel features, of Whisper or, with N filters, of Kaldi",
                     .placeholder = "whisper80|whisper128|fbankN"),
    BL_OPTION_INT("mel-high", struct bl_audio_config, mel_high, BL_AFFECTS_BYTES,
                  "upper end of the filters of fbank; 0 or less: relative to half the rate", .initial = "-400",
                  .min = -384000, .max = 384000, .placeholder = "HZ"),
    BL_OPTION_FLAG("snip-edges", struct bl_audio_config, snip_edges, BL_AFFECTS_LENGTHS,
                   "only frames of fbank with a whole window, as in torchaudio's defaults"),
    {0},
};

int bl_audio_channels(const struct bl_audio_config *config)
{
    return config->channel.count > 1 && !config->features ? config->channel.count : (int)config->channels;
}

bool bl_audio_counts_left(const struct bl_audio_config *config)
{
    return config->channel.count > 1;
}

void bl_audio_option_columns(const struct bl_audio_config *config, struct bl_buffer *out)
{
    if (bl_audio_counts_left(config))
        bl_buffer_text(out, "\t" BL_AUDIO_LEFT);
    if (config->common.zeros)
        bl_buffer_text(out, "\t" BL_KIND_SILENT);
}

void bl_audio_append_values(const struct bl_audio_config *config, int channels, int chosen, bool silent,
                            struct bl_buffer *out)
{
    if (bl_audio_counts_left(config))
        bl_buffer_byte(out, '\t');
    if (bl_audio_counts_left(config) && channels)
        bl_buffer_int(out, channels - (chosen ? chosen : config->channel.count));
    if (config->common.zeros)
        bl_buffer_text(out, silent ? "\t1" : "\t0");
}

bool bl_features_from_config(const struct bl_audio_config *config, struct bl_features_spec *spec)
{
    *spec =
        (struct bl_features_spec){.rate = (int)config->rate, .high = (int)config->mel_high, .snip = config->snip_edges};
    return config->features && bl_features_parse(config->features, spec, NULL) == BL_OK;
}

int bl_audio_check(const void *values, struct bl_error *e)
{
    const struct bl_audio_config *config = values;
    struct bl_features_spec spec;
    const int mel_high = -400; /* the default in bl_audio_options */
    bool fbank = config->features && strncmp(config->features, "fbank", 5) == 0;
    if (config->features) {
        BL_TRY(bl_features_parse(config->features, &spec, e));
    }
    if (!fbank && (config->mel_high != mel_high || config->snip_edges))
        return bl_error_set(e, BL_EUSAGE, "--%s needs --features fbankN",
                            config->snip_edges ? "snip-edges" : "mel-high");
    if (config->channel.count == 1 && config->channels != 1)
        return bl_error_set(e, BL_EUSAGE, "--channel takes one channel: leave out --channels");
    if (config->channel.count && config->channels != 1 && config->channels != config->channel.count)
        return bl_error_set(e, BL_EUSAGE, "--channel takes %d channels, which are not mixed: leave out --channels",
                            config->channel.count);
    if (!bl_features_from_config(config, &spec))
        return BL_OK;
    if (config->channels != 1)
        return bl_error_set(e, BL_EUSAGE, "--features needs one channel: leave out --channels");
    return bl_features_check(&spec, e);
}

int bl_audio_check_dtype(const void *values, struct bl_error *e)
{
    const struct bl_audio_config *config = values;
    if (config->features && config->common.dtype == BL_AUDIO_S16)
        return bl_error_set(e, BL_EUSAGE, "--features needs --dtype f32, not s16");
    return BL_OK;
}

const char *bl_audio_steps(const void *config)
{
    return ((const struct bl_audio_config *)config)->features ? "frames" : "samples";
}

void bl_audio_sampling(const void *values, struct bl_buffer *out)
{
    const struct bl_audio_config *config = values;
    bl_buffer_printf(out, "rate=%lld", (long long)config->rate);
    if (config->features)
        bl_buffer_printf(out, " features=%s%s", config->features, config->snip_edges ? " snip" : "");
    if (config->common.stream)
        bl_buffer_printf(out, " stream=%d", config->common.stream - 1);
    if (config->channel.count) {
        bl_buffer_text(out, " channel=");
        bl_channel_list_format(&config->channel, out);
    }
    if (config->gap.num)
        bl_buffer_printf(out, " audio-gap=%lld/%lld", (long long)config->gap.num, (long long)config->gap.den);
    else if (config->gap.den && config->by_clock)
        bl_buffer_text(out, " audio-gap=off");
}

int bl_audio_fields(const void *values, const struct bl_kind_env *env, const struct bl_row *row, struct bl_fields *out,
                    struct bl_error *e)
{
    (void)env, (void)row, (void)e;
    const struct bl_audio_config *config = values;
    struct bl_features_spec spec;
    *out = (struct bl_fields){.count = 1};
    if (bl_features_from_config(config, &spec)) {
        out->field[0] =
            (struct bl_field){.name = "features", .kind = "audio", .dtype = BL_F32, .rank = 1, .shape = {spec.mels}};
        return BL_OK;
    }
    out->field[0] = (struct bl_field){.name = "audio",
                                      .kind = "audio",
                                      .dtype = config->common.dtype == BL_AUDIO_F32 ? BL_F32 : BL_I16,
                                      .rank = bl_audio_channels(config) > 1,
                                      .shape = {bl_audio_channels(config)}};
    return BL_OK;
}

void bl_audio_describe(const void *values, const struct bl_field *field, struct bl_buffer *out)
{
    (void)field;
    const struct bl_audio_config *config = values;
    bl_buffer_printf(out, "samples at %lld Hz, ", (long long)config->rate);
    if (config->channel.count > 1) {
        bl_buffer_text(out, "of channels ");
        bl_channel_list_format(&config->channel, out);
        bl_buffer_text(out, ", ");
    }
    bl_buffer_printf(out, "mixed %s in float",
                     config->resampler == BL_RESAMPLER_SWR ? "and resampled by swresample"
                                                           : "by swresample and resampled by soxr");
    if (config->features)
        bl_buffer_printf(out, "; %s in frames of 10 ms, FFT by kissfft", config->features);
}
