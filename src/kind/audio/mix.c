/* A context of swresample mixes and changes the format, sample by sample; resampler.c does the rest. Between them the
 * last samples of a part are there as floats, to be mirrored. */
#include "kind/audio/mix.h"

#include <libavutil/opt.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "kind/audio/config.h"

bool bl_mix_part_continues(const struct bl_mix_part *part, const AVFrame *frame)
{
    return part->rate == frame->sample_rate && part->channels == frame->ch_layout.nb_channels;
}

int64_t bl_mix_length(int64_t n, int from, int to)
{
    return (n * to + from - 1) / from;
}

void bl_mix_init(struct bl_mix *m, int rate, int channels, bool floats, enum bl_resampler_engine engine)
{
    *m = (struct bl_mix){.rate = rate, .channels = channels, .format = -1};
    m->output = floats ? AV_SAMPLE_FMT_FLT : AV_SAMPLE_FMT_S16;
    m->step_bytes = (size_t)channels * (floats ? sizeof(float) : sizeof(int16_t));
    m->resampler = (struct bl_resampler){
        .engine = engine, .to = rate, .channels = channels, .floats = floats, .step_bytes = m->step_bytes};
}

void bl_mix_free(struct bl_mix *m)
{
    swr_free(&m->mixer);
    bl_resampler_free(&m->resampler);
    av_channel_layout_uninit(&m->layout);
    free(m->mixed);
    *m = (struct bl_mix){.format = -1};
}

void bl_mix_begin(struct bl_mix *m)
{
    m->part = (struct bl_mix_part){0};
    m->tail = 0;
}

/* --- the mixer -------------------------------------------------------------------------------------------------- */

static int mixer_alloc(struct bl_mix *m, AVChannelLayout *to, AVChannelLayout *from, int format, struct bl_error *e)
{
    swr_free(&m->mixer);
    if (swr_alloc_set_opts2(&m->mixer, to, m->direct ? m->output : AV_SAMPLE_FMT_FLT, m->rate, from,
                            (enum AVSampleFormat)format, m->rate, 0, NULL) < 0 ||
        av_opt_set_sample_fmt(m->mixer, "internal_sample_fmt", AV_SAMPLE_FMT_FLTP, 0) < 0 ||
        av_opt_set_double(m->mixer, "rematrix_maxval", 1.0, 0) < 0)
        return bl_error_memory(e);
    return BL_OK;
}

/* A layout that has as many channels, and names none: for what does not depend on layouts. */
static int layout_set_any(AVChannelLayout *layout, int channels, struct bl_error *e)
{
    uint64_t mask = channels < 64 ? (UINT64_C(1) << channels) - 1 : UINT64_MAX;
    return av_channel_layout_from_mask(layout, mask) < 0 ? bl_error_memory(e) : BL_OK;
}

static int mixer_refuse(const struct bl_mix *m, struct bl_error *e)
{
    int channels = m->layout.nb_channels;
    if (channels == 1)
        return bl_error_set(e, BL_EDATA, "its one channel cannot be mixed to %d: give --channels 1", m->channels);
    return bl_error_set(e, BL_EDATA, "its %d channels%s cannot be mixed to %d: give --channels 1 or %d, or --channel",
                        channels,
                        m->layout.order == AV_CHANNEL_ORDER_UNSPEC && channels > 2 ? ", which have no layout," : "",
                        m->channels, channels);
}

/* As many channels as wanted are copied. */
static int mixer_open_copy(struct bl_mix *m, int format, struct bl_error *e)
{
    AVChannelLayout any = {0};
    int code = layout_set_any(&any, m->channels, e);
    if (!code)
        code = mixer_alloc(m, &any, &any, format, e);
    if (code)
        return code;
    return swr_init(m->mixer) < 0 ? bl_error_memory(e) : BL_OK;
}

/* Channels without a layout are mixed to their mean. */
static int mixer_open_mean(struct bl_mix *m, int format, struct bl_error *e)
{
    int channels = m->layout.nb_channels;
    AVChannelLayout any = {0}, mono = AV_CHANNEL_LAYOUT_MONO;
    double matrix[BL_AUDIO_CHANNELS_MAX];
    if (m->channels != 1)
        return mixer_refuse(m, e);
    for (int c = 0; c < channels; c++)
        matrix[c] = 1.0 / channels;
    int code = layout_set_any(&any, channels, e);
    if (!code)
        code = mixer_alloc(m, &mono, &any, format, e);
    if (code)
        return code;
    code = swr_set_matrix(m->mixer, matrix, channels);
    if (code >= 0)
        code = swr_init(m->mixer);
    if (code == AVERROR(ENOMEM))
        return bl_error_memory(e);
    return code < 0 ? bl_error_set(e, BL_EDATA, "its channels cannot be mixed") : BL_OK;
}

/* Channels that have a layout are mixed with swresample's coefficients; without them, if it has none, to their mean. */
static int mixer_open_layout(struct bl_mix *m, int format, struct bl_error *e)
{
    AVChannelLayout wanted, placed = {0};
    av_channel_layout_default(&wanted, m->channels);
    if (m->layout.order == AV_CHANNEL_ORDER_UNSPEC)
        av_channel_layout_default(&placed, m->layout.nb_channels);
    int code = mixer_alloc(m, &wanted, placed.nb_channels ? &placed : &m->layout, format, e);
    if (code)
        return code;
    code = swr_init(m->mixer);
    if (code == AVERROR(ENOMEM))
        return bl_error_memory(e);
    return code < 0 ? mixer_open_mean(m, format, e) : BL_OK;
}

static int mixer_open(struct bl_mix *m, const AVFrame *frame, struct bl_error *e)
{
    bool direct = frame->sample_rate == m->rate;
    if (m->format == frame->format && m->direct == direct &&
        av_channel_layout_compare(&m->layout, &frame->ch_layout) == 0)
        return BL_OK;
    m->format = -1;
    m->direct = direct;
    if (av_channel_layout_copy(&m->layout, &frame->ch_layout) < 0)
        return bl_error_memory(e);
    int code, channels = m->layout.nb_channels;
    if (channels == m->channels)
        code = mixer_open_copy(m, frame->format, e);
    else if (m->channels > BL_MIX_PLACED_MAX || (channels > 2 && m->layout.order == AV_CHANNEL_ORDER_UNSPEC))
        code = mixer_open_mean(m, frame->format, e);
    else
        code = mixer_open_layout(m, frame->format, e);
    if (!code)
        m->format = frame->format;
    return code;
}

int bl_mix_check(struct bl_mix *m, const AVFrame *frame, struct bl_error *e)
{
    int channels = frame->ch_layout.nb_channels;
    return channels == m->channels || (channels <= 2 && m->channels <= 2) ? BL_OK : mixer_open(m, frame, e);
}

/* --- samples ---------------------------------------------------------------------------------------------------- */

/* Ends the part in progress. */
static int mix_part_end(struct bl_mix *m, struct bl_buffer *out, struct bl_error *e)
{
    if (!m->part.samples || m->part.rate == m->rate)
        return BL_OK;
    int64_t length = bl_mix_length(m->part.samples, m->part.rate, m->rate);
    return bl_resampler_end(&m->resampler, m->mixed, m->tail, length, out, e);
}

static int mix_part_begin(struct bl_mix *m, const AVFrame *frame, struct bl_buffer *out, struct bl_error *e)
{
    int code = mix_part_end(m, out, e);
    bl_mix_begin(m);
    m->part = (struct bl_mix_part){.rate = frame->sample_rate, .channels = frame->ch_layout.nb_channels};
    if (code || frame->sample_rate == m->rate)
        return code;
    return bl_resampler_begin(&m->resampler, frame->sample_rate, e);
}

static int mix_push_direct(struct bl_mix *m, const AVFrame *frame, struct bl_buffer *out, struct bl_error *e)
{
    if (!bl_buffer_reserve(out, (size_t)frame->nb_samples * m->step_bytes))
        return bl_error_memory(e);
    uint8_t *to = (uint8_t *)out->data + out->size;
    int got = swr_convert(m->mixer, &to, frame->nb_samples, (const uint8_t **)frame->extended_data, frame->nb_samples);
    if (got < 0)
        return bl_error_memory(e);
    out->size += (size_t)got * m->step_bytes;
    return BL_OK;
}

static int mix_push_resampled(struct bl_mix *m, const AVFrame *frame, struct bl_buffer *out, struct bl_error *e)
{
    int count = frame->nb_samples, wide = bl_resampler_reach(&m->resampler, m->part.rate);
    size_t channels = (size_t)m->channels;
    int code = BL_ARRAY_RESERVE(m->mixed, m->capacity, (size_t)(m->tail + count) * channels, e);
    if (code)
        return code;
    float *to = m->mixed + (size_t)m->tail * channels;
    int got = swr_convert(m->mixer, (uint8_t **)&to, count, (const uint8_t **)frame->extended_data, count);
    if (got < 0)
        return bl_error_memory(e);
    code = bl_resampler_push(&m->resampler, to, got, out, e);
    int all = m->tail + got, keep = all < wide ? all : wide;
    memmove(m->mixed, m->mixed + (size_t)(all - keep) * channels, (size_t)keep * channels * sizeof *m->mixed);
    m->tail = keep;
    return code;
}

int bl_mix_push(struct bl_mix *m, const AVFrame *frame, struct bl_buffer *out, struct bl_error *e)
{
    int code = bl_mix_part_continues(&m->part, frame) ? BL_OK : mix_part_begin(m, frame, out, e);
    if (!code)
        code = mixer_open(m, frame, e);
    if (code)
        return code;
    m->part.samples += frame->nb_samples;
    return m->direct ? mix_push_direct(m, frame, out, e) : mix_push_resampled(m, frame, out, e);
}

int bl_mix_end(struct bl_mix *m, struct bl_buffer *out, struct bl_error *e)
{
    int code = mix_part_end(m, out, e);
    bl_mix_begin(m);
    return code;
}
