/* Counts the samples of a sound file by decoding all of it, and reports what is wrong with it.
 *
 * A header's duration is wrong in many files: writers round it, leave it open, or were stopped before they wrote it. So
 * the count comes from decoding, and the header serves as a witness alone: where it claims more than there is, the row
 * gets a reason such as "truncated: header says 12.0 s, 7.4 s are there". */
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

/* The size of the samples as a WAV file's header claims it, and as the file has it: libavformat does not compare. */
struct bl_wave {
    int64_t claimed, present; /* bytes of samples */
    bool open; /* the claim means nothing: a program that writes to a pipe cannot come back to fill it in */
};

/* --- sizes in WAV files ------------------------------------------------------------------------------------------- */

#define CHUNKS_MAX 1000 /* of a WAV file that are searched for the samples */

/* Searches a WAV file's chunks, which are a name of four bytes, a 32-bit size, the content, and a byte of padding after
 * an odd size, for the samples. Returns false for a file without 32-bit sizes (those are RIFF and RIFX) or without
 * samples. */
static bool wave_read(const struct bl_demux *d, struct bl_wave *wave)
{
    /* Programs write these in the place of a size that they do not know: FFmpeg and libsndfile, SoX and eSpeak, ALSA,
     * opus-tools, Python's writers of streams. */
    static const uint32_t open[] = {0, UINT32_MAX, 0x7ffff000, 0x7fffff00, INT32_MAX, 2000000000};
    int64_t at = 12;
    uint8_t chunk[8];
    bool big = memcmp(d->file.head, "RIFX", 4) == 0;
    if ((!big && memcmp(d->file.head, "RIFF", 4) != 0) || memcmp(d->file.head + 8, "WAVE", 4) != 0)
        return false;
    for (int i = 0; i < CHUNKS_MAX && bl_media_file_read(&d->file, chunk, sizeof chunk, at) == sizeof chunk; i++) {
        uint32_t size = chunk[4] | (uint32_t)chunk[5] << 8 | (uint32_t)chunk[6] << 16 | (uint32_t)chunk[7] << 24;
        size = big ? __builtin_bswap32(size) : size;
        at += (int64_t)sizeof chunk;
        if (memcmp(chunk, "data", 4) == 0) {
            *wave = (struct bl_wave){.claimed = size, .present = d->file.bytes - at};
            for (size_t k = 0; k < sizeof open / sizeof *open; k++)
                wave->open = wave->open || (open[k] == size && wave->claimed != wave->present);
            return true;
        }
        at += (int64_t)size + (size & 1);
    }
    return false;
}

/* --- counting ----------------------------------------------------------------------------------------------------- */

/* Seconds by which a header's duration may exceed that of the decoded samples: it includes delay and padding, and is
 * rounded. */
#define END_TOLERANCE 0.5

#define SAMPLES_MAX ((int64_t)1 << 40) /* the bound of bl_mix_length */

#define ADD_REASON(info, ...) bl_row_append_reason((info)->reason, sizeof(info)->reason, __VA_ARGS__)

/* The sums over the frames of a file. */
struct total {
    int64_t length; /* samples at the wanted rate, without the last part */
    int parts;
    struct bl_mix_part first, last; /* the last is not added yet */
    double seconds;
    int64_t before;            /* samples of the parts before the last */
    struct bl_mix mix;         /* for trial */
    struct bl_error unmixable; /* why it cannot mix some frame */
};

/* Adds the last part of the stream, if it has samples, to the sums. */
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

/* Decodes all frames and adds them to the sums, and to marks unless that is NULL. Notes in info the smallest number of
 * channels (0: there was no frame), and the damaged and odd samples by their numbers, so that cuts.c can tell which
 * cuts they lie in. frame is empty room for one frame, the caller's. BL_EDATA also for over than SAMPLES_MAX samples.
 */
static int total_add_frames(struct bl_audio_decoder *s, const struct bl_audio_config *config, struct total *c,
                            struct bl_audio_info *info, struct bl_marks *marks, AVFrame *frame, struct bl_error *e)
{
    bool got;
    for (int64_t odd_before = 0;;) {
        BL_TRY(bl_audio_decoder_next(s, frame, &got, e));
        if (!got)
            break;
        int channels = frame->ch_layout.nb_channels;
        if (!bl_mix_part_continues(&c->last, frame)) {
            total_add_part(c, config);
            c->last = (struct bl_mix_part){.rate = frame->sample_rate, .channels = channels};
        }
        /* The decoder runs ahead by its queue: a fault lies in this frame, or in one of those queued after it. */
        int64_t at = c->before + c->last.samples, odd = s->nonfinite + s->loud;
        if ((s->errors || s->corrupt || bl_gaps_events(&s->gaps)) && info->damaged_begin > at)
            info->damaged_begin = at;
        if (odd != odd_before) {
            info->odd_begin = info->odd_end ? info->odd_begin : at;
            info->odd_end = at + (BL_AUDIO_DECODER_QUEUE + 1) * (int64_t)frame->nb_samples;
        }
        odd_before = odd;
        if (!info->channels_least || channels < info->channels_least)
            info->channels_least = channels;
        /* The first fault is kept; whether it matters depends on the channel that each cut wants. */
        int code = *c->unmixable.text ? BL_OK : bl_mix_check(&c->mix, frame, &c->unmixable);
        if (code && code != BL_EDATA)
            return bl_error_pass(e, code, &c->unmixable);
        if (marks) {
            BL_TRY(bl_marks_add(marks, frame, e));
        }
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

/* Returns the duration in seconds by the header of stream or file; 0 where there is none, or libav has estimated it. */
static double demux_declared_seconds(const struct bl_demux *d)
{
    const AVStream *stream = d->stream;
    if (d->probed && d->format->duration_estimation_method != AVFMT_DURATION_FROM_STREAM)
        return 0;
    if (stream->duration > 0)
        return (double)stream->duration * av_q2d(stream->time_base);
    return d->format->duration > 0 ? (double)d->format->duration / AV_TIME_BASE : 0;
}

/* Returns the samples that the header counts; 0: the count is not known to the sample. It is known for FLAC, where
 * libav joins the packets around damage without an error, and for a file that ends within a sample. */
static int64_t decoder_declared_samples(const struct bl_audio_decoder *s)
{
    const AVStream *stream = s->demux.stream;
    bool exact = s->has_rest || strcmp(s->demux.format->iformat->name, "flac") == 0;
    if (!exact || stream->duration <= 0 || s->rate_changed || demux_declared_seconds(&s->demux) <= 0)
        return 0;
    return av_rescale_q(stream->duration, stream->time_base, (AVRational){1, s->rate});
}

/* Adds a reason for the gravest damage. A header's duration counts only where it is that of this stream alone, and no
 * list of packets gives a better answer. */
static void info_add_damage(struct bl_audio_info *info, const struct bl_audio_decoder *s, const struct total *c)
{
    const struct bl_demux *d = &s->demux;
    double declared = demux_declared_seconds(d);
    struct bl_wave wave = {0};
    char frames[BL_PLURAL_SIZE];
    int64_t listed = bl_demux_is_mov(d) ? d->stream->nb_frames : 0; /* packets, by the container's lists */
    bool is_wave = wave_read(d, &wave), by_duration = !bl_demux_is_mov(d) && d->format->nb_streams == 1 && !wave.open &&
                                                      declared > c->seconds + END_TOLERANCE;
    if (is_wave && !wave.open && wave.claimed > wave.present)
        ADD_REASON(info, "truncated: header claims %" PRId64 " bytes of samples, %" PRId64 " are there", wave.claimed,
                   wave.present);
    else if (by_duration || ((listed > 0 ? listed > s->packets : bl_demux_is_matroska(d)) && bl_truncation_detect(d)))
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

/* Adds everything that is wrong with the file, the gravest first. */
static void info_add_reasons(struct bl_audio_info *info, const struct bl_audio_config *config,
                             const struct bl_audio_decoder *s, const struct total *c)
{
    const struct bl_gaps *gaps = &s->gaps;
    char times[BL_PLURAL_SIZE];
    info_add_damage(info, s, c);
    if (gaps->gaps)
        ADD_REASON(info, "%s in its timestamps filled with %.3f s of zeros", bl_text_plural(times, gaps->gaps, "gap"),
                   gaps->filled);
    if (gaps->overlaps)
        ADD_REASON(info, "%s in its timestamps: %.3f s cut", bl_text_plural(times, gaps->overlaps, "overlap"),
                   gaps->cut);
    if (gaps->jumps)
        ADD_REASON(info, "%s in its timestamps, more than %d s ahead or %d s back, not followed",
                   bl_text_plural(times, gaps->jumps, "jump"), BL_GAPS_AHEAD, BL_GAPS_BACK);
    if (s->nonfinite)
        ADD_REASON(info, "%" PRId64 " samples are NaN or infinite: made 0", s->nonfinite);
    if (s->loud && config->common.dtype == BL_AUDIO_S16 && !config->features)
        ADD_REASON(info, "%s beyond +-1, up to %g: clipped (--dtype f32 keeps them)",
                   bl_text_plural(times, s->loud, "sample"), s->peak);
    if (c->parts > 1)
        ADD_REASON(info, "changes %d times within: from %d Hz, %d channels to %d Hz, %d channels in the end",
                   c->parts - 1, c->first.rate, c->first.channels, c->last.rate, c->last.channels);
}

/* Decodes the file from the decoder's position, which is its beginning, and fills in everything except info->stream. */
static int info_fill(const struct bl_audio_config *config, struct bl_audio_decoder *s, struct bl_marks *marks,
                     struct bl_audio_info *info, struct bl_error *e)
{
    struct total c = {0};
    AVFrame *frame = av_frame_alloc();
    if (!frame)
        return bl_error_memory(e);
    bl_mix_init(&c.mix, (int)config->rate, bl_audio_channels(config), true, BL_RESAMPLER_SOXR);
    info->damaged_begin = INT64_MAX;
    int code = total_add_frames(s, config, &c, info, marks, frame, e);
    bl_mix_free(&c.mix);
    av_frame_free(&frame);
    if (code)
        return code;
    if (c.length == 0 && s->packets)
        return bl_error_set(e, BL_EDATA, "damaged: none of %" PRId64 " packets decodes", s->packets);
    if (c.length == 0)
        return bl_error_set(e, BL_EDATA, "no samples in the audio stream");
    info->samples = c.length;
    info->decoded = c.parts == 1 ? c.last.samples : -1;
    info->rate = c.last.rate;
    info->channels = c.last.channels;
    info->origin = s->origin == AV_NOPTS_VALUE ? NAN : (double)s->origin * av_q2d(s->demux.stream->time_base);
    bl_row_append_reason(info->unmixable, sizeof info->unmixable, "%s", c.unmixable.text);
    int64_t second;
    BL_TRY(bl_truncation_find_second(&s->demux, &second, e));
    if (second)
        ADD_REASON(info, "several files, one behind the other: the header at byte %" PRId64 " is not read", second);
    info_add_reasons(info, config, s, &c);
    return BL_OK;
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
    info->stream_missing = code && s.demux.stream_missing;
    if (code)
        return code;
    info->stream = s.demux.stream->index;
    s.demux.meter = meter;
    code = info_fill(config, &s, marks, info, e);
    bl_audio_decoder_close(&s);
    return code;
}

int bl_audio_check_channels(const struct bl_audio_config *config, const struct bl_audio_info *info,
                            const struct bl_channel_list *channels, struct bl_error *e)
{
    channels = channels->count ? channels : &config->channel;
    int highest = bl_channel_list_highest(channels);
    if (highest >= info->channels_least)
        return bl_error_set(e, BL_EDATA, "channel %d is wanted, and there are %d", highest, info->channels_least);
    if (channels->count)
        return bl_mix_check_chosen(channels->count, bl_audio_channels(config), e);
    return *info->unmixable ? bl_error_set(e, BL_EDATA, "%s", info->unmixable) : BL_OK;
}

int bl_audio_count_file(const struct bl_audio_config *config, const struct bl_kind_env *env, const char *path,
                        struct bl_meter *meter, struct bl_audio_info *info, struct bl_error *e)
{
    BL_TRY(bl_audio_count(config, env, path, meter, NULL, info, e));
    return bl_audio_check_channels(config, info, &(struct bl_channel_list){0}, e);
}
