#include "kind/audio/trim.h"

#include <string.h>

#define SEEK_SECONDS 2 /* less is decoded */

int bl_trim_open(struct bl_trim *w, const char *path, int64_t bytes, int stream, const struct bl_cancel *cancel,
                 struct bl_error *e)
{
    *w = (struct bl_trim){.path = path, .bytes = bytes, .stream = stream, .cancel = cancel, .cut = bl_cut_whole};
    w->ahead = av_frame_alloc();
    int code = w->ahead ? bl_audio_decoder_open(&w->sound, path, bytes, stream, cancel, e) : bl_error_memory(e);
    if (code)
        av_frame_free(&w->ahead);
    return code;
}

void bl_trim_close(struct bl_trim *w)
{
    bl_audio_decoder_close(&w->sound);
    av_frame_free(&w->ahead);
}

void bl_trim_set(struct bl_trim *w, const struct bl_cut *cut, bool damaged)
{
    w->cut = *cut;
    w->no_seek = damaged;
    w->located = false;
}

static void trim_drop_frame(struct bl_trim *w)
{
    av_frame_unref(w->ahead);
    w->used = 0;
}

/* Makes a frame ready, when there is none: 1, 0 at the end, or a code. */
static int trim_decode_frame(struct bl_trim *w, struct bl_error *e)
{
    return w->ahead->nb_samples ? 1 : bl_audio_decoder_next(&w->sound, w->ahead, e);
}

static int trim_reopen(struct bl_trim *w, struct bl_error *e)
{
    trim_drop_frame(w);
    bl_audio_decoder_close(&w->sound);
    w->position = 0;
    w->seeked = false;
    return bl_audio_decoder_open(&w->sound, w->path, w->bytes, w->stream, w->cancel, e);
}

/* Goes to the cut's beginning, or somewhere before it; decoding does the rest. */
static int trim_seek(struct bl_trim *w, struct bl_error *e)
{
    bool behind = w->begin < w->position;
    int64_t at, near = (int64_t)w->sound.rate * SEEK_SECONDS;
    if (w->no_seek)
        return behind || w->seeked ? trim_reopen(w, e) : BL_OK;
    if (!behind && w->begin - w->position <= near)
        return BL_OK;
    if (!bl_audio_decoder_can_seek(&w->sound))
        return behind ? trim_reopen(w, e) : BL_OK;
    int seeked = bl_audio_decoder_seek(&w->sound, w->begin, &at, e);
    if (seeked <= 0)
        return seeked < 0 ? seeked : trim_reopen(w, e);
    trim_drop_frame(w);
    w->position = at;
    w->seeked = true;
    return BL_OK;
}

/* Tells begin and end, once the rate is known, and goes there. */
static int trim_locate(struct bl_trim *w, struct bl_error *e)
{
    bool whole = bl_cut_is_whole(&w->cut);
    w->located = true;
    w->begin = 0;
    w->end = INT64_MAX;
    if (!whole)
        bl_cut_range(&w->cut, w->sound.rate, &w->begin, &w->end);
    return trim_seek(w, e);
}

/* Moves the frame's data on by some samples. */
static void frame_skip_samples(AVFrame *frame, int samples)
{
    enum AVSampleFormat format = (enum AVSampleFormat)frame->format;
    bool planar = av_sample_fmt_is_planar(format);
    int channels = frame->ch_layout.nb_channels, planes = planar ? channels : 1;
    size_t bytes = (size_t)samples * (size_t)av_get_bytes_per_sample(format) * (size_t)(planar ? 1 : channels);
    for (int p = 0; p < planes; p++) {
        frame->extended_data[p] += bytes;
        if (p < AV_NUM_DATA_POINTERS && frame->extended_data != frame->data)
            frame->data[p] += bytes;
    }
    frame->nb_samples -= samples;
}

/* Leaves one channel of the frame. */
static int frame_select_channel(AVFrame *frame, int channel, struct bl_error *e)
{
    enum AVSampleFormat format = (enum AVSampleFormat)frame->format;
    int channels = frame->ch_layout.nb_channels;
    size_t size = (size_t)av_get_bytes_per_sample(format), step = size * (size_t)channels;
    if (channel >= channels)
        return bl_error_set(e, BL_EDATA, "channel %d is wanted, and there are %d", channel, channels);
    if (channels == 1)
        return BL_OK;
    if (av_sample_fmt_is_planar(format)) {
        frame->data[0] = frame->extended_data[channel];
        frame->extended_data[0] = frame->data[0];
    } else {
        if (av_frame_make_writable(frame) < 0)
            return bl_error_memory(e);
        for (int i = 0; i < frame->nb_samples; i++)
            memmove(frame->data[0] + (size_t)i * size, frame->data[0] + (size_t)i * step + (size_t)channel * size,
                    size);
    }
    av_channel_layout_uninit(&frame->ch_layout);
    av_channel_layout_default(&frame->ch_layout, 1);
    return BL_OK;
}

/* What of the frame ahead belongs to the cut, which has begun and not ended. */
static int trim_emit(struct bl_trim *w, AVFrame *frame, struct bl_error *e)
{
    int left = w->ahead->nb_samples - w->used;
    int64_t wanted = w->end - w->position;
    int count = wanted < left ? (int)wanted : left;
    if (w->used == 0 && count == left) {
        av_frame_move_ref(frame, w->ahead);
    } else {
        if (av_frame_ref(frame, w->ahead) < 0)
            return bl_error_memory(e);
        frame_skip_samples(frame, w->used);
        frame->nb_samples = count;
        w->used += count;
    }
    w->position += count;
    if (w->used == w->ahead->nb_samples)
        trim_drop_frame(w);
    int code = w->cut.channel >= 0 ? frame_select_channel(frame, w->cut.channel, e) : BL_OK;
    return code ? code : 1;
}

/* Sees to it that the cut is located: 1, 0 where there is no sound at all, or a code. */
static int trim_begin(struct bl_trim *w, struct bl_error *e)
{
    if (w->located)
        return 1;
    int code = w->sound.rate ? 1 : trim_decode_frame(w, e);
    if (code == 1 && (code = trim_locate(w, e)) == BL_OK)
        return 1;
    return code;
}

int bl_trim_next(struct bl_trim *w, AVFrame *frame, struct bl_error *e)
{
    int code = trim_begin(w, e);
    while (code == 1 && w->position < w->end && (code = trim_decode_frame(w, e)) == 1) {
        int left = w->ahead->nb_samples - w->used;
        if (w->position + left <= w->begin) {
            w->position += left;
            trim_drop_frame(w);
            continue;
        }
        if (w->position < w->begin) {
            w->used += (int)(w->begin - w->position);
            w->position = w->begin;
        }
        return trim_emit(w, frame, e);
    }
    return code == 1 ? 0 : code;
}
