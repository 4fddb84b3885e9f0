#include "kind/audio/marks.h"

#include <inttypes.h>
#include <libavutil/mathematics.h>
#include <libavutil/samplefmt.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/text.h"
#include "kind/input_stat.h"
#include "kind/media/compat.h"

/* --- frames ------------------------------------------------------------------------------------------------------- */

void bl_frame_drop_first(AVFrame *frame, int samples)
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

int bl_frame_silence(AVFrame *frame, const AVFrame *like, int samples, struct bl_error *e)
{
    frame->format = like->format;
    frame->sample_rate = like->sample_rate;
    frame->nb_samples = samples;
    if (av_channel_layout_copy(&frame->ch_layout, &like->ch_layout) < 0 || av_frame_get_buffer(frame, 0) < 0)
        return bl_error_memory(e);
    av_samples_set_silence(frame->extended_data, 0, samples, like->ch_layout.nb_channels,
                           (enum AVSampleFormat)like->format);
    return BL_OK;
}

/* --- gaps in timestamps ------------------------------------------------------------------------------------------- */

void bl_gaps_begin(struct bl_gaps *t, struct bl_rational limit, AVRational base)
{
    *t = (struct bl_gaps){.limit = limit, .base = base, .anchor = AV_NOPTS_VALUE, .last = AV_NOPTS_VALUE};
}

void bl_gaps_seek(struct bl_gaps *t, int64_t first, int64_t samples)
{
    t->anchor = first;
    t->counted = samples;
    t->cutting = 0;
}

int64_t bl_gaps_events(const struct bl_gaps *t)
{
    return t->gaps + t->overlaps + t->jumps;
}

static void gaps_set_rate(struct bl_gaps *t, int rate)
{
    if (t->rate && t->rate != rate) {
        t->counted = av_rescale(t->counted, rate, t->rate);
        t->cutting = av_rescale(t->cutting, rate, t->rate);
    }
    t->rate = rate;
}

/* By how many samples the frame is late. */
static int64_t gaps_find_delay(const struct bl_gaps *t, const AVFrame *frame)
{
    int64_t since = av_sat_sub64(frame->pts, t->anchor);
    int64_t place = av_rescale_q(since, t->base, (AVRational){1, frame->sample_rate});
    return place == INT64_MIN ? INT64_MAX : av_sat_sub64(place, t->counted);
}

/* Notes a delay that counts. Returns how much of it is to be filled or cut now. */
static int64_t gaps_follow(struct bl_gaps *t, const AVFrame *frame, int64_t delay)
{
    int64_t rate = frame->sample_rate;
    if (delay > BL_GAPS_AHEAD * rate || delay < -BL_GAPS_BACK * rate) {
        t->jumps++;
        t->anchor = frame->pts;
        t->counted = 0;
        return 0;
    }
    if (delay > 0) {
        t->gaps++;
        t->filled += (double)delay / (double)rate;
        return delay;
    }
    t->overlaps++;
    t->cutting = -delay;
    return 0;
}

static int64_t gaps_cut(struct bl_gaps *t, const AVFrame *frame)
{
    int64_t cut = t->cutting < frame->nb_samples ? t->cutting : frame->nb_samples;
    t->cutting -= cut;
    t->cut += (double)cut / frame->sample_rate;
    return cut;
}

int64_t bl_gaps_place(struct bl_gaps *t, const AVFrame *frame)
{
    if (!t->limit.num)
        return 0;
    gaps_set_rate(t, frame->sample_rate);
    bool known = frame->pts != AV_NOPTS_VALUE && frame->pts != t->last; /* some files repeat them */
    t->last = frame->pts;
    if (t->anchor == AV_NOPTS_VALUE && known) {
        t->anchor = frame->pts;
        t->counted = 0;
    }
    int64_t place = 0, delay = known ? gaps_find_delay(t, frame) : 0;
    int64_t limit = av_rescale(frame->sample_rate, t->limit.num, t->limit.den);
    if (t->cutting && known)
        delay = av_sat_add64(delay, t->cutting); /* what is known already */
    if (delay > limit || delay < -limit)
        place = gaps_follow(t, frame, delay);
    int64_t cut = gaps_cut(t, frame);
    t->counted += place + frame->nb_samples - cut;
    return place > 0 ? place : -cut;
}

/* --- marks -------------------------------------------------------------------------------------------------------- */

#define SPANS 2 /* between marks, in a second at most */

/* Marks before the wanted one at which decoding begins: a second, in which mp3 has 38 frames, AAC 43. */
#define LEAD 2

#define NUMBERS 5 /* before the checksum */

void bl_marks_free(struct bl_marks *m)
{
    free(m->mark);
    XXH3_freeState(m->state);
    *m = (struct bl_marks){0};
}

/* Adds the samples of a frame to the checksum. */
static void marks_hash_frame(XXH3_state_t *state, const AVFrame *frame)
{
    enum AVSampleFormat format = (enum AVSampleFormat)frame->format;
    bool planar = av_sample_fmt_is_planar(format);
    int channels = frame->ch_layout.nb_channels, planes = planar ? channels : 1;
    size_t bytes =
        (size_t)frame->nb_samples * (size_t)av_get_bytes_per_sample(format) * (size_t)(planar ? 1 : channels);
    for (int p = 0; p < planes; p++)
        XXH3_64bits_update(state, frame->extended_data[p], bytes);
}

void bl_marks_end(struct bl_marks *m)
{
    if (m->count)
        m->mark[m->count - 1].hash = XXH3_64bits_digest(m->state);
}

int bl_marks_add(struct bl_marks *m, const AVFrame *frame, struct bl_error *e)
{
    if (!m->state && !(m->state = XXH3_createState()))
        return bl_error_memory(e);
    int64_t position = bl_compat_position(frame);
    bool due = !m->count || m->end - m->mark[m->count - 1].sample >= frame->sample_rate / SPANS;
    if (due && position >= 0 && (!m->count || position != m->position)) {
        bl_marks_end(m);
        if (BL_ARRAY_RESERVE(m->mark, m->capacity, m->count + 1, e))
            return BL_EFAIL;
        m->mark[m->count++] = (struct bl_mark){.position = position, .time = frame->pts, .sample = m->end};
        XXH3_64bits_reset(m->state);
    }
    if (m->count)
        marks_hash_frame(m->state, frame);
    m->end += frame->nb_samples;
    m->position = position;
    return BL_OK;
}

/* --- points ----------------------------------------------------------------------------------------------------- */

/* The checksum of several spans is that of theirs. */
static uint64_t marks_hash(const struct bl_marks *m, size_t first, size_t behind)
{
    uint64_t hash = 0;
    for (size_t i = first; i < behind; i++) {
        const uint64_t both[2] = {hash, m->mark[i].hash};
        hash = XXH3_64bits(both, sizeof both);
    }
    return hash;
}

void bl_sound_point_make(struct bl_sound_point *point, const struct bl_marks *m, int64_t begin, int64_t end)
{
    size_t first = 0, behind;
    *point = (struct bl_sound_point){0};
    while (first + 1 < m->count && m->mark[first + 1].sample <= begin)
        first++;
    for (behind = first + 1; behind < m->count && m->mark[behind].sample < end;)
        behind++;
    if (first <= LEAD)
        return;
    const struct bl_mark *lead = &m->mark[first - LEAD], *mark = &m->mark[first];
    *point = (struct bl_sound_point){.position = lead->position,
                                     .time = lead->time,
                                     .mark = mark->position,
                                     .sample = mark->sample,
                                     .end = behind < m->count ? m->mark[behind].sample : m->end,
                                     .hash = marks_hash(m, first, behind)};
}

bool bl_sound_point_is_met(const struct bl_sound_point *point, struct bl_marks *m)
{
    bl_marks_end(m);
    return m->count && m->mark[0].sample == point->sample && m->end == point->end &&
           marks_hash(m, 0, m->count) == point->hash;
}

void bl_sound_point_format(const struct bl_sound_point *point, struct bl_buffer *out)
{
    if (!point->end)
        return;
    bl_buffer_printf(out, "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " ", point->position, point->time,
                     point->mark, point->sample, point->end);
    bl_content_format(point->hash, out);
}

bool bl_sound_point_parse(struct bl_sound_point *point, const char *text)
{
    int64_t number[NUMBERS];
    uint64_t hash;
    *point = (struct bl_sound_point){0};
    if (!text || !*text)
        return true;
    for (int n = 0; n < NUMBERS; n++) {
        size_t size = strcspn(text, " ");
        if (!bl_text_to_int(text, size, INT64_MIN, INT64_MAX, &number[n]) || text[size] != ' ')
            return false;
        text += size + 1;
    }
    if (!*text || !bl_content_parse(text, &hash) || number[0] < 0 || number[2] < number[0] || number[3] < 0 ||
        number[4] <= number[3])
        return false;
    *point = (struct bl_sound_point){.position = number[0],
                                     .time = number[1],
                                     .mark = number[2],
                                     .sample = number[3],
                                     .end = number[4],
                                     .hash = hash};
    return true;
}
