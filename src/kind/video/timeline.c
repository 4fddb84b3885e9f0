#include "kind/video/timeline.h"

#include <libavutil/avutil.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/buffer.h"
#include "kind/media/compat.h"
#include "kind/media/demux.h"
#include "kind/video/bitstream.h"
#include "kind/video/peek.h"

/* --- timestamps --------------------------------------------------------------------------------------------------- */

/* BL_EFAIL: out of memory. */
static int timestamps_add(struct bl_timestamps *t, int64_t time, struct bl_error *e)
{
    if (BL_ARRAY_RESERVE(t->time, t->capacity, t->count + 1, e))
        return BL_EFAIL;
    t->time[t->count++] = time;
    return BL_OK;
}

static int time_compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Sorts them in ascending order; *distinct: no two are equal. */
static void timestamps_sort(struct bl_timestamps *t, bool *distinct)
{
    *distinct = true;
    if (t->count == 0)
        return;
    qsort(t->time, t->count, sizeof *t->time, time_compare);
    for (size_t i = 1; i < t->count; i++)
        *distinct = *distinct && t->time[i] != t->time[i - 1];
}

static bool timestamps_find(const struct bl_timestamps *t, int64_t time, size_t *index)
{
    const int64_t *found = t->count ? bsearch(&time, t->time, t->count, sizeof *t->time, time_compare) : NULL;
    if (found)
        *index = (size_t)(found - t->time);
    return found;
}

static void timestamps_free(struct bl_timestamps *t)
{
    free(t->time);
    *t = (struct bl_timestamps){0};
}

/* --- clock -------------------------------------------------------------------------------------------------------- */

int64_t bl_frame_time(const AVFrame *frame)
{
    return frame->best_effort_timestamp;
}

void bl_clock_note(struct bl_clock *clock, const AVFrame *frame, int64_t before)
{
    int64_t time = bl_frame_time(frame);
    if (clock->origin != AV_NOPTS_VALUE || time == AV_NOPTS_VALUE)
        return;
    int64_t past; /* a damaged file may claim any time */
    if (__builtin_mul_overflow(before, FFMAX(bl_compat_duration(frame), 0), &past) ||
        __builtin_sub_overflow(time, past, &clock->origin))
        clock->origin = time;
}

double bl_clock_seconds(const struct bl_clock *clock, int64_t time)
{
    if (time == AV_NOPTS_VALUE || clock->origin == AV_NOPTS_VALUE)
        return 0;
    int64_t since;
    if (__builtin_sub_overflow(time, clock->origin, &since))
        return 0;
    return (double)since * av_q2d(clock->tick);
}

/* --- packet index ------------------------------------------------------------------------------------------------- */

/* A suspicious file is decoded, which only costs time: whatever is in doubt makes it suspicious. */

/* Seconds by which the data may end before the declared duration. */
#define END_TOLERANCE 0.5

/* Packets after a marked one by which the next recording has begun, with a keyframe. */
#define SPLICE 2

/* Transport streams mark packets that lack parts, and one of the last before a splice. */
static void packet_index_note_loss(struct bl_packet_index *index, const AVPacket *packet)
{
    if (packet->flags & AV_PKT_FLAG_KEY)
        index->marked = 0;
    else if (index->marked > 0)
        index->incomplete += --index->marked == 0;
    else if (packet->flags & AV_PKT_FLAG_CORRUPT)
        index->marked = SPLICE;
}

static int packet_index_add(struct bl_packet_index *index, struct bl_peek *peek, const AVPacket *packet,
                            bool want_times, struct bl_error *e)
{
    int frames = bl_peek_packet(peek, packet);
    packet_index_note_loss(index, packet);
    if (packet->flags & AV_PKT_FLAG_DISCARD || frames == 0)
        return BL_OK;
    index->frames += frames;
    index->transfers |= peek->tags.transfer < 32 ? UINT32_C(1) << peek->tags.transfer : 0;
    index->matrices |= peek->tags.matrix < 32 ? UINT32_C(1) << peek->tags.matrix : 0;
    int64_t start = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
    bool known = start != AV_NOPTS_VALUE && packet->duration >= 0 && packet->duration < INT64_MAX - FFMAX(start, 0);
    if (known && start >= index->last) {
        index->last = start;
        index->end = start + packet->duration;
    }
    if (!want_times)
        return BL_OK;
    index->suspicious = index->suspicious || packet->pts == AV_NOPTS_VALUE || packet->duration <= 0 || frames > 1;
    return timestamps_add(&index->shown, packet->pts, e);
}

/* Of interlaced video each packet may hold one field; two of them make a frame. */
static bool stream_is_field(const AVStream *stream)
{
    const AVCodecParserContext *parser = av_stream_get_parser(stream);
    return parser && (parser->picture_structure == AV_PICTURE_STRUCTURE_TOP_FIELD ||
                      parser->picture_structure == AV_PICTURE_STRUCTURE_BOTTOM_FIELD);
}

/* Seconds by the container's header, or 0 if it does not say. */
static double container_duration(const struct bl_demux *d)
{
    const AVFormatContext *format = d->format;
    if (format->duration == AV_NOPTS_VALUE || format->duration <= 0)
        return 0;
    if (d->probed && format->duration_estimation_method != AVFMT_DURATION_FROM_STREAM)
        return 0;
    return (double)format->duration / AV_TIME_BASE;
}

/* Raises *present to the end of the longest stream, in seconds: the video may be shorter than the audio. */
static int file_duration(const struct bl_demux *indexed, AVPacket *packet, double *present, struct bl_error *e)
{
    struct bl_demux d;
    int code = bl_demux_open(&d, indexed->file.path, indexed->file.bytes, indexed->stream->index, BL_DEMUX_COUNT,
                             indexed->env, e);
    if (code)
        return code;
    bl_demux_read_all_streams(&d);
    for (;;) {
        bool got;
        code = bl_demux_next(&d, packet, &got, e);
        if (code || !got)
            break;
        int64_t start = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
        AVRational tick = d.format->streams[packet->stream_index]->time_base;
        if (start != AV_NOPTS_VALUE)
            *present = FFMAX(*present, ((double)start + (double)packet->duration) * av_q2d(tick));
    }
    bl_demux_close(&d);
    return code;
}

/* The packets of a transport stream all have one of three sizes. */
static bool transport_is_truncated(const struct bl_demux *d)
{
    return bl_demux_is_transport(d) && d->file.bytes % 188 && d->file.bytes % 192 && d->file.bytes % 204;
}

/* If the header lists all packets, their number and the file's size show whether data is missing; otherwise the
 * duration does. */
static int packet_index_check_end(struct bl_packet_index *index, const struct bl_demux *d, int64_t packets,
                                  AVPacket *packet, struct bl_error *e)
{
    BL_TRY(bl_truncation_find_second(d, &index->second, e));
    index->joined = index->joined || bl_truncation_is_joined(d);
    index->suspicious =
        index->suspicious || index->joined || index->second || d->end_error || transport_is_truncated(d);
    index->listed = d->stream->nb_frames;
    if (index->listed > 0) {
        index->suspicious = index->suspicious || index->listed != packets;
        index->truncated = index->listed > packets && bl_truncation_detect(d);
        return BL_OK;
    }
    index->truncated = bl_demux_is_matroska(d) && bl_truncation_detect(d);
    index->declared = container_duration(d);
    index->present = (double)index->end * av_q2d(d->stream->time_base);
    if (index->declared == 0 || index->present + END_TOLERANCE >= index->declared)
        return BL_OK;
    int code = file_duration(d, packet, &index->present, e);
    index->too_short = index->present + END_TOLERANCE < index->declared;
    return code;
}

static int packet_index_read(struct bl_packet_index *index, struct bl_demux *d, bool want_times, AVPacket *packet,
                             struct bl_error *e)
{
    struct bl_peek peek;
    bl_peek_init(&peek, d->stream->codecpar);
    for (;;) {
        bool got;
        BL_TRY(bl_demux_next(d, packet, &got, e));
        if (!got)
            break;
        BL_TRY(packet_index_add(index, &peek, packet, want_times, e));
        index->suspicious = index->suspicious || stream_is_field(d->stream);
    }
    bool distinct; /* only the decoder can order frames of equal times */
    timestamps_sort(&index->shown, &distinct);
    index->suspicious = index->suspicious || peek.suspicious || !distinct;
    index->gaps = peek.gaps;
    index->resets = peek.resets;
    index->midway = peek.midway;
    index->joined = peek.joined;
    index->unsure = peek.unsure && peek.keys > 0;
    return packet_index_check_end(index, d, peek.packets, packet, e);
}

int bl_packet_index_make(struct bl_packet_index *index, struct bl_demux *d, bool want_times, struct bl_error *e)
{
    *index = (struct bl_packet_index){.last = INT64_MIN};
    /* Other demuxers derive times from the data, and differently after a probe; decoding may give other ones. */
    index->suspicious = want_times && !bl_demux_is_mov(d) && !bl_demux_is_matroska(d);
    AVPacket *packet = av_packet_alloc();
    if (!packet)
        return bl_error_memory(e);
    int code = packet_index_read(index, d, want_times, packet, e);
    av_packet_free(&packet);
    return code;
}

void bl_packet_index_free(struct bl_packet_index *index)
{
    timestamps_free(&index->shown);
    *index = (struct bl_packet_index){0};
}

/* --- timeline ----------------------------------------------------------------------------------------------------- */

/* More leading pictures than any encoder makes: what has more is damaged, and would take time. */
#define LEADING_MAX 64

/* A keyframe that nothing has spoken against so far. */
struct candidate {
    struct bl_access_point access_point;
    int64_t packet;  /* its number */
    int leading;     /* pictures behind it that are shown before it */
    uint64_t digest; /* of its bytes */
};

struct timeline_maker {
    struct bl_timeline *timeline;
    bool coded; /* packets are kept */
    struct bl_peek peek;
    struct candidate *candidate; /* in the order of their packets, and of their times */
    size_t candidates, capacity;
    int64_t last; /* time of the frames so far */
};

/* Drops the keyframes that a picture speaks against: it needs a packet before them, or, where it is not known what
 * pictures need, is only shown before them. Those it may concern are the last ones. */
static void maker_drop(struct timeline_maker *m, int64_t time)
{
    const struct bl_peek *peek = &m->peek;
    size_t kept = m->candidates;
    while (kept > 0 && (m->candidate[kept - 1].access_point.time > time || m->candidate[kept - 1].packet > peek->needs))
        kept--;
    for (size_t i = kept; i < m->candidates; i++) {
        struct candidate *c = &m->candidate[i];
        if (c->access_point.time > time && peek->traced && c->leading++ < LEADING_MAX)
            m->candidate[kept++] = *c;
    }
    m->candidates = kept;
}

static int maker_add_coded(struct timeline_maker *m, struct bl_error *e)
{
    struct bl_timeline *t = m->timeline;
    const struct bl_peek *peek = &m->peek;
    if (!m->coded)
        return BL_OK;
    if (BL_ARRAY_RESERVE(t->coded, t->coded_capacity, t->coded_count + 1, e))
        return BL_EFAIL;
    t->coded[t->coded_count++] = (struct bl_coded){
        .layer = peek->layer, .disposable = peek->disposable, .packet = peek->packets - 1, .needs = peek->needs};
    return BL_OK;
}

/* Zeros before the first start code may have become the end of the packet before it. */
static uint64_t packet_digest(const AVPacket *packet)
{
    int zeros = 0;
    while (zeros < packet->size && packet->data[zeros] == 0)
        zeros++;
    return XXH3_64bits(packet->data + zeros, (size_t)(packet->size - zeros));
}

/* *usable is false for a packet that makes seeking in this stream unsafe. */
static int maker_add_packet(struct timeline_maker *m, const AVPacket *packet, bool *usable, struct bl_error *e)
{
    struct bl_timestamps *shown = &m->timeline->shown;
    int frames = bl_peek_packet(&m->peek, packet);
    *usable =
        !m->peek.suspicious && frames <= 1 && !(packet->flags & AV_PKT_FLAG_DISCARD) && packet->pts != AV_NOPTS_VALUE;
    if (!*usable || frames == 0)
        return BL_OK;
    maker_drop(m, packet->pts);
    if (m->peek.opens && packet->flags & AV_PKT_FLAG_KEY && packet->pos >= 0 && shown->count > 0 &&
        packet->pts > m->last) {
        if (BL_ARRAY_RESERVE(m->candidate, m->capacity, m->candidates + 1, e))
            return BL_EFAIL;
        m->candidate[m->candidates++] = (struct candidate){.access_point = {packet->pts, packet->pos, 0},
                                                           .packet = m->peek.packets - 1,
                                                           .digest = packet_digest(packet)};
    }
    m->last = shown->count == 0 || packet->pts > m->last ? packet->pts : m->last;
    BL_TRY(timestamps_add(shown, packet->pts, e));
    return maker_add_coded(m, e);
}

static int maker_read_packets(struct timeline_maker *m, struct bl_demux *d, AVPacket *packet, bool *usable,
                              struct bl_error *e)
{
    bool got = true;
    int code = BL_OK;
    *usable = true;
    while (!code && got && *usable) {
        code = bl_demux_next(d, packet, &got, e);
        if (!code && got)
            code = maker_add_packet(m, packet, usable, e);
    }
    *usable = *usable && !d->end_error;
    return code;
}

/* Drops the keyframes that are other packets after a seek: a packet of a transport stream is cut out of the data, and
 * its beginning may be taken for the end of the one before. */
static int maker_check_seeks(struct timeline_maker *m, struct bl_demux *d, AVPacket *packet, struct bl_error *e)
{
    size_t kept = 0;
    for (size_t i = 0; i < m->candidates; i++) {
        const struct candidate *c = &m->candidate[i];
        bool found;
        BL_TRY(bl_demux_seek(d, c->access_point.position, c->access_point.time, packet, &found, e));
        if (found && packet_digest(packet) == c->digest)
            m->candidate[kept++] = *c;
    }
    m->candidates = kept;
    return BL_OK;
}

/* Sorts the frames; *distinct: no two have the same time. Packets get the numbers of their frames. Pictures of a higher
 * temporal layer may refer to one that those of its own do not. */
static int timeline_sort(struct bl_timeline *t, bool *distinct, struct bl_error *e)
{
    size_t count = t->coded_count; /* 0: packets are not kept */
    int64_t *time = malloc((count ? count : 1) * sizeof *time);
    int highest = 0;
    if (!time)
        return bl_error_memory(e);
    if (count > 0)
        memcpy(time, t->shown.time, count * sizeof *time);
    timestamps_sort(&t->shown, distinct);
    for (size_t i = 0; i < count; i++)
        highest = t->coded[i].layer > highest ? t->coded[i].layer : highest;
    for (size_t i = 0; i < count; i++) {
        (void)timestamps_find(&t->shown, time[i], &t->coded[i].frame);
        t->coded[i].disposable = t->coded[i].disposable && t->coded[i].layer == highest;
    }
    free(time);
    return BL_OK;
}

/* Gives the timeline the keyframes that are left. */
static int maker_finish(const struct timeline_maker *m, struct bl_error *e)
{
    struct bl_timeline *t = m->timeline;
    int code = timeline_sort(t, &t->exact, e);
    if (code || !t->exact || m->candidates == 0)
        return code;
    if (BL_ARRAY_RESERVE(t->access_point, t->access_point_capacity, m->candidates, e))
        return BL_EFAIL;
    for (size_t i = 0; i < m->candidates; i++) {
        t->access_point[i] = m->candidate[i].access_point;
        (void)timestamps_find(&t->shown, t->access_point[i].time, &t->access_point[i].frame);
    }
    t->access_points = m->candidates;
    return BL_OK;
}

int bl_timeline_make(struct bl_timeline *t, struct bl_demux *d, bool coded, struct bl_error *e)
{
    *t = (struct bl_timeline){.tick = d->stream->time_base, .start = bl_demux_start(d)};
    t->derived = bl_demux_is_transport(d);
    if (!bl_demux_is_mov(d) && !bl_demux_is_matroska(d) && !t->derived)
        return 0;
    AVPacket *packet = av_packet_alloc();
    if (!packet)
        return bl_error_memory(e);
    struct timeline_maker m = {.timeline = t, .coded = coded};
    bl_peek_init(&m.peek, d->stream->codecpar);
    bool usable = false;
    int code = maker_read_packets(&m, d, packet, &usable, e);
    if (!code && usable && t->derived)
        code = maker_check_seeks(&m, d, packet, e);
    if (!code && usable)
        code = maker_finish(&m, e);
    av_packet_free(&packet);
    free(m.candidate);
    if (code)
        bl_timeline_free(t);
    return code;
}

void bl_timeline_free(struct bl_timeline *t)
{
    timestamps_free(&t->shown);
    free(t->access_point);
    free(t->coded);
    *t = (struct bl_timeline){0};
}

const struct bl_access_point *bl_timeline_find(const struct bl_timeline *t, struct bl_pick *pick, int64_t step)
{
    const struct bl_access_point *found = NULL;
    struct bl_pick walking = *pick;
    size_t frame = 0;
    for (size_t i = 0; i < t->access_points; i++) {
        for (; frame < t->access_point[i].frame; frame++)
            bl_pick_push(&walking, t->shown.time[frame]);
        struct bl_pick before = walking;
        bl_pick_push(&walking, t->shown.time[frame++]);
        if (walking.taken > step)
            break;
        found = &t->access_point[i];
        *pick = before;
    }
    return found;
}

const struct bl_access_point *bl_timeline_find_frame(const struct bl_timeline *t, int64_t frame)
{
    size_t low = 0, high = t->access_points;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((int64_t)t->access_point[middle].frame <= frame)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &t->access_point[low - 1] : NULL;
}

/* --- needed packets ----------------------------------------------------------------------------------------------- */

/* Marks a frame if some of the `times` steps that it fills, from *seen on, are wanted. */
static void needed_mark(struct bl_needed *n, size_t frame, int64_t times, int64_t *seen, int64_t first, int64_t steps)
{
    if (times > 0 && first + steps > *seen && *seen + times > first)
        n->frame[frame] = true;
    *seen += times;
}

/* The frames that are taken. Of the last one only its end tells; it is marked by to_end. */
static void needed_mark_taken(struct bl_needed *n, struct bl_pick *pick, int64_t first, int64_t steps)
{
    const struct bl_timestamps *shown = &n->timeline->shown;
    int64_t seen = 0;
    for (size_t i = 0; i < shown->count; i++) {
        int64_t times = bl_pick_push(pick, shown->time[i]);
        if (i > 0)
            needed_mark(n, i - 1, times, &seen, first, steps);
    }
}

/* Marks what the marked frames may refer to: all from the earliest packet that one of them needs, without what nothing
 * refers to. */
static void needed_mark_references(struct bl_needed *n)
{
    const struct bl_timeline *t = n->timeline;
    int64_t from = INT64_MAX;
    for (size_t i = t->shown.count; i-- > 0;) {
        const struct bl_coded *coded = &t->coded[i];
        bool *marked = &n->frame[coded->frame];
        *marked = *marked || (coded->packet >= from && !coded->disposable);
        if (*marked && coded->needs < from)
            from = coded->needs;
    }
}

static void needed_find_ends(struct bl_needed *n)
{
    const struct bl_timeline *t = n->timeline;
    for (size_t i = 0; i < t->shown.count; i++) {
        size_t frame = t->coded[i].frame;
        if (!n->frame[frame]) {
            n->left_out++;
            continue;
        }
        n->final = t->shown.time[frame];
        n->last = frame > n->last ? frame : n->last;
    }
}

int bl_needed_make(struct bl_needed *needed, const struct bl_timeline *timeline, struct bl_pick pick, int64_t first,
                   int64_t steps, bool to_end, struct bl_error *e)
{
    size_t count = timeline->shown.count;
    *needed = (struct bl_needed){.timeline = timeline, .frame = calloc(count ? count : 1, sizeof *needed->frame)};
    if (!needed->frame)
        return bl_error_memory(e);
    needed_mark_taken(needed, &pick, first, steps);
    if (count > 0) {
        needed->frame[timeline->coded[0].frame] = true; /* decoders learn from it which encoder made the stream */
        needed->frame[count - 1] = needed->frame[count - 1] || to_end;
    }
    needed_mark_references(needed);
    needed_find_ends(needed);
    return BL_OK;
}

void bl_needed_free(struct bl_needed *needed)
{
    free(needed->frame);
    *needed = (struct bl_needed){0};
}

bool bl_needed_has(const struct bl_needed *needed, int64_t time)
{
    size_t frame;
    return !timestamps_find(&needed->timeline->shown, time, &frame) || needed->frame[frame];
}
