/* Mixes channels by libswresample, then changes the rate by soxr or by a second context of libswresample.
 *
 * soxr has no mixer: so mixing is a step of its own for both. As it never changes the rate, it holds no samples back:
 * each call gives as many as it took. Where the rate is the wanted one already, the mixer's output is the result. */
#include "kind/audio/mix.h"

#include <libavutil/opt.h>
#include <soxr.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

#define BL_MIX_PLACED_MAX 8 /* more channels than these can only be copied, or be mixed to one */

/* --- resampler ---------------------------------------------------------------------------------------------------- */

#define PORTION 4096 /* samples that soxr gives at once */

void bl_resampler_free(struct bl_resampler *r)
{
    swr_free(&r->swr);
    soxr_delete(r->soxr);
    r->soxr = NULL;
    r->from = 0;
}

int bl_resampler_reach(const struct bl_resampler *r, int from)
{
    const int taps = 32; /* of swresample's filter, at the lower of the two rates */
    int ratio = from > r->to ? (from + r->to - 1) / r->to : 1;
    return taps * (ratio + 1);
}

/* Makes a context of swresample that is not initialized yet, in place of *swr. The factors with which it mixes add up
 * to at most 1, as for integers: by default floats have no such limit. */
static int swr_make(SwrContext **swr, AVChannelLayout *to, enum AVSampleFormat to_format, int to_rate,
                    AVChannelLayout *from, enum AVSampleFormat from_format, int from_rate, struct bl_error *e)
{
    swr_free(swr);
    if (swr_alloc_set_opts2(swr, to, to_format, to_rate, from, from_format, from_rate, 0, NULL) < 0 ||
        av_opt_set_sample_fmt(*swr, "internal_sample_fmt", AV_SAMPLE_FMT_FLTP, 0) < 0 ||
        av_opt_set_double(*swr, "rematrix_maxval", 1.0, 0) < 0)
        return bl_error_memory(e);
    return BL_OK;
}

/* Appends the output for so many samples. Only a lack of memory makes libswresample fail here. */
static int swr_push(struct bl_resampler *r, const float *in, int count, struct bl_buffer *out, struct bl_error *e)
{
    int capacity = swr_get_out_samples(r->swr, count);
    if (capacity < 0 || !bl_buffer_reserve(out, ((size_t)capacity + 1) * r->step_bytes))
        return bl_error_memory(e);
    uint8_t *to = (uint8_t *)out->data + out->size;
    const uint8_t *from = (const uint8_t *)in;
    int got = swr_convert(r->swr, &to, capacity, &from, count);
    if (got < 0)
        return bl_error_memory(e);
    r->emitted += got;
    out->size += (size_t)got * r->step_bytes;
    return BL_OK;
}

/* Appends the output for so many samples; in NULL: for the end of the signal. soxr is asked until it leaves a portion
 * incomplete, which shows that it holds no more output. */
static int sox_push(struct bl_resampler *r, const float *in, size_t count, struct bl_buffer *out, struct bl_error *e)
{
    size_t used = 0, got = PORTION;
    for (size_t at = 0; at < count || got == PORTION; at += used) {
        if (!bl_buffer_reserve(out, PORTION * r->step_bytes))
            return bl_error_memory(e);
        const float *from = in ? in + at * (size_t)r->channels : NULL;
        if (soxr_process(r->soxr, from, count - at, &used, out->data + out->size, PORTION, &got))
            return bl_error_memory(e);
        used = in ? used : 0;
        r->emitted += (int64_t)got;
        out->size += got * r->step_bytes;
    }
    return BL_OK;
}

int bl_resampler_begin(struct bl_resampler *r, int from, struct bl_error *e)
{
    bool again = r->from == from; /* the contexts for this rate are kept: their filters take long to compute */
    r->emitted = 0;
    r->from = 0; /* in case of an error */
    if (r->engine == BL_RESAMPLER_SOXR && again && soxr_clear(r->soxr))
        return bl_error_memory(e);
    if (r->engine == BL_RESAMPLER_SOXR && !again) {
        soxr_io_spec_t io = soxr_io_spec(SOXR_FLOAT32_I, r->floats ? SOXR_FLOAT32_I : SOXR_INT16_I);
        soxr_quality_spec_t quality = soxr_quality_spec(SOXR_HQ, SOXR_ROLLOFF_NONE | SOXR_HI_PREC_CLOCK);
        soxr_runtime_spec_t runtime = soxr_runtime_spec(1);
        soxr_error_t fault;
        io.flags |= SOXR_NO_DITHER;
        soxr_delete(r->soxr);
        r->soxr = soxr_create(from, r->to, (unsigned)r->channels, &fault, &io, &quality, &runtime);
        if (!r->soxr)
            return bl_error_memory(e); /* rates and channels are within its bounds */
    }
    if (r->engine == BL_RESAMPLER_SWR) {
        AVChannelLayout layout;
        av_channel_layout_default(&layout, r->channels);
        if (!again) {
            BL_TRY(swr_make(&r->swr, &layout, r->floats ? AV_SAMPLE_FMT_FLT : AV_SAMPLE_FMT_S16, r->to, &layout,
                            AV_SAMPLE_FMT_FLT, from, e));
        }
        int code = swr_init(r->swr); /* resets it, and keeps the filter */
        if (code < 0)
            return code == AVERROR(ENOMEM) ? bl_error_memory(e)
                                           : bl_error_set(e, BL_EDATA, "its rate cannot be changed");
    }
    r->from = from;
    return BL_OK;
}

int bl_resampler_push(struct bl_resampler *r, const float *in, int count, struct bl_buffer *out, struct bl_error *e)
{
    return r->engine == BL_RESAMPLER_SWR ? swr_push(r, in, count, out, e) : sox_push(r, in, (size_t)count, out, e);
}

int bl_resampler_end(struct bl_resampler *r, const float *tail, int count, int64_t length, struct bl_buffer *out,
                     struct bl_error *e)
{
    int channels = r->channels, code = BL_OK;
    if (r->emitted < length) {
        /* The mirror image of the last samples stands for those that would follow in swresample. soxr gives as many
         * samples as the nearest whole number of the exact length, and bl_mix_length rounds up: a few zeros behind the
         * signal make up for the difference. */
        bool mirrored = r->engine == BL_RESAMPLER_SWR;
        int more = mirrored ? bl_resampler_reach(r, r->from) : r->from / r->to + 1;
        float *behind = calloc((size_t)more * (size_t)channels, sizeof *behind);
        if (!behind)
            return bl_error_memory(e);
        for (int i = 0; mirrored && i < more; i++) {
            int phase = i % (2 * count), back = phase < count ? count - 1 - phase : phase - count;
            memcpy(behind + i * channels, tail + back * channels, (size_t)channels * sizeof *behind);
        }
        while (mirrored && !code && r->emitted < length)
            code = swr_push(r, behind, more, out, e);
        if (!mirrored)
            code = sox_push(r, behind, (size_t)more, out, e);
        if (!mirrored && !code)
            code = sox_push(r, NULL, 0, out, e);
        free(behind);
    }
    int64_t over = r->emitted - length;
    if (over > 0)
        out->size -= (size_t)over * r->step_bytes;
    return code;
}

/* --- mixing ------------------------------------------------------------------------------------------------------- */

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

/* Allocates a mixer of these layouts, whose output is the result or floats for the resampler. It is not initialized. */
static int mixer_alloc(struct bl_mix *m, AVChannelLayout *to, AVChannelLayout *from, int format, struct bl_error *e)
{
    return swr_make(&m->mixer, to, m->direct ? m->output : AV_SAMPLE_FMT_FLT, m->rate, from,
                    (enum AVSampleFormat)format, m->rate, e);
}

/* Sets a layout that has as many channels, whatever their names: for mixing that does not depend on layouts. */
static int layout_set_any(AVChannelLayout *layout, int channels, struct bl_error *e)
{
    uint64_t mask = channels < 64 ? (UINT64_C(1) << channels) - 1 : UINT64_MAX;
    return av_channel_layout_from_mask(layout, mask) < 0 ? bl_error_memory(e) : BL_OK;
}

/* Opens a mixer to the mean of all channels. BL_EDATA: more than one channel is wanted. */
static int mixer_open_mean(struct bl_mix *m, int format, struct bl_error *e)
{
    int channels = m->layout.nb_channels;
    AVChannelLayout any = {0}, mono = AV_CHANNEL_LAYOUT_MONO;
    double matrix[BL_AUDIO_CHANNELS_MAX];
    if (m->channels != 1 && channels == 1)
        return bl_error_set(e, BL_EDATA, "its one channel cannot be mixed to %d: give --channels 1", m->channels);
    if (m->channels != 1)
        return bl_error_set(e, BL_EDATA,
                            "its %d channels%s cannot be mixed to %d: give --channels 1 or %d, or --channel", channels,
                            m->layout.order == AV_CHANNEL_ORDER_UNSPEC && channels > 2 ? ", which have no layout," : "",
                            m->channels, channels);
    for (int c = 0; c < channels; c++)
        matrix[c] = 1.0 / channels;
    BL_TRY(layout_set_any(&any, channels, e));
    BL_TRY(mixer_alloc(m, &mono, &any, format, e));
    int code = swr_set_matrix(m->mixer, matrix, channels);
    if (code >= 0)
        code = swr_init(m->mixer);
    if (code == AVERROR(ENOMEM))
        return bl_error_memory(e);
    return code < 0 ? bl_error_set(e, BL_EDATA, "its channels cannot be mixed") : BL_OK;
}

/* Opens a mixer for the frame's layout, format and rate, unless the one that is open fits. */
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
    int channels = m->layout.nb_channels;
    bool placed = m->layout.order != AV_CHANNEL_ORDER_UNSPEC;
    if (channels == m->channels) {
        AVChannelLayout any = {0};
        BL_TRY(layout_set_any(&any, channels, e));
        BL_TRY(mixer_alloc(m, &any, &any, frame->format, e));
        if (swr_init(m->mixer) < 0)
            return bl_error_memory(e);
    } else if (m->channels > BL_MIX_PLACED_MAX || (channels > 2 && !placed)) {
        BL_TRY(mixer_open_mean(m, frame->format, e));
    } else {
        /* swresample has coefficients for layouts that name places. For others, such as ambisonics, it fails. */
        AVChannelLayout wanted, usual = {0};
        av_channel_layout_default(&wanted, m->channels);
        if (!placed)
            av_channel_layout_default(&usual, channels);
        BL_TRY(mixer_alloc(m, &wanted, usual.nb_channels ? &usual : &m->layout, frame->format, e));
        int code = swr_init(m->mixer);
        if (code == AVERROR(ENOMEM))
            return bl_error_memory(e);
        BL_TRY(code < 0 ? mixer_open_mean(m, frame->format, e) : BL_OK);
    }
    m->format = frame->format;
    return BL_OK;
}

int bl_mix_check(struct bl_mix *m, const AVFrame *frame, struct bl_error *e)
{
    int channels = frame->ch_layout.nb_channels;
    return channels == m->channels || (channels <= 2 && m->channels <= 2) ? BL_OK : mixer_open(m, frame, e);
}

int bl_mix_check_chosen(int channels, int wanted, struct bl_error *e)
{
    if (channels == wanted || wanted == 1 || (channels <= 2 && wanted <= BL_MIX_PLACED_MAX))
        return BL_OK;
    if (channels == 1)
        return bl_error_set(e, BL_EDATA, "its one chosen channel cannot be mixed to %d", wanted);
    return bl_error_set(e, BL_EDATA, "its %d chosen channels cannot be mixed to %d: choose %d or 1", channels, wanted,
                        wanted);
}

/* --- samples ---------------------------------------------------------------------------------------------------- */

/* Ends the part in progress, if it is resampled: appends the samples that the resampler still owes. */
static int mix_part_end(struct bl_mix *m, struct bl_buffer *out, struct bl_error *e)
{
    if (!m->part.samples || m->part.rate == m->rate)
        return BL_OK;
    int64_t length = bl_mix_length(m->part.samples, m->part.rate, m->rate);
    return bl_resampler_end(&m->resampler, m->mixed, m->tail, length, out, e);
}

int bl_mix_push(struct bl_mix *m, const AVFrame *frame, struct bl_buffer *out, struct bl_error *e)
{
    int count = frame->nb_samples;
    const uint8_t **in = (const uint8_t **)frame->extended_data;
    if (!bl_mix_part_continues(&m->part, frame)) {
        int code = mix_part_end(m, out, e);
        bl_mix_begin(m);
        m->part = (struct bl_mix_part){.rate = frame->sample_rate, .channels = frame->ch_layout.nb_channels};
        if (!code && frame->sample_rate != m->rate)
            code = bl_resampler_begin(&m->resampler, frame->sample_rate, e);
        if (code)
            return code;
    }
    BL_TRY(mixer_open(m, frame, e));
    m->part.samples += count;
    if (m->direct) {
        if (!bl_buffer_reserve(out, (size_t)count * m->step_bytes))
            return bl_error_memory(e);
        uint8_t *to = (uint8_t *)out->data + out->size;
        int got = swr_convert(m->mixer, &to, count, in, count);
        if (got < 0)
            return bl_error_memory(e);
        out->size += (size_t)got * m->step_bytes;
        return BL_OK;
    }
    /* The mixer's output goes behind the part's last samples, so that those for bl_resampler_end stay together. */
    size_t channels = (size_t)m->channels;
    BL_TRY(BL_ARRAY_RESERVE(m->mixed, m->capacity, (size_t)(m->tail + count) * channels, e));
    float *to = m->mixed + (size_t)m->tail * channels;
    int got = swr_convert(m->mixer, (uint8_t **)&to, count, in, count);
    if (got < 0)
        return bl_error_memory(e);
    int code = bl_resampler_push(&m->resampler, to, got, out, e);
    int wide = bl_resampler_reach(&m->resampler, m->part.rate), all = m->tail + got, keep = all < wide ? all : wide;
    memmove(m->mixed, m->mixed + (size_t)(all - keep) * channels, (size_t)keep * channels * sizeof *m->mixed);
    m->tail = keep;
    return code;
}

int bl_mix_end(struct bl_mix *m, struct bl_buffer *out, struct bl_error *e)
{
    int code = mix_part_end(m, out, e);
    bl_mix_begin(m);
    return code;
}

/* --- samples of a file -------------------------------------------------------------------------------------------- */

int bl_samples_open(struct bl_samples *s, struct bl_mix *mix, const char *path, int64_t bytes, int stream,
                    struct bl_rational gap, const struct bl_kind_env *env, struct bl_error *e)
{
    *s = (struct bl_samples){.mix = mix, .frame = av_frame_alloc()};
    if (!s->frame)
        return bl_error_memory(e);
    s->step_bytes = mix->step_bytes;
    int code = bl_trim_open(&s->trim, path, bytes, stream, gap, env, e);
    if (code)
        av_frame_free(&s->frame);
    else
        bl_mix_begin(mix);
    return code;
}

void bl_samples_begin(struct bl_samples *s, const struct bl_cut *cut, bool damaged)
{
    bl_trim_set(&s->trim, cut, damaged);
    bl_mix_begin(s->mix);
    bl_buffer_clear(&s->ready);
    s->taken = 0;
    s->position = 0;
    s->ended = false;
}

void bl_samples_close(struct bl_samples *s)
{
    bl_trim_close(&s->trim);
    av_frame_free(&s->frame);
    bl_buffer_free(&s->ready);
}

/* Decodes and mixes until steps are ready, or the cut has ended. Those that were ready before are taken. */
static int samples_refill(struct bl_samples *s, struct bl_error *e)
{
    bl_buffer_clear(&s->ready);
    s->taken = 0;
    while (!s->ready.size && !s->ended) {
        bool got;
        BL_TRY(bl_trim_next(&s->trim, s->frame, &got, e));
        s->ended = !got;
        int code = got ? bl_mix_push(s->mix, s->frame, &s->ready, e) : bl_mix_end(s->mix, &s->ready, e);
        av_frame_unref(s->frame);
        if (code)
            return code;
    }
    return BL_OK;
}

int bl_samples_read(struct bl_samples *s, uint8_t *out, int64_t wanted, int64_t *got, struct bl_error *e)
{
    *got = 0;
    while (*got < wanted) {
        BL_TRY(s->taken == s->ready.size ? samples_refill(s, e) : BL_OK);
        if (s->taken == s->ready.size)
            return BL_OK;
        int64_t there = (int64_t)((s->ready.size - s->taken) / s->step_bytes);
        int64_t count = there < wanted - *got ? there : wanted - *got;
        size_t bytes = (size_t)count * s->step_bytes;
        if (out)
            memcpy(out + (size_t)*got * s->step_bytes, s->ready.data + s->taken, bytes);
        s->taken += bytes;
        s->position += count;
        *got += count;
    }
    return BL_OK;
}
