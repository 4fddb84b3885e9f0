/* Works on decoded frames of sound: drops their first samples, compares their timestamps with the count of samples, and
 * notes the places of a recording at which decoding may begin. marks.h explains the three parts. */
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

int64_t bl_gaps_place(struct bl_gaps *t, const AVFrame *frame)
{
    int rate = frame->sample_rate, samples = frame->nb_samples;
    if (!t->limit.num)
        return 0;
    if (t->rate && t->rate != rate) {
        t->counted = av_rescale(t->counted, rate, t->rate);
        t->cutting = av_rescale(t->cutting, rate, t->rate);
    }
    t->rate = rate;
    bool known = frame->pts != AV_NOPTS_VALUE && frame->pts != t->last; /* some files repeat them */
    t->last = frame->pts;
    if (t->anchor == AV_NOPTS_VALUE && known) {
        t->anchor = frame->pts;
        t->counted = 0;
    }
    int64_t delay = 0, limit = av_rescale(rate, t->limit.num, t->limit.den), missing = 0;
    if (known) {
        int64_t at = av_rescale_q(av_sat_sub64(frame->pts, t->anchor), t->base, (AVRational){1, rate});
        delay = at == INT64_MIN ? INT64_MAX : av_sat_sub64(at, t->counted); /* av_rescale_q reports an overflow so */
        delay = t->cutting ? av_sat_add64(delay, t->cutting) : delay;       /* that part is known already */
    }
    bool late = delay > limit, early = delay < -limit;
    if ((late && delay > BL_GAPS_AHEAD * (int64_t)rate) || (early && delay < -BL_GAPS_BACK * (int64_t)rate)) {
        t->jumps++;
        t->anchor = frame->pts;
        t->counted = 0;
    } else if (late) {
        t->gaps++;
        t->filled += (double)delay / rate;
        missing = delay;
    } else if (early) {
        t->overlaps++;
        t->cutting = -delay; /* from this frame and the next ones */
    }
    int64_t cut = t->cutting < samples ? t->cutting : samples;
    t->cutting -= cut;
    t->cut += (double)cut / rate;
    t->counted += missing + samples - cut;
    return missing > 0 ? missing : -cut;
}

/* --- marks -------------------------------------------------------------------------------------------------------- */

#define SPANS 2 /* from mark to mark, in a second at most */

/* Decoding begins so many marks before the wanted one: a second, in which mp3 has 38 frames, AAC 43. */
#define LEAD 2

void bl_marks_free(struct bl_marks *m)
{
    free(m->mark);
    XXH3_freeState(m->state);
    *m = (struct bl_marks){0};
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
    if (m->count) {
        enum AVSampleFormat format = (enum AVSampleFormat)frame->format;
        bool planar = av_sample_fmt_is_planar(format);
        int channels = frame->ch_layout.nb_channels, planes = planar ? channels : 1;
        size_t steps = (size_t)frame->nb_samples * (size_t)(planar ? 1 : channels);
        for (int p = 0; p < planes; p++)
            XXH3_64bits_update(m->state, frame->extended_data[p], steps * (size_t)av_get_bytes_per_sample(format));
    }
    m->end += frame->nb_samples;
    m->position = position;
    return BL_OK;
}

/* Returns the checksum of the spans from the mark `first` up to the mark `behind`: the hash of all their hashes. */
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

bool bl_sound_point_matches(const struct bl_sound_point *point, struct bl_marks *m)
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
    enum { NUMBERS = 5 }; /* before the checksum, as bl_sound_point_format writes them */
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
