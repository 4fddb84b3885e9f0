/* Counts the samples of a sound file: decodes all of it, and reports what is wrong with it. */
#include "kind/audio/read.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "kind/audio/decoder.h"
#include "kind/audio/features.h"
#include "kind/audio/mix.h"
#include "kind/media/demux.h"
#include "kind/row.h"

struct bl_wave {
    int64_t claimed, present; /* bytes of samples */
    bool open;                /* the claim says nothing: a writer to a pipe cannot come back to fill it in */
};

/* --- sizes in WAV files ------------------------------------------------------------------------------------------- */

/* The size of samples by a WAV file's header, and as they are: libavformat does not report a difference. */

#define CHUNKS_MAX 1000

/* What programs write in the place of a size that they do not know: FFmpeg and libsndfile, SoX and eSpeak, ALSA,
 * opus-tools, Python's writers of streams. */
static bool size_is_open(uint32_t size)
{
    static const uint32_t sizes[] = {0, UINT32_MAX, 0x7ffff000, 0x7fffff00, INT32_MAX, 2000000000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (sizes[i] == size)
            return true;
    }
    return false;
}

static uint32_t read_size(const uint8_t *at, bool big)
{
    uint32_t little = at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    return big ? __builtin_bswap32(little) : little;
}

/* False for a file without 32-bit sizes (RIFF, RIFX) or without samples. */
static bool wave_read(const struct bl_demux *d, struct bl_wave *wave)
{
    int64_t at = 12;
    uint8_t chunk[8];
    bool big = memcmp(d->file.head, "RIFX", 4) == 0;
    if ((!big && memcmp(d->file.head, "RIFF", 4) != 0) || memcmp(d->file.head + 8, "WAVE", 4) != 0)
        return false;
    for (int i = 0; i < CHUNKS_MAX && bl_media_file_read(&d->file, chunk, sizeof chunk, at) == sizeof chunk; i++) {
        uint32_t size = read_size(chunk + 4, big);
        at += (int64_t)sizeof chunk;
        if (memcmp(chunk, "data", 4) == 0) {
            *wave = (struct bl_wave){.claimed = size, .present = d->file.bytes - at};
            wave->open = size_is_open(size) && wave->claimed != wave->present;
            return true;
        }
        at += (int64_t)size + (size & 1);
    }
    return false;
}

/* --- counting ----------------------------------------------------------------------------------------------------- */

/* Seconds by which a header's duration may exceed what decodes: it includes delay and padding, and is rounded. */
#define END_TOLERANCE 0.5

#define SAMPLES_MAX ((int64_t)1 << 40) /* what bl_mix_length takes */

#define ADD_REASON(info, ...) bl_row_append_reason((info)->reason, sizeof(info)->reason, __VA_ARGS__)

/* What decoding a file sums up. */
struct total {
    int64_t length; /* samples at the wanted rate, without the last part */
    int parts;
    struct bl_mix_part first, last; /* the last is not added yet */
    double seconds;
    int64_t before; /* samples of the parts before the last */
    int64_t damaged_begin, odd_begin, odd_end;
    int channels_least;
    struct bl_mix mix;         /* for trial */
    struct bl_error unmixable; /* why it cannot mix some frame */
};

static void total_add_part(struct total *c, const struct bl_audio_config *config)
{
    if (!c->last.samples)
        return;
    c->length += bl_mix_length(c->last.samples, c->last.rate, (int)config->rate);
    c->seconds += (double)c->last.samples / c->last.rate;
    c->before += c->last.samples;
    if (!c->parts++)
        c->first = c->last;
}

/* Samples that are made 0 or clipped. */
static int64_t samples_odd(const struct bl_audio_decoder *s)
{
    return s->nonfinite + s->loud;
}

/* Whether the frame's channels can be mixed, of which the first fault is kept. */
static int total_check_mix(struct total *c, const AVFrame *frame, struct bl_error *e)
{
    int channels = frame->ch_layout.nb_channels;
    if (!c->channels_least || channels < c->channels_least)
        c->channels_least = channels;
    if (*c->unmixable.text)
        return BL_OK;
    int code = bl_mix_check(&c->mix, frame, &c->unmixable);
    return code && code != BL_EDATA ? bl_error_pass(e, code, &c->unmixable) : BL_OK;
}

/* Marks where faults may be. The decoder runs ahead of the frame of so many samples that comes next: a fault lies in
 * it, or in one of those that are queued after it. odd: samples_odd, before that frame was decoded. */
static void total_mark_faults(const struct bl_audio_decoder *s, struct total *c, int64_t odd, int samples)
{
    int64_t at = c->before + c->last.samples;
    if ((s->errors || s->corrupt || bl_gaps_events(&s->gaps)) && c->damaged_begin > at)
        c->damaged_begin = at;
    if (samples_odd(s) == odd)
        return;
    c->odd_begin = c->odd_end ? c->odd_begin : at;
    c->odd_end = at + (BL_AUDIO_DECODER_QUEUE + 1) * (int64_t)samples;
}

static int decoder_count(struct bl_audio_decoder *s, const struct bl_audio_config *config, struct total *c,
                         struct bl_marks *marks, AVFrame *frame, struct bl_error *e)
{
    bool got;
    for (int64_t odd = 0;;) {
        BL_TRY(bl_audio_decoder_next(s, frame, &got, e));
        if (!got)
            break;
        if (!bl_mix_part_continues(&c->last, frame)) {
            total_add_part(c, config);
            c->last = (struct bl_mix_part){.rate = frame->sample_rate, .channels = frame->ch_layout.nb_channels};
        }
        total_mark_faults(s, c, odd, frame->nb_samples);
        odd = samples_odd(s);
        int code = total_check_mix(c, frame, e);
        if (!code && marks)
            code = bl_marks_add(marks, frame, e);
        if (code)
            return code;
        c->last.samples += frame->nb_samples;
        av_frame_unref(frame);
        if (c->last.samples > SAMPLES_MAX || c->length > SAMPLES_MAX)
            return bl_error_set(e, BL_EDATA, "too long: more than %" PRId64 " samples", SAMPLES_MAX);
    }
    total_add_part(c, config);
    if (marks)
        bl_marks_end(marks);
    return BL_OK;
}

/* The duration in seconds by the header of stream or file; 0 where there is none, or libav has estimated it. */
static double demux_declared_seconds(const struct bl_demux *d)
{
    const AVStream *stream = d->stream;
    if (d->probed && d->format->duration_estimation_method != AVFMT_DURATION_FROM_STREAM)
        return 0;
    if (stream->duration > 0)
        return (double)stream->duration * av_q2d(stream->time_base);
    return d->format->duration > 0 ? (double)d->format->duration / AV_TIME_BASE : 0;
}

/* Whether the container's lists of packets, and the file's size, say that some are missing. */
static bool decoder_is_truncated(const struct bl_audio_decoder *s)
{
    const struct bl_demux *d = &s->demux;
    if (d->stream->nb_frames > 0 && bl_demux_is_mov(d))
        return d->stream->nb_frames > s->packets && bl_truncation_detect(d);
    return bl_demux_is_matroska(d) && bl_truncation_detect(d);
}

/* The samples that the header counts, of FLAC, since libav joins what is left of them, and of a file that ends within a
 * sample; 0: not known. */
static int64_t decoder_declared_samples(const struct bl_audio_decoder *s)
{
    const AVStream *stream = s->demux.stream;
    bool exact = s->has_rest || strcmp(s->demux.format->iformat->name, "flac") == 0;
    if (!exact || stream->duration <= 0 || s->rate_changed || demux_declared_seconds(&s->demux) <= 0)
        return 0;
    return av_rescale_q(stream->duration, stream->time_base, (AVRational){1, s->rate});
}

/* The gravest damage. A header's duration counts only where it is of this stream alone, and no list of packets tells.
 */
static void info_add_damage(struct bl_audio_info *info, const struct bl_audio_decoder *s, const struct total *c)
{
    const struct bl_demux *d = &s->demux;
    double declared = demux_declared_seconds(d);
    struct bl_wave wave = {0};
    char frames[BL_PLURAL_SIZE];
    bool is_wave = wave_read(d, &wave), by_duration = !bl_demux_is_mov(d) && d->format->nb_streams == 1 && !wave.open &&
                                                      declared > c->seconds + END_TOLERANCE;
    if (is_wave && !wave.open && wave.claimed > wave.present)
        ADD_REASON(info, "truncated: header claims %" PRId64 " bytes of samples, %" PRId64 " are there", wave.claimed,
                   wave.present);
    else if (by_duration || decoder_is_truncated(s))
        ADD_REASON(info, "truncated: header says %.1f s, %.1f s are there", declared, c->seconds);
    else if (s->errors)
        ADD_REASON(info, "damaged: %" PRId64 " of %" PRId64 " packets do not decode", s->errors, s->packets);
    else if (!wave.open && decoder_declared_samples(s) > s->decoded)
        ADD_REASON(info, "damaged: header says %" PRId64 " samples, %" PRId64 " are there", decoder_declared_samples(s),
                   s->decoded);
    else if (s->broken_off)
        ADD_REASON(info, "damaged: %" PRId64 " packets decode, beside errors", s->packets);
    else if (s->corrupt)
        ADD_REASON(info, "damaged: %s concealed by the decoder", bl_text_plural(frames, s->corrupt, "frame"));
}

/* What was done so that the sound follows its timestamps. */
static void info_add_times(struct bl_audio_info *info, const struct bl_gaps *t)
{
    char times[BL_PLURAL_SIZE];
    if (t->gaps)
        ADD_REASON(info, "%s in its timestamps filled with %.3f s of zeros", bl_text_plural(times, t->gaps, "gap"),
                   t->filled);
    if (t->overlaps)
        ADD_REASON(info, "%s in its timestamps: %.3f s cut", bl_text_plural(times, t->overlaps, "overlap"), t->cut);
    if (t->jumps)
        ADD_REASON(info, "%s in its timestamps, more than %d s ahead or %d s back, not followed",
                   bl_text_plural(times, t->jumps, "jump"), BL_GAPS_AHEAD, BL_GAPS_BACK);
}

/* Everything that is wrong with the file, the gravest first. */
static void info_add_reasons(struct bl_audio_info *info, const struct bl_audio_config *config,
                             const struct bl_audio_decoder *s, const struct total *c)
{
    char samples[BL_PLURAL_SIZE];
    info_add_damage(info, s, c);
    info_add_times(info, &s->gaps);
    if (s->nonfinite)
        ADD_REASON(info, "%" PRId64 " samples are NaN or infinite: made 0", s->nonfinite);
    if (s->loud && config->common.dtype == BL_AUDIO_S16 && !config->features)
        ADD_REASON(info, "%s beyond +-1, up to %g: clipped (--dtype f32 keeps them)",
                   bl_text_plural(samples, s->loud, "sample"), s->peak);
    if (c->parts > 1)
        ADD_REASON(info, "changes %d times within: from %d Hz, %d channels to %d Hz, %d channels in the end",
                   c->parts - 1, c->first.rate, c->first.channels, c->last.rate, c->last.channels);
}

/* Decodes all of the file. */
static int info_sum(const struct bl_audio_config *config, struct bl_audio_decoder *s, struct bl_marks *marks,
                    struct total *c, struct bl_error *e)
{
    AVFrame *frame = av_frame_alloc();
    if (!frame)
        return bl_error_memory(e);
    bl_mix_init(&c->mix, (int)config->rate, (int)config->channels, true, BL_RESAMPLER_SOXR);
    int code = decoder_count(s, config, c, marks, frame, e);
    bl_mix_free(&c->mix);
    av_frame_free(&frame);
    if (!code && c->length == 0 && s->packets)
        return bl_error_set(e, BL_EDATA, "damaged: none of %" PRId64 " packets decodes", s->packets);
    if (!code && c->length == 0)
        return bl_error_set(e, BL_EDATA, "no samples in the audio stream");
    return code;
}

/* What lies behind the file in it, and is not read. */
static int info_add_second(struct bl_audio_info *info, const struct bl_demux *d, struct bl_error *e)
{
    int64_t second;
    int code = bl_truncation_find_second(d, &second, e);
    if (!code && second)
        ADD_REASON(info, "several files, one behind the other: the header at byte %" PRId64 " is not read", second);
    return code;
}

static int info_fill(const struct bl_audio_config *config, struct bl_audio_decoder *s, struct bl_marks *marks,
                     struct bl_audio_info *info, struct bl_error *e)
{
    struct total c = {.damaged_begin = INT64_MAX};
    BL_TRY(info_sum(config, s, marks, &c, e));
    info->samples = c.length;
    info->decoded = c.parts == 1 ? c.last.samples : -1;
    info->rate = c.last.rate;
    info->channels = c.last.channels;
    info->channels_least = c.channels_least;
    info->origin = s->origin == AV_NOPTS_VALUE ? NAN : (double)s->origin * av_q2d(s->demux.stream->time_base);
    info->damaged_begin = c.damaged_begin;
    info->odd_begin = c.odd_begin;
    info->odd_end = c.odd_end;
    bl_row_append_reason(info->unmixable, sizeof info->unmixable, "%s", c.unmixable.text);
    int code = info_add_second(info, &s->demux, e);
    if (!code)
        info_add_reasons(info, config, s, &c);
    return code;
}

int bl_audio_count_steps(const struct bl_audio_config *config, int64_t samples, int64_t *steps, struct bl_error *e)
{
    struct bl_features_spec spec;
    if (samples > INT32_MAX)
        return bl_error_set(e, BL_EDATA, "too long: %" PRId64 " samples at %" PRId64 " Hz, at most %d can be used",
                            samples, config->rate, INT32_MAX);
    *steps = samples;
    if (!bl_features_from_config(config, &spec))
        return BL_OK;
    *steps = bl_features_frames(&spec, samples);
    if (*steps == 0)
        return bl_error_set(e, BL_EDATA, "too short: %" PRId64 " samples give no frame of features", samples);
    return BL_OK;
}

int bl_audio_count(const struct bl_audio_config *config, const struct bl_kind_env *env, const char *path,
                   struct bl_meter *meter, struct bl_marks *marks, struct bl_audio_info *info, struct bl_error *e)
{
    *info = (struct bl_audio_info){.stream = -1};
    struct bl_audio_decoder s;
    int code =
        bl_audio_decoder_open(&s, path, -1, BL_DEMUX_WANTED(config->common.stream), bl_audio_gap(config), env, e);
    if (code)
        return code;
    info->stream = s.demux.stream->index;
    s.demux.meter = meter;
    code = info_fill(config, &s, marks, info, e);
    bl_audio_decoder_close(&s);
    return code;
}

int bl_audio_check_channels(const struct bl_audio_config *config, const struct bl_audio_info *info, int channel,
                            struct bl_error *e)
{
    channel = channel < 0 ? config->channel - 1 : channel;
    if (channel >= info->channels_least)
        return bl_error_set(e, BL_EDATA, "channel %d is wanted, and there are %d", channel, info->channels_least);
    if (channel < 0 && *info->unmixable)
        return bl_error_set(e, BL_EDATA, "%s", info->unmixable);
    return BL_OK;
}

int bl_audio_count_file(const struct bl_audio_config *config, const struct bl_kind_env *env, const char *path,
                        struct bl_meter *meter, struct bl_audio_info *info, struct bl_error *e)
{
    BL_TRY(bl_audio_count(config, env, path, meter, NULL, info, e));
    return bl_audio_check_channels(config, info, -1, e);
}
