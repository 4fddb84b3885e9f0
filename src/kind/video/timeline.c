/* See timeline.h. Whether a frame is shown across a keyframe follows from the times alone: all packets before the
 * keyframe must be shown before it, all packets after it later. */
#include "kind/video/timeline.h"

#include <stdlib.h>

#include "base/array.h"
#include "kind/video/peek.h"

/* *usable is false for a packet that makes seeking in this stream unsafe. */
static int timeline_add_packet(struct bl_timeline *t, struct bl_peek *peek, const AVPacket *packet, bool *usable,
                               struct bl_error *e)
{
    int frames = bl_peek_packet(peek, packet);
    *usable =
        !peek->suspicious && frames <= 1 && !(packet->flags & AV_PKT_FLAG_DISCARD) && packet->pts != AV_NOPTS_VALUE;
    if (!*usable || frames == 0)
        return BL_OK;
    if (peek->restarts && packet->flags & AV_PKT_FLAG_KEY && packet->pos >= 0 && t->shown.count > 0) {
        if (BL_ARRAY_RESERVE(t->restart, t->restart_capacity, t->restarts + 1, e))
            return BL_EFAIL;
        t->restart[t->restarts++] = (struct bl_restart){packet->pts, packet->pos, t->shown.count};
    }
    return bl_timestamps_add(&t->shown, packet->pts, e);
}

/* Keeps the restarts that no frame is shown across. The times are still in decoding order. */
static void timeline_keep_closed(struct bl_timeline *t)
{
    const int64_t *time = t->shown.time;
    size_t kept = t->restarts, last = t->restarts;
    int64_t min = INT64_MAX;
    for (size_t frame = t->shown.count; frame-- > 0 && last > 0;) {
        min = time[frame] < min ? time[frame] : min;
        if (frame != t->restart[last - 1].frame)
            continue;
        last--;
        if (min == t->restart[last].time)
            t->restart[--kept] = t->restart[last];
    }
    size_t closed = 0, next = 0;
    int64_t max = INT64_MIN;
    for (size_t i = kept; i < t->restarts; i++) {
        for (; next < t->restart[i].frame; next++)
            max = time[next] > max ? time[next] : max;
        if (max < t->restart[i].time)
            t->restart[closed++] = t->restart[i];
    }
    t->restarts = closed;
}

static int timeline_read_packets(struct bl_timeline *t, struct bl_demux *d, AVPacket *packet, struct bl_error *e)
{
    struct bl_peek peek;
    bl_peek_init(&peek, d->stream->codecpar);
    bool usable = true, got;
    for (;;) {
        int code = bl_demux_next(d, packet, &got, e);
        if (code)
            return code;
        if (!got)
            break;
        code = timeline_add_packet(t, &peek, packet, &usable, e);
        if (code)
            return code;
        if (!usable)
            break;
    }
    if (usable && !d->end_error) {
        timeline_keep_closed(t);
        bl_timestamps_sort(&t->shown, &usable);
    }
    t->exact = usable && !d->end_error;
    if (!t->exact)
        t->restarts = 0;
    return BL_OK;
}

int bl_timeline_make(struct bl_timeline *t, struct bl_demux *d, struct bl_error *e)
{
    *t = (struct bl_timeline){.tick = d->stream->time_base, .start = bl_demux_start(d)};
    if (!bl_demux_is_mov(d) && !bl_demux_is_matroska(d))
        return 0;
    AVPacket *packet = av_packet_alloc();
    if (!packet)
        return bl_error_memory(e);
    int code = timeline_read_packets(t, d, packet, e);
    av_packet_free(&packet);
    if (code)
        bl_timeline_free(t);
    return code;
}

void bl_timeline_free(struct bl_timeline *t)
{
    bl_timestamps_free(&t->shown);
    free(t->restart);
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
