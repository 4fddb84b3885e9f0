/* Two contexts of swresample: one mixes and changes the format, sample by sample; the other resamples. Between them the
 * last samples of a part are there as floats, to be mirrored. */
#include "kind/audio/mix.h"

#include <libavutil/opt.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define FILTER_TAPS 32 /* of swresample's filter, at the lower of the two rates */

bool bl_mix_part_continues(const struct bl_mix_part *part, const AVFrame *frame)
{
    return part->rate == frame->sample_rate && part->channels == frame->ch_layout.nb_channels;
}

int64_t bl_mix_length(int64_t n, int from, int to)
{
    return (n * to + from - 1) / from;
}

void bl_mix_init(struct bl_mix *m, int rate, int channels, bool floats)
{
    *m = (struct bl_mix){.rate = rate, .channels = channels, .format = -1};
    m->output = floats ? AV_SAMPLE_FMT_FLT : AV_SAMPLE_FMT_S16;
    m->step_bytes = (size_t)channels * (floats ? sizeof(float) : sizeof(int16_t));
}

void bl_mix_free(struct bl_mix *m)
{
    swr_free(&m->mixer);
    swr_free(&m->resampler);
    av_channel_layout_uninit(&m->layout);
    free(m->mixed);
    *m = (struct bl_mix){.format = -1};
}

void bl_mix_begin(struct bl_mix *m)
{
    m->part = (struct bl_mix_part){0};
    m->emitted = 0;
    m->tail = 0;
}

/* At least as many samples as the filter reaches to either side. */
static int mix_filter_width(const struct bl_mix *m)
{
    int ratio = m->part.rate > m->rate ? (m->part.rate + m->rate - 1) / m->rate : 1;
    return FILTER_TAPS * (ratio + 1);
}

/* --- contexts --------------------------------------------------------------------------------------------------- */

static int swr_context_alloc(SwrContext **context, AVChannelLayout *to, enum AVSampleFormat to_format, int to_rate,
                             AVChannelLayout *from, enum AVSampleFormat from_format, int from_rate, struct bl_error *e)
{
    swr_free(context);
    if (swr_alloc_set_opts2(context, to, to_format, to_rate, from, from_format, from_rate, 0, NULL) < 0 ||
        av_opt_set_sample_fmt(*context, "internal_sample_fmt", AV_SAMPLE_FMT_FLTP, 0) < 0 ||
        av_opt_set_double(*context, "rematrix_maxval", 1.0, 0) < 0)
        return bl_error_memory(e);
    return BL_OK;
}

static int swr_error_set(int code, const char *what, struct bl_error *e)
{
    return code == AVERROR(ENOMEM) ? bl_error_memory(e) : bl_error_set(e, BL_EDATA, "%s", what);
}

/* Channels without a layout are mixed to their mean. */
static int mixer_open_mean(struct bl_mix *m, AVChannelLayout *wanted, int format, struct bl_error *e)
{
    int channels = m->layout.nb_channels;
    AVChannelLayout any = {0};
    double matrix[64];
    if (m->channels != 1 || channels > 63 || av_channel_layout_from_mask(&any, (UINT64_C(1) << channels) - 1) < 0)
        return bl_error_set(e, BL_EDATA, "its %d channels cannot be mixed to %d: give --channels 1", channels,
                            m->channels);
    for (int c = 0; c < channels; c++)
        matrix[c] = 1.0 / channels;
    int code = swr_context_alloc(&m->mixer, wanted, m->direct ? m->output : AV_SAMPLE_FMT_FLT, m->rate, &any,
                                 (enum AVSampleFormat)format, m->rate, e);
    if (code)
        return code;
    code = swr_set_matrix(m->mixer, matrix, channels);
    if (code >= 0)
        code = swr_init(m->mixer);
    return code < 0 ? swr_error_set(code, "its channels cannot be mixed", e) : BL_OK;
}

static int mixer_open(struct bl_mix *m, const AVFrame *frame, struct bl_error *e)
{
    bool direct = frame->sample_rate == m->rate;
    if (m->format == frame->format && m->direct == direct &&
        av_channel_layout_compare(&m->layout, &frame->ch_layout) == 0)
        return BL_OK;
    AVChannelLayout wanted, placed = {0};
    av_channel_layout_default(&wanted, m->channels);
    m->format = -1;
    m->direct = direct;
    if (av_channel_layout_copy(&m->layout, &frame->ch_layout) < 0)
        return bl_error_memory(e);
    if (m->layout.order == AV_CHANNEL_ORDER_UNSPEC)
        av_channel_layout_default(&placed, m->layout.nb_channels);
    AVChannelLayout *from = placed.nb_channels ? &placed : &m->layout;
    int code = swr_context_alloc(&m->mixer, &wanted, direct ? m->output : AV_SAMPLE_FMT_FLT, m->rate, from,
                                 (enum AVSampleFormat)frame->format, m->rate, e);
    if (code)
        return code;
    code = from->order == AV_CHANNEL_ORDER_UNSPEC ? AVERROR(EINVAL) : swr_init(m->mixer);
    if (code == AVERROR(ENOMEM))
        code = bl_error_memory(e);
    else if (code < 0)
        code = mixer_open_mean(m, &wanted, frame->format, e);
    if (code)
        return code;
    m->format = frame->format;
    return BL_OK;
}

static int resampler_open(struct bl_mix *m, int rate, struct bl_error *e)
{
    AVChannelLayout layout;
    av_channel_layout_default(&layout, m->channels);
    if (m->resampled_rate != rate) {
        m->resampled_rate = 0;
        int code = swr_context_alloc(&m->resampler, &layout, m->output, m->rate, &layout, AV_SAMPLE_FMT_FLT, rate, e);
        if (code)
            return code;
    }
    int code = swr_init(m->resampler); /* resets it, and keeps the filter */
    if (code < 0)
        return swr_error_set(code, "its rate cannot be changed", e);
    m->resampled_rate = rate;
    return BL_OK;
}

/* --- samples ---------------------------------------------------------------------------------------------------- */

/* Resamples count mixed samples and appends the result, but at most `limit` samples of the part. */
static int mix_resample(struct bl_mix *m, const float *in, int count, int64_t limit, struct bl_buffer *out,
                        struct bl_error *e)
{
    int capacity = swr_get_out_samples(m->resampler, count);
    if (capacity < 0 || !bl_buffer_reserve(out, ((size_t)capacity + 1) * m->step_bytes))
        return bl_error_memory(e);
    uint8_t *to = (uint8_t *)out->data + out->size;
    const uint8_t *from = (const uint8_t *)in;
    int got = swr_convert(m->resampler, &to, capacity, &from, count);
    if (got < 0)
        return bl_error_memory(e);
    if (got > limit - m->emitted)
        got = (int)(limit - m->emitted);
    m->emitted += got;
    out->size += (size_t)got * m->step_bytes;
    return BL_OK;
}

/* Ends the part in progress: the mirror image of its last samples stands for those that would follow. */
static int mix_part_end(struct bl_mix *m, struct bl_buffer *out, struct bl_error *e)
{
    if (!m->part.samples || m->part.rate == m->rate)
        return BL_OK;
    int64_t length = bl_mix_length(m->part.samples, m->part.rate, m->rate);
    int wide = mix_filter_width(m), channels = m->channels;
    float *mirror = malloc((size_t)wide * (size_t)channels * sizeof *mirror);
    if (!mirror)
        return bl_error_memory(e);
    for (int i = 0; i < wide; i++) {
        int phase = i % (2 * m->tail), back = phase < m->tail ? m->tail - 1 - phase : phase - m->tail;
        memcpy(mirror + i * channels, m->mixed + back * channels, (size_t)channels * sizeof *mirror);
    }
    int code = BL_OK;
    while (!code && m->emitted < length)
        code = mix_resample(m, mirror, wide, length, out, e);
    free(mirror);
    return code;
}

static int mix_part_begin(struct bl_mix *m, const AVFrame *frame, struct bl_buffer *out, struct bl_error *e)
{
    int code = mix_part_end(m, out, e);
    bl_mix_begin(m);
    m->part = (struct bl_mix_part){.rate = frame->sample_rate, .channels = frame->ch_layout.nb_channels};
    if (code || frame->sample_rate == m->rate)
        return code;
    return resampler_open(m, frame->sample_rate, e);
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
    int count = frame->nb_samples, wide = mix_filter_width(m);
    size_t channels = (size_t)m->channels;
    int code = BL_ARRAY_RESERVE(m->mixed, m->capacity, (size_t)(m->tail + count) * channels, e);
    if (code)
        return code;
    float *to = m->mixed + (size_t)m->tail * channels;
    int got = swr_convert(m->mixer, (uint8_t **)&to, count, (const uint8_t **)frame->extended_data, count);
    if (got < 0)
        return bl_error_memory(e);
    code = mix_resample(m, to, got, INT64_MAX, out, e);
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
