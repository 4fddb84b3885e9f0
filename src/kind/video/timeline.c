/* See timeline.h. That no frame is shown across a keyframe is decided by the times alone: all packets before it are
 * shown before it, all behind it after. */
#include "kind/video/timeline.h"

#include <stdlib.h>

#include "kind/video/peek.h"

/* Room for one element more. */
static int timeline_grow(void **data, size_t size, size_t *capacity, size_t element, struct bl_error *e)
{
    if (size < *capacity)
        return 0;
    size_t wanted = *capacity ? 2 * *capacity : 256;
    void *larger = realloc(*data, wanted * element);
    if (!larger)
        return bl_error_memory(e);
    *data = larger;
    *capacity = wanted;
    return 0;
}

static int timeline_add_restart(struct bl_timeline *t, const AVPacket *packet, struct bl_error *e)
{
    int code = timeline_grow((void **)&t->restart, t->restarts, &t->restart_capacity, sizeof *t->restart, e);
    if (code)
        return code;
    t->restart[t->restarts++] = (struct bl_restart){packet->pts, packet->pos, t->frames};
    return BL_OK;
}

static int timeline_add_frame(struct bl_timeline *t, int64_t time, struct bl_error *e)
{
    int code = timeline_grow((void **)&t->time, t->frames, &t->time_capacity, sizeof *t->time, e);
    if (code)
        return code;
    t->time[t->frames++] = time;
    return BL_OK;
}

/* Returns 1 for a packet after which the whole stream has to be decoded from its beginning. */
static int timeline_add_packet(struct bl_timeline *t, struct bl_peek *peek, const AVPacket *packet, struct bl_error *e)
{
    int frames = bl_peek_packet(peek, packet);
    if (peek->suspicious || frames > 1 || packet->flags & AV_PKT_FLAG_DISCARD || packet->pts == AV_NOPTS_VALUE)
        return 1;
    int code = 0;
    if (frames && peek->restarts && packet->flags & AV_PKT_FLAG_KEY && packet->pos >= 0 && t->frames > 0)
        code = timeline_add_restart(t, packet, e);
    if (code)
        return code;
    if (frames)
        code = timeline_add_frame(t, packet->pts, e);
    return code;
}

static int timeline_time_compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Times are in order of decoding here. Leaves only restarts with nothing shown across them. */
static void timeline_keep_closed(struct bl_timeline *t)
{
    size_t kept = t->restarts, last = t->restarts;
    int64_t least = INT64_MAX;
    for (size_t frame = t->frames; frame-- > 0 && last > 0;) {
        least = t->time[frame] < least ? t->time[frame] : least;
        if (frame != t->restart[last - 1].frame)
            continue;
        last--;
        if (least == t->restart[last].time)
            t->restart[--kept] = t->restart[last];
    }
    size_t closed = 0, next = 0;
    int64_t most = INT64_MIN;
    for (size_t i = kept; i < t->restarts; i++) {
        for (; next < t->restart[i].frame; next++)
            most = t->time[next] > most ? t->time[next] : most;
        if (most < t->restart[i].time)
            t->restart[closed++] = t->restart[i];
    }
    t->restarts = closed;
}

static bool timeline_times_differ(const struct bl_timeline *t)
{
    for (size_t i = 1; i < t->frames; i++) {
        if (t->time[i] == t->time[i - 1])
            return false;
    }
    return true;
}

static int timeline_read_packets(struct bl_timeline *t, struct bl_demux *d, AVPacket *packet, struct bl_error *e)
{
    struct bl_peek peek;
    bl_peek_init(&peek, d->stream->codecpar);
    int code;
    while ((code = bl_demux_next(d, packet, e)) > 0) {
        code = timeline_add_packet(t, &peek, packet, e);
        if (code)
            break;
    }
    bool usable = !code && !d->end_error;
    if (usable) {
        timeline_keep_closed(t);
        qsort(t->time, t->frames, sizeof *t->time, timeline_time_compare);
        usable = timeline_times_differ(t);
    }
    if (!usable)
        t->restarts = 0;
    return code > 0 ? 0 : code;
}

int bl_timeline_make(struct bl_timeline *t, struct bl_demux *d, struct bl_error *e)
{
    *t = (struct bl_timeline){.tick = d->stream->time_base};
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
    free(t->time);
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
            bl_pick_push(&walking, t->time[frame]);
        struct bl_pick before = walking;
        bl_pick_push(&walking, t->time[frame++]);
        if (walking.taken > step)
            break;
        found = &t->restart[i];
        *pick = before;
    }
    return found;
}
