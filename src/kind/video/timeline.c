/* See timeline.h. Whether a frame is shown across a keyframe follows from the times alone: all packets before the
 * keyframe must be shown before it, all packets after it later. */
#include "kind/video/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "kind/video/peek.h"

static int timeline_add_coded(struct bl_timeline *t, const struct bl_peek *peek, struct bl_error *e)
{
    if (BL_ARRAY_RESERVE(t->coded, t->coded_capacity, t->coded_count + 1, e))
        return BL_EFAIL;
    t->coded[t->coded_count++] = (struct bl_coded){.layer = peek->layer, .disposable = peek->disposable};
    return BL_OK;
}

/* *usable is false for a packet that makes seeking in this stream unsafe. */
static int timeline_add_packet(struct bl_timeline *t, struct bl_peek *peek, const AVPacket *packet, bool coded,
                               bool *usable, struct bl_error *e)
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
    int code = bl_timestamps_add(&t->shown, packet->pts, e);
    return code || !coded ? code : timeline_add_coded(t, peek, e);
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

static int timeline_read_packets(struct bl_timeline *t, struct bl_demux *d, bool coded, AVPacket *packet,
                                 struct bl_error *e)
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
        code = timeline_add_packet(t, &peek, packet, coded, &usable, e);
        if (code)
            return code;
        if (!usable)
            break;
    }
    if (usable && !d->end_error) {
        timeline_keep_closed(t);
        int code = timeline_sort(t, &usable, e);
        if (code)
            return code;
    }
    t->exact = usable && !d->end_error;
    if (!t->exact)
        t->restarts = 0;
    return BL_OK;
}

int bl_timeline_make(struct bl_timeline *t, struct bl_demux *d, bool coded, struct bl_error *e)
{
    *t = (struct bl_timeline){.tick = d->stream->time_base, .start = bl_demux_start(d)};
    if (!bl_demux_is_mov(d) && !bl_demux_is_matroska(d))
        return 0;
    AVPacket *packet = av_packet_alloc();
    if (!packet)
        return bl_error_memory(e);
    int code = timeline_read_packets(t, d, coded, packet, e);
    av_packet_free(&packet);
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
