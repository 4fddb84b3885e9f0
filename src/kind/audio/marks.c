#include "kind/audio/marks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "kind/content.h"
#include "kind/media/compat.h"

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
