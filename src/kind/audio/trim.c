/* Hands out the frames of one cut of a recording after the other.
 *
 * trim_seek decides how the next cut is reached: decoding goes on if the cut lies ahead and near, seeks where that
 * gives the same samples, resumes at the cut's point, or begins again. bl_trim_next then drops what lies before the
 * cut. */
#include "kind/audio/trim.h"

#include <string.h>

#include "kind/audio/marks.h"

#define SEEK_SECONDS 2 /* nearer places are reached by decoding, which is faster than seeking */

int bl_trim_open(struct bl_trim *t, const char *path, int64_t bytes, int stream, struct bl_rational gap,
                 const struct bl_kind_env *env, struct bl_error *e)
{
    *t = (struct bl_trim){.path = path, .bytes = bytes, .stream = stream, .gap = gap, .env = env, .cut = bl_cut_whole};
    t->frame = av_frame_alloc();
    int code = t->frame ? bl_audio_decoder_open(&t->decoder, path, bytes, stream, gap, env, e) : bl_error_memory(e);
    if (code)
        av_frame_free(&t->frame);
    return code;
}

void bl_trim_close(struct bl_trim *t)
{
    bl_audio_decoder_close(&t->decoder);
    bl_marks_free(&t->check);
    av_frame_free(&t->frame);
}

void bl_trim_set(struct bl_trim *t, const struct bl_cut *cut, bool damaged)
{
    t->cut = *cut;
    t->no_seek = damaged;
    t->located = false;
    t->point = (struct bl_sound_point){0};
}

void bl_trim_set_point(struct bl_trim *t, const struct bl_sound_point *point)
{
    t->point = point ? *point : (struct bl_sound_point){0};
}

/* --- going to the cut ------------------------------------------------------------------------------------------- */

/* Drops the decoded frame. */
static void trim_drop_frame(struct bl_trim *t)
{
    av_frame_unref(t->frame);
    t->used = 0;
}

/* Decodes the next frame unless one is left; *got is false at the end. After a point, it adds the frame to those that
 * are checked. Padding after the end, which only decoding from the beginning cuts off, is not checked. */
static int trim_decode_frame(struct bl_trim *t, bool *got, struct bl_error *e)
{
    *got = t->frame->nb_samples > 0;
    if (*got)
        return BL_OK;
    BL_TRY(bl_audio_decoder_next(&t->decoder, t->frame, got, e));
    int64_t left = t->point.end - t->position;
    if (!*got || !t->resumed || t->position < t->point.sample || left <= 0)
        return BL_OK;
    int count = t->frame->nb_samples;
    t->frame->nb_samples = left < count ? (int)left : count;
    int code = bl_marks_add(&t->check, t->frame, e);
    t->frame->nb_samples = count;
    return code;
}

/* Opens the recording again, at its beginning. */
static int trim_reopen(struct bl_trim *t, struct bl_error *e)
{
    trim_drop_frame(t);
    bl_audio_decoder_close(&t->decoder);
    t->position = 0;
    t->seeked = t->resumed = false;
    return bl_audio_decoder_open(&t->decoder, t->path, t->bytes, t->stream, t->gap, t->env, e);
}

/* Goes to the cut's beginning or before it; decoding does the rest. */
static int trim_seek(struct bl_trim *t, struct bl_error *e)
{
    bool behind = t->begin < t->position, exact = bl_audio_decoder_can_seek(&t->decoder), found;
    int64_t at, near = (int64_t)t->decoder.rate * SEEK_SECONDS;
    if (t->no_seek)
        return behind || t->seeked ? trim_reopen(t, e) : BL_OK;
    if (!behind && t->begin - t->position <= near) {
        if (!t->resumed)
            return BL_OK;
        /* A point led here: the frames are checked from this cut's point on, which decoding has not passed yet. */
        int64_t next = t->position + t->frame->nb_samples - t->used;
        bl_marks_free(&t->check);
        t->check.end = t->point.sample;
        if (t->point.end && next <= t->point.sample)
            return BL_OK;
    }
    if (!exact && !t->point.end)
        return behind || t->resumed ? trim_reopen(t, e) : BL_OK;
    BL_TRY(exact ? bl_audio_decoder_seek(&t->decoder, t->begin, &at, &found, e)
                 : bl_audio_decoder_resume(&t->decoder, &t->point, &found, e));
    if (!found)
        return trim_reopen(t, e);
    trim_drop_frame(t);
    if (!exact) {
        bl_marks_free(&t->check);
        t->check.end = t->point.sample;
    }
    t->position = exact ? at : t->point.sample;
    t->seeked = true;
    t->resumed = !exact;
    return BL_OK;
}

/* --- frames ----------------------------------------------------------------------------------------------------- */

/* Keeps the chosen channels of samples that lie side by side. The choice may have as many channels as the frame, in
 * another order, so that each step is read before it is written. size: bytes of a sample. */
static void interleaved_keep(AVFrame *frame, const struct bl_channel_list *chosen, size_t size)
{
    uint8_t one[BL_CHANNEL_LIST_MAX * sizeof(double)], *out = frame->data[0];
    const uint8_t *in = frame->data[0];
    const size_t step = size * (size_t)frame->ch_layout.nb_channels, kept = size * (size_t)chosen->count;
    for (int i = 0; i < frame->nb_samples; i++, in += step, out += kept) {
        for (int c = 0; c < chosen->count; c++)
            memcpy(one + (size_t)c * size, in + chosen->number[c] * size, size);
        memcpy(out, one, kept);
    }
}

/* Keeps the chosen channels of the frame, in their order. One or two have the usual layout of so many channels, and
 * more have none. BL_EDATA: the frame does not have them. */
static int frame_keep_channels(AVFrame *frame, const struct bl_channel_list *chosen, struct bl_error *e)
{
    enum AVSampleFormat format = (enum AVSampleFormat)frame->format;
    int channels = frame->ch_layout.nb_channels, highest = bl_channel_list_highest(chosen);
    uint8_t *plane[BL_CHANNEL_LIST_MAX];
    if (highest >= channels)
        return bl_error_set(e, BL_EDATA, "channel %d is wanted, and there are %d", highest, channels);
    if (channels == 1)
        return BL_OK;
    if (av_sample_fmt_is_planar(format)) {
        for (int c = 0; c < chosen->count; c++)
            plane[c] = frame->extended_data[chosen->number[c]];
        for (int c = 0; c < chosen->count; c++) {
            frame->extended_data[c] = plane[c];
            if (c < AV_NUM_DATA_POINTERS)
                frame->data[c] = plane[c];
        }
    } else {
        if (av_frame_make_writable(frame) < 0)
            return bl_error_memory(e);
        interleaved_keep(frame, chosen, (size_t)av_get_bytes_per_sample(format));
    }
    av_channel_layout_uninit(&frame->ch_layout);
    if (chosen->count <= 2)
        av_channel_layout_default(&frame->ch_layout, chosen->count);
    else
        frame->ch_layout = (AVChannelLayout){.order = AV_CHANNEL_ORDER_UNSPEC, .nb_channels = chosen->count};
    return BL_OK;
}

int bl_trim_next(struct bl_trim *t, AVFrame *frame, bool *got, struct bl_error *e)
{
    *got = true;
    if (!t->located && !t->decoder.rate) { /* the first frame tells the rate */
        BL_TRY(trim_decode_frame(t, got, e));
    }
    if (!*got)
        return BL_OK;
    if (!t->located) {
        t->located = true;
        t->begin = 0;
        t->end = INT64_MAX;
        if (!bl_cut_is_whole(&t->cut))
            bl_cut_range(&t->cut, t->decoder.rate, &t->begin, &t->end);
        BL_TRY(trim_seek(t, e));
    }
    while (t->position < t->end) {
        BL_TRY(trim_decode_frame(t, got, e));
        if (!*got)
            return BL_OK;
        int left = t->frame->nb_samples - t->used;
        if (t->position + left <= t->begin) {
            t->position += left;
            trim_drop_frame(t);
            continue;
        }
        if (t->position < t->begin) {
            t->used += (int)(t->begin - t->position);
            t->position = t->begin;
        }
        break;
    }
    *got = t->position < t->end;
    if (!*got)
        return BL_OK;
    /* Hands out the part of the decoded frame that belongs to the cut. */
    int left = t->frame->nb_samples - t->used, count = t->end - t->position < left ? (int)(t->end - t->position) : left;
    if (t->used == 0 && count == left) {
        av_frame_move_ref(frame, t->frame);
    } else {
        if (av_frame_ref(frame, t->frame) < 0)
            return bl_error_memory(e);
        bl_frame_drop_first(frame, t->used);
        frame->nb_samples = count;
        t->used += count;
    }
    t->position += count;
    if (t->used == t->frame->nb_samples)
        trim_drop_frame(t);
    return t->cut.channels.count ? frame_keep_channels(frame, &t->cut.channels, e) : BL_OK;
}

int bl_trim_verify(struct bl_trim *t, bool *exact, struct bl_error *e)
{
    *exact = true;
    if (!t->resumed)
        return BL_OK;
    for (bool got = true; got && t->check.end < t->point.end;) {
        t->position += t->frame->nb_samples - t->used;
        trim_drop_frame(t);
        BL_TRY(trim_decode_frame(t, &got, e));
    }
    *exact = bl_sound_point_matches(&t->point, &t->check);
    return BL_OK;
}
