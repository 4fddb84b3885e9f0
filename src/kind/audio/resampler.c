#include "kind/audio/resampler.h"

#include <libavutil/opt.h>
#include <libswresample/swresample.h>
#include <soxr.h>
#include <stdlib.h>
#include <string.h>

#define FILTER_TAPS 32 /* of swresample's filter, at the lower of the two rates */
#define PORTION 4096   /* samples that soxr gives at once */

void bl_resampler_free(struct bl_resampler *r)
{
    swr_free(&r->swr);
    soxr_delete(r->soxr);
    r->soxr = NULL;
    r->from = 0;
}

int bl_resampler_reach(const struct bl_resampler *r, int from)
{
    int ratio = from > r->to ? (from + r->to - 1) / r->to : 1;
    return FILTER_TAPS * (ratio + 1);
}

/* --- swresample ------------------------------------------------------------------------------------------------- */

static int swr_open(struct bl_resampler *r, int from, struct bl_error *e)
{
    AVChannelLayout layout;
    av_channel_layout_default(&layout, r->channels);
    swr_free(&r->swr);
    if (swr_alloc_set_opts2(&r->swr, &layout, r->floats ? AV_SAMPLE_FMT_FLT : AV_SAMPLE_FMT_S16, r->to, &layout,
                            AV_SAMPLE_FMT_FLT, from, 0, NULL) < 0 ||
        av_opt_set_sample_fmt(r->swr, "internal_sample_fmt", AV_SAMPLE_FMT_FLTP, 0) < 0 ||
        av_opt_set_double(r->swr, "rematrix_maxval", 1.0, 0) < 0)
        return bl_error_memory(e);
    return BL_OK;
}

static int swr_begin(struct bl_resampler *r, int from, struct bl_error *e)
{
    int code = r->from == from ? BL_OK : swr_open(r, from, e);
    if (code)
        return code;
    code = swr_init(r->swr); /* resets it, and keeps the filter */
    if (code == AVERROR(ENOMEM))
        return bl_error_memory(e);
    return code < 0 ? bl_error_set(e, BL_EDATA, "its rate cannot be changed") : BL_OK;
}

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

/* The mirror image of the last samples stands for those that would follow. */
static int swr_end(struct bl_resampler *r, const float *tail, int count, int64_t length, struct bl_buffer *out,
                   struct bl_error *e)
{
    int wide = bl_resampler_reach(r, r->from), channels = r->channels;
    float *mirror = malloc((size_t)wide * (size_t)channels * sizeof *mirror);
    if (!mirror)
        return bl_error_memory(e);
    for (int i = 0; i < wide; i++) {
        int phase = i % (2 * count), back = phase < count ? count - 1 - phase : phase - count;
        memcpy(mirror + i * channels, tail + back * channels, (size_t)channels * sizeof *mirror);
    }
    int code = BL_OK;
    while (!code && r->emitted < length)
        code = swr_push(r, mirror, wide, out, e);
    free(mirror);
    return code;
}

/* --- soxr ------------------------------------------------------------------------------------------------------- */

static int sox_begin(struct bl_resampler *r, int from, struct bl_error *e)
{
    soxr_io_spec_t io = soxr_io_spec(SOXR_FLOAT32_I, r->floats ? SOXR_FLOAT32_I : SOXR_INT16_I);
    soxr_quality_spec_t quality = soxr_quality_spec(SOXR_HQ, SOXR_ROLLOFF_NONE | SOXR_HI_PREC_CLOCK);
    soxr_runtime_spec_t runtime = soxr_runtime_spec(1);
    io.flags |= SOXR_NO_DITHER;
    if (r->from == from)
        return soxr_clear(r->soxr) ? bl_error_memory(e) : BL_OK;
    soxr_delete(r->soxr);
    soxr_error_t fault;
    r->soxr = soxr_create(from, r->to, (unsigned)r->channels, &fault, &io, &quality, &runtime);
    return r->soxr ? BL_OK : bl_error_memory(e); /* rates and channels are within its bounds */
}

/* in NULL: the end. */
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

/* Ends a signal. soxr gives as many samples as the nearest whole number says; behind a few zeros they are enough. */
static int sox_end(struct bl_resampler *r, int64_t length, struct bl_buffer *out, struct bl_error *e)
{
    if (r->emitted >= length)
        return BL_OK;
    size_t zeros = (size_t)(r->from / r->to) + 1;
    float *silence = calloc(zeros * (size_t)r->channels, sizeof *silence);
    if (!silence)
        return bl_error_memory(e);
    int code = sox_push(r, silence, zeros, out, e);
    free(silence);
    return code ? code : sox_push(r, NULL, 0, out, e);
}

/* --- either ----------------------------------------------------------------------------------------------------- */

int bl_resampler_begin(struct bl_resampler *r, int from, struct bl_error *e)
{
    r->emitted = 0;
    int code = r->engine == BL_RESAMPLER_SWR ? swr_begin(r, from, e) : sox_begin(r, from, e);
    r->from = code ? 0 : from;
    return code;
}

int bl_resampler_push(struct bl_resampler *r, const float *in, int count, struct bl_buffer *out, struct bl_error *e)
{
    return r->engine == BL_RESAMPLER_SWR ? swr_push(r, in, count, out, e) : sox_push(r, in, (size_t)count, out, e);
}

int bl_resampler_end(struct bl_resampler *r, const float *tail, int count, int64_t length, struct bl_buffer *out,
                     struct bl_error *e)
{
    int code = r->engine == BL_RESAMPLER_SWR ? swr_end(r, tail, count, length, out, e) : sox_end(r, length, out, e);
    int64_t over = r->emitted - length;
    if (over > 0)
        out->size -= (size_t)over * r->step_bytes;
    return code;
}
