/* Indexes packets, and makes timelines; timeline.h explains both.
 *
 * A timeline is made in one pass over the packets. Each keyframe becomes a candidate for a random access point, and
 * stays one until a later packet shows that decoding cannot begin there (maker_drop). The frames are sorted by their
 * times at the end, as packets come in decoding order. */
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

/* Appends a time. BL_EFAIL: out of memory. */
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

/* Sorts the times in ascending order; *distinct: no two are equal. */
static void timestamps_sort(struct bl_timestamps *t, bool *distinct)
{
    *distinct = true;
    if (t->count == 0)
        return;
    qsort(t->time, t->count, sizeof *t->time, time_compare);
    for (size_t i = 1; i < t->count; i++)
        *distinct = *distinct && t->time[i] != t->time[i - 1];
}

/* Finds a time in sorted ones; false: it is not among them. */
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

/* A suspicious file is decoded, which only costs time: so any doubt makes it suspicious. */

/* Seconds by which the data may end before the declared duration. */
#define END_TOLERANCE 0.5

/* Adds a packet to the index. */
static int packet_index_add(struct bl_packet_index *index, struct bl_peek *peek, const AVPacket *packet,
                            bool want_times, struct bl_error *e)
{
    int frames = bl_peek_packet(peek, packet);
    /* Transport streams mark packets that lack parts, and also one of the last packets before a splice. If the next
     * recording begins, with a keyframe, within two packets of the marked one, nothing is lost. */
    if (packet->flags & AV_PKT_FLAG_KEY)
        index->marked = 0;
    else if (index->marked > 0)
        index->incomplete += --index->marked == 0;
    else if (packet->flags & AV_PKT_FLAG_CORRUPT)
        index->marked = 2;
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

/* Increases *present to the end of the longest stream, in seconds: the video may be shorter than the audio. */
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

/* Finds whether data is missing at the end. If the header lists all packets, their number and the file's size show it;
 * otherwise the duration does. */
static int packet_index_check_end(struct bl_packet_index *index, const struct bl_demux *d, int64_t packets,
                                  AVPacket *packet, struct bl_error *e)
{
    const AVFormatContext *format = d->format;
    int64_t bytes = d->file.bytes;
    BL_TRY(bl_truncation_find_second(d, &index->second, e));
    index->joined = index->joined || bl_truncation_is_joined(d);
    /* The packets of a transport stream all have one of three sizes, so that a cut file has a rest. */
    bool rest = bl_demux_is_transport(d) && bytes % 188 && bytes % 192 && bytes % 204;
    index->suspicious = index->suspicious || index->joined || index->second || d->end_error || rest;
    index->listed = d->stream->nb_frames;
    if (index->listed > 0) {
        index->suspicious = index->suspicious || index->listed != packets;
        index->truncated = index->listed > packets && bl_truncation_detect(d);
        return BL_OK;
    }
    index->truncated = bl_demux_is_matroska(d) && bl_truncation_detect(d);
    bool declared = format->duration != AV_NOPTS_VALUE && format->duration > 0 &&
                    (!d->probed || format->duration_estimation_method == AVFMT_DURATION_FROM_STREAM);
    index->declared = declared ? (double)format->duration / AV_TIME_BASE : 0;
    index->present = (double)index->end * av_q2d(d->stream->time_base);
    if (index->declared == 0 || index->present + END_TOLERANCE >= index->declared)
        return BL_OK;
    int code = file_duration(d, packet, &index->present, e);
    index->too_short = index->present + END_TOLERANCE < index->declared;
    return code;
}

/* Reads the packets to the end of the file. packet is empty room, the caller's. */
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
        /* In interlaced video each packet may hold one field; two of them make a frame. */
        const AVCodecParserContext *parser = av_stream_get_parser(d->stream);
        if (parser && (parser->picture_structure == AV_PICTURE_STRUCTURE_TOP_FIELD ||
                       parser->picture_structure == AV_PICTURE_STRUCTURE_BOTTOM_FIELD))
            index->suspicious = true;
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

/* No encoder makes more leading pictures: a keyframe that has more is damaged. */
#define LEADING_MAX 64

/* A keyframe that may become a random access point. */
struct candidate {
    struct bl_access_point access_point;
    int64_t packet;  /* its number */
    int leading;     /* pictures behind it that are shown before it */
    uint64_t digest; /* of its bytes */
};

/* The state of making a timeline. */
struct timeline_maker {
    struct bl_timeline *timeline;
    bool coded; /* packets are kept */
    struct bl_peek peek;
    struct candidate *candidate; /* in the order of their packets, and of their times */
    size_t candidates, capacity;
    int64_t last; /* time of the frames so far */
};

/* Drops the candidates from which a picture, shown at `time`, could not be decoded: it needs a packet before them, or,
 * where the references are not known, is only shown before them. Candidates are in order, so that the last ones are
 * affected. */
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

/* Returns a hash of the packet without its first zeros: zeros before the first start code may have become the end of
 * the packet before it. */
static uint64_t packet_digest(const AVPacket *packet)
{
    int zeros = 0;
    while (zeros < packet->size && packet->data[zeros] == 0)
        zeros++;
    return XXH3_64bits(packet->data + zeros, (size_t)(packet->size - zeros));
}

/* Adds a packet. *usable is false for a packet that makes seeking in this stream unsafe. */
static int maker_add_packet(struct timeline_maker *m, const AVPacket *packet, bool *usable, struct bl_error *e)
{
    struct bl_timeline *t = m->timeline;
    struct bl_timestamps *shown = &t->shown;
    const struct bl_peek *peek = &m->peek;
    int frames = bl_peek_packet(&m->peek, packet);
    *usable =
        !peek->suspicious && frames <= 1 && !(packet->flags & AV_PKT_FLAG_DISCARD) && packet->pts != AV_NOPTS_VALUE;
    if (!*usable || frames == 0)
        return BL_OK;
    maker_drop(m, packet->pts);
    if (peek->opens && packet->flags & AV_PKT_FLAG_KEY && packet->pos >= 0 && shown->count > 0 &&
        packet->pts > m->last) {
        if (BL_ARRAY_RESERVE(m->candidate, m->capacity, m->candidates + 1, e))
            return BL_EFAIL;
        m->candidate[m->candidates++] = (struct candidate){.access_point = {packet->pts, packet->pos, 0},
                                                           .packet = peek->packets - 1,
                                                           .digest = packet_digest(packet)};
    }
    m->last = shown->count == 0 || packet->pts > m->last ? packet->pts : m->last;
    BL_TRY(timestamps_add(shown, packet->pts, e));
    if (!m->coded)
        return BL_OK;
    if (BL_ARRAY_RESERVE(t->coded, t->coded_capacity, t->coded_count + 1, e))
        return BL_EFAIL;
    t->coded[t->coded_count++] = (struct bl_coded){
        .layer = peek->layer, .disposable = peek->disposable, .packet = peek->packets - 1, .needs = peek->needs};
    return BL_OK;
}

/* Drops the candidates that are other packets after a seek: a packet of a transport stream is cut out of the data, and
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

/* Sorts the frames, gives each packet the number of its frame, and gives the timeline the candidates that are left. The
 * timeline is exact if no two frames have the same time. */
static int maker_finish(const struct timeline_maker *m, struct bl_error *e)
{
    struct bl_timeline *t = m->timeline;
    size_t count = t->coded_count; /* 0: packets are not kept */
    int64_t *time = malloc((count ? count : 1) * sizeof *time);
    int highest = 0;
    if (!time)
        return bl_error_memory(e);
    if (count > 0)
        memcpy(time, t->shown.time, count * sizeof *time); /* in the order of the packets */
    timestamps_sort(&t->shown, &t->exact);
    for (size_t i = 0; i < count; i++)
        highest = FFMAX(t->coded[i].layer, highest);
    for (size_t i = 0; i < count; i++) {
        (void)timestamps_find(&t->shown, time[i], &t->coded[i].frame);
        /* Pictures of a higher temporal layer may refer to one that those of its own layer do not. */
        t->coded[i].disposable = t->coded[i].disposable && t->coded[i].layer == highest;
    }
    free(time);
    if (!t->exact || m->candidates == 0)
        return BL_OK;
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
    bool usable = true, got = true;
    int code = BL_OK;
    while (!code && got && usable) {
        code = bl_demux_next(d, packet, &got, e);
        if (!code && got)
            code = maker_add_packet(&m, packet, &usable, e);
    }
    usable = usable && !d->end_error;
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

const struct bl_access_point *bl_timeline_find(const struct bl_timeline *t, struct bl_pick *pick, int64_t step,
                                               size_t before_it)
{
    const struct bl_access_point *found = NULL;
    struct bl_pick walking = *pick;
    size_t frame = 0;
    for (size_t i = 0; i < t->access_points; i++) {
        for (; frame < t->access_point[i].frame; frame++)
            bl_pick_push(&walking, t->shown.time[frame]);
        struct bl_pick before = walking;
        bl_pick_push(&walking, t->shown.time[frame++]);
        struct bl_pick ahead = walking;
        size_t next = frame, end = frame + before_it;
        for (; next < end && next < t->shown.count; next++)
            bl_pick_push(&ahead, t->shown.time[next]);
        if (ahead.taken > step || next < end)
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

int bl_needed_make(struct bl_needed *needed, const struct bl_timeline *timeline, struct bl_pick pick, int64_t first,
                   int64_t steps, bool to_end, struct bl_error *e)
{
    const struct bl_timeline *t = timeline;
    size_t count = t->shown.count;
    *needed = (struct bl_needed){.timeline = t, .frame = calloc(count ? count : 1, sizeof *needed->frame)};
    if (!needed->frame)
        return bl_error_memory(e);
    /* Marks the frames that are taken. How often the last one is taken depends on its end alone; to_end marks it. */
    int64_t seen = 0, from = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        int64_t times = bl_pick_push(&pick, t->shown.time[i]); /* of the frame before */
        if (i > 0 && times > 0 && first + steps > seen && seen + times > first)
            needed->frame[i - 1] = true;
        seen += i > 0 ? times : 0;
    }
    if (pick.list.count > 0 && bl_pick_end(&pick, 0) > 0 && first + steps > seen)
        needed->frame[count - 1] = true; /* the list has the last frame, whenever that ends */
    if (count > 0) {
        needed->frame[t->coded[0].frame] = true; /* decoders learn from it which encoder made the stream */
        needed->frame[count - 1] = needed->frame[count - 1] || to_end;
    }
    /* Marks the frames to which the marked ones may refer: all from the earliest packet that one of them needs, except
     * for those to which no frame refers. */
    for (size_t i = count; i-- > 0;) {
        const struct bl_coded *coded = &t->coded[i];
        bool *marked = &needed->frame[coded->frame];
        *marked = *marked || (coded->packet >= from && !coded->disposable);
        if (*marked && coded->needs < from)
            from = coded->needs;
    }
    for (size_t i = 0; i < count; i++) {
        size_t frame = t->coded[i].frame;
        if (!needed->frame[frame]) {
            needed->left_out++;
            continue;
        }
        needed->final = t->shown.time[frame];
        needed->last = frame > needed->last ? frame : needed->last;
    }
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
