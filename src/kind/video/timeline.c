/* See timeline.h. What frames come right from a keyframe on, follows from the times and from what pictures need
 * (peek.h), in one pass: a keyframe is dropped as soon as a picture comes that speaks against it. */
#include "kind/video/timeline.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/array.h"
#include "kind/media/demux_seek.h"
#include "kind/video/peek.h"

/* More leading pictures than any encoder makes: what has more is damaged, and would take time. */
#define LEADING_MAX 64

/* A keyframe that nothing has spoken against so far. */
struct candidate {
    struct bl_restart restart;
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
    while (kept > 0 && (m->candidate[kept - 1].restart.time > time || m->candidate[kept - 1].packet > peek->needs))
        kept--;
    for (size_t i = kept; i < m->candidates; i++) {
        struct candidate *c = &m->candidate[i];
        if (c->restart.time > time && peek->traced && c->leading++ < LEADING_MAX)
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
        m->candidate[m->candidates++] = (struct candidate){
            .restart = {packet->pts, packet->pos, 0}, .packet = m->peek.packets - 1, .digest = packet_digest(packet)};
    }
    m->last = shown->count == 0 || packet->pts > m->last ? packet->pts : m->last;
    int code = bl_timestamps_add(shown, packet->pts, e);
    return code ? code : maker_add_coded(m, e);
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
        int code = bl_demux_seek(d, c->restart.position, c->restart.time, packet, &found, e);
        if (code)
            return code;
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
    bl_timestamps_sort(&t->shown, distinct);
    for (size_t i = 0; i < count; i++)
        highest = t->coded[i].layer > highest ? t->coded[i].layer : highest;
    for (size_t i = 0; i < count; i++) {
        (void)bl_timestamps_find(&t->shown, time[i], &t->coded[i].frame);
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
    if (BL_ARRAY_RESERVE(t->restart, t->restart_capacity, m->candidates, e))
        return BL_EFAIL;
    for (size_t i = 0; i < m->candidates; i++) {
        t->restart[i] = m->candidate[i].restart;
        (void)bl_timestamps_find(&t->shown, t->restart[i].time, &t->restart[i].frame);
    }
    t->restarts = m->candidates;
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
    bl_timestamps_free(&t->shown);
    free(t->restart);
    free(t->coded);
    *t = (struct bl_timeline){0};
}

const struct bl_restart *bl_timeline_find(const struct bl_timeline *t, struct bl_pick *pick, int64_t step)
{
    const struct bl_restart *found = NULL;
    struct bl_pick walking = *pick;
    size_t frame = 0;
    for (size_t i = 0; i < t->restarts; i++) {
        for (; frame < t->restart[i].frame; frame++)
            bl_pick_push(&walking, t->shown.time[frame]);
        struct bl_pick before = walking;
        bl_pick_push(&walking, t->shown.time[frame++]);
        if (walking.taken > step)
            break;
        found = &t->restart[i];
        *pick = before;
    }
    return found;
}

const struct bl_restart *bl_timeline_find_frame(const struct bl_timeline *t, int64_t frame)
{
    size_t low = 0, high = t->restarts;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((int64_t)t->restart[middle].frame <= frame)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &t->restart[low - 1] : NULL;
}
