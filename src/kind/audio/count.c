#include "kind/audio/count.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "kind/audio/decoder.h"
#include "kind/audio/features.h"
#include "kind/audio/mix.h"
#include "kind/audio/options.h"
#include "kind/audio/wave.h"
#include "kind/media/truncation.h"
#include "kind/row.h"

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
    int64_t damaged_begin, nonfinite_begin, nonfinite_end;
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

/* Marks where faults may be. The decoder runs ahead of the frame of so many samples that comes next: a fault lies in
 * it, or in one of those that are queued after it. nonfinite: the decoder's, before that frame was decoded. */
static void total_mark_faults(const struct bl_audio_decoder *s, struct total *c, int64_t nonfinite, int samples)
{
    int64_t at = c->before + c->last.samples;
    if ((s->errors || s->corrupt || bl_gaps_events(&s->gaps)) && c->damaged_begin > at)
        c->damaged_begin = at;
    if (s->nonfinite == nonfinite)
        return;
    c->nonfinite_begin = c->nonfinite_end ? c->nonfinite_begin : at;
    c->nonfinite_end = at + (BL_AUDIO_DECODER_QUEUE + 1) * (int64_t)samples;
}

static int decoder_count(struct bl_audio_decoder *s, const struct bl_audio_config *config, struct total *c,
                         struct bl_marks *marks, AVFrame *frame, struct bl_error *e)
{
    bool got;
    for (int64_t nonfinite = 0;;) {
        int code = bl_audio_decoder_next(s, frame, &got, e);
        if (code)
            return code;
        if (!got)
            break;
        if (!bl_mix_part_continues(&c->last, frame)) {
            total_add_part(c, config);
            c->last = (struct bl_mix_part){.rate = frame->sample_rate, .channels = frame->ch_layout.nb_channels};
        }
        total_mark_faults(s, c, nonfinite, frame->nb_samples);
        nonfinite = s->nonfinite;
        code = marks ? bl_marks_add(marks, frame, e) : BL_OK;
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

/* The samples that a FLAC file's header counts, since libav joins what is left of them; 0: not known. */
static int64_t decoder_declared_samples(const struct bl_audio_decoder *s)
{
    const AVStream *stream = s->demux.stream;
    if (strcmp(s->demux.format->iformat->name, "flac") != 0 || stream->duration <= 0 || s->rate_changed ||
        demux_declared_seconds(&s->demux) <= 0)
        return 0;
    return av_rescale_q(stream->duration, stream->time_base, (AVRational){1, s->rate});
}

/* The gravest damage. A header's duration counts only where it is of this stream alone, and no list of packets tells.
 */
static void info_add_damage(struct bl_audio_info *info, const struct bl_audio_decoder *s, const struct total *c)
{
    const struct bl_demux *d = &s->demux;
    double declared = demux_declared_seconds(d);
    bool by_duration = !bl_demux_is_mov(d) && d->format->nb_streams == 1 && declared > c->seconds + END_TOLERANCE;
    struct bl_wave wave;
    char frames[BL_PLURAL_SIZE];
    if (bl_wave_read(d, &wave) && wave.claimed > wave.present)
        ADD_REASON(info, "truncated: header claims %" PRId64 " bytes of samples, %" PRId64 " are there", wave.claimed,
                   wave.present);
    else if (by_duration || decoder_is_truncated(s))
        ADD_REASON(info, "truncated: header says %.1f s, %.1f s are there", declared, c->seconds);
    else if (s->errors)
        ADD_REASON(info, "damaged: %" PRId64 " of %" PRId64 " packets do not decode", s->errors, s->packets);
    else if (decoder_declared_samples(s) > s->decoded)
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
static void info_add_reasons(struct bl_audio_info *info, const struct bl_audio_decoder *s, const struct total *c)
{
    info_add_damage(info, s, c);
    info_add_times(info, &s->gaps);
    if (s->nonfinite)
        ADD_REASON(info, "%" PRId64 " samples are NaN or infinite: made 0", s->nonfinite);
    if (c->parts > 1)
        ADD_REASON(info, "changes %d times within: from %d Hz, %d channels to %d Hz, %d channels in the end",
                   c->parts - 1, c->first.rate, c->first.channels, c->last.rate, c->last.channels);
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
    AVFrame *frame = av_frame_alloc();
    if (!frame)
        return bl_error_memory(e);
    int code = decoder_count(s, config, &c, marks, frame, e);
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
    info->damaged_begin = c.damaged_begin;
    info->nonfinite_begin = c.nonfinite_begin;
    info->nonfinite_end = c.nonfinite_end;
    code = info_add_second(info, &s->demux, e);
    if (!code)
        info_add_reasons(info, s, &c);
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
    int code = bl_audio_decoder_open(&s, path, -1, BL_DEMUX_WANTED(config->stream), bl_audio_gap(config), env, e);
    if (code)
        return code;
    info->stream = s.demux.stream->index;
    s.demux.meter = meter;
    code = info_fill(config, &s, marks, info, e);
    bl_audio_decoder_close(&s);
    return code;
}
