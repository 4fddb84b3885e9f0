/* See packet_index.h. Suspicion is cheap to raise and costs only time: it makes the file be decoded. */
#include "kind/video/packet_index.h"

#include <stdlib.h>
#include <string.h>

#include "kind/video/peek.h"

/* Seconds that the data may end before the header's duration without a word. */
#define END_TOLERANCE 0.5

static int packet_index_add_time(struct bl_packet_index *t, int64_t time, struct bl_error *e)
{
    if (t->times == t->time_capacity) {
        size_t capacity = t->time_capacity ? 2 * t->time_capacity : 256;
        int64_t *larger = realloc(t->time, capacity * sizeof *larger);
        if (!larger)
            return bl_error_memory(e);
        t->time = larger;
        t->time_capacity = capacity;
    }
    t->time[t->times++] = time;
    return 0;
}

static int packet_time_compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Times that are alike are told apart by the decoder. */
static void packet_index_sort_times(struct bl_packet_index *t)
{
    if (t->times)
        qsort(t->time, t->times, sizeof *t->time, packet_time_compare);
    for (size_t i = 1; i < t->times; i++)
        t->suspicious = t->suspicious || t->time[i] == t->time[i - 1];
}

static int packet_index_add(struct bl_packet_index *t, struct bl_peek *peek, const AVPacket *packet, bool want_times,
                            struct bl_error *e)
{
    t->midway = t->midway || (peek->packets == 0 && !(packet->flags & AV_PKT_FLAG_KEY));
    int frames = bl_peek_packet(peek, packet);
    if (packet->flags & AV_PKT_FLAG_DISCARD || frames == 0)
        return 0;
    t->frames += frames;
    int64_t start = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
    bool known = start != AV_NOPTS_VALUE && packet->duration >= 0 && packet->duration < INT64_MAX - FFMAX(start, 0);
    if (known && start >= t->last) {
        t->last = start;
        t->end = start + packet->duration;
    }
    if (!want_times)
        return 0;
    t->suspicious = t->suspicious || packet->pts == AV_NOPTS_VALUE || packet->duration <= 0 || frames > 1;
    return packet_index_add_time(t, packet->pts, e);
}

/* Two fields, in two packets, make one frame. */
static bool stream_is_field(const AVStream *stream)
{
    const AVCodecParserContext *parser = av_stream_get_parser(stream);
    return parser && (parser->picture_structure == AV_PICTURE_STRUCTURE_TOP_FIELD ||
                      parser->picture_structure == AV_PICTURE_STRUCTURE_BOTTOM_FIELD);
}

/* Seconds, by the container's header; 0 where it does not say. */
static double container_duration(const struct bl_demux *d)
{
    const AVFormatContext *format = d->format;
    if (format->duration == AV_NOPTS_VALUE || format->duration <= 0)
        return 0;
    if (d->probed && format->duration_estimation_method != AVFMT_DURATION_FROM_STREAM)
        return 0;
    return (double)format->duration / AV_TIME_BASE;
}

/* The end of the stream that ends last: a video may well be shorter than its sound. */
static int file_duration(const struct bl_demux *counted, AVPacket *packet, double *present, struct bl_error *e)
{
    struct bl_demux d;
    int code =
        bl_demux_open(&d, counted->path, counted->bytes, counted->stream->index, BL_DEMUX_COUNT, counted->cancel, e);
    if (code)
        return code;
    bl_demux_read_all_streams(&d);
    while ((code = bl_demux_next(&d, packet, e)) > 0) {
        int64_t start = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
        AVRational tick = d.format->streams[packet->stream_index]->time_base;
        if (start != AV_NOPTS_VALUE)
            *present = FFMAX(*present, ((double)start + (double)packet->duration) * av_q2d(tick));
    }
    bl_demux_close(&d);
    return code;
}

/* A transport stream is made of packets of one size, whichever of three. */
static bool transport_is_truncated(const struct bl_demux *d)
{
    return strcmp(d->format->iformat->name, "mpegts") == 0 && d->bytes % 188 && d->bytes % 192 && d->bytes % 204;
}

/* Where the header lists every packet, that and the file's size tell whether all is there; elsewhere the duration does.
 */
static int packet_index_check_end(struct bl_packet_index *t, const struct bl_demux *d, int64_t packets,
                                  AVPacket *packet, struct bl_error *e)
{
    t->suspicious = t->suspicious || d->end_error || transport_is_truncated(d);
    t->listed = d->stream->nb_frames;
    if (t->listed > 0) {
        t->suspicious = t->suspicious || t->listed != packets;
        t->cut = t->listed > packets && bl_demux_is_truncated(d);
        return 0;
    }
    t->cut = bl_demux_is_matroska(d) && bl_demux_is_truncated(d);
    t->declared = container_duration(d);
    t->present = (double)t->end * av_q2d(d->stream->time_base);
    if (t->declared == 0 || t->present + END_TOLERANCE >= t->declared)
        return 0;
    int code = file_duration(d, packet, &t->present, e);
    t->late = t->present + END_TOLERANCE < t->declared;
    return code;
}

static int packet_index_read(struct bl_packet_index *t, struct bl_demux *d, bool want_times, AVPacket *packet,
                             struct bl_error *e)
{
    struct bl_peek peek;
    bl_peek_init(&peek, d->stream->codecpar);
    int code;
    while ((code = bl_demux_next(d, packet, e)) > 0) {
        code = packet_index_add(t, &peek, packet, want_times, e);
        if (code)
            return code;
        t->suspicious = t->suspicious || stream_is_field(d->stream);
    }
    if (code)
        return code;
    t->suspicious = t->suspicious || peek.suspicious;
    packet_index_sort_times(t);
    return packet_index_check_end(t, d, peek.packets, packet, e);
}

int bl_packet_index_make(struct bl_packet_index *t, struct bl_demux *d, bool want_times, struct bl_error *e)
{
    *t = (struct bl_packet_index){.last = INT64_MIN};
    /* Other demuxers make times up from what they see, and differently after a probe: not those that decoding gives. */
    t->suspicious = want_times && !bl_demux_is_mov(d) && !bl_demux_is_matroska(d);
    AVPacket *packet = av_packet_alloc();
    if (!packet)
        return bl_error_memory(e);
    int code = packet_index_read(t, d, want_times, packet, e);
    av_packet_free(&packet);
    return code;
}

void bl_packet_index_free(struct bl_packet_index *t)
{
    free(t->time);
    *t = (struct bl_packet_index){0};
}
