/* See packet_index.h. A suspicious file is decoded, which only costs time: whatever is in doubt makes it suspicious. */
#include "kind/video/packet_index.h"

#include "kind/media/truncation.h"
#include "kind/video/peek.h"

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
    return bl_timestamps_add(&index->shown, packet->pts, e);
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
    int code = bl_truncation_find_second(d, &index->second, e);
    if (code)
        return code;
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
    code = file_duration(d, packet, &index->present, e);
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
        int code = bl_demux_next(d, packet, &got, e);
        if (code)
            return code;
        if (!got)
            break;
        code = packet_index_add(index, &peek, packet, want_times, e);
        if (code)
            return code;
        index->suspicious = index->suspicious || stream_is_field(d->stream);
    }
    bool distinct; /* only the decoder can order frames of equal times */
    bl_timestamps_sort(&index->shown, &distinct);
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
    bl_timestamps_free(&index->shown);
    *index = (struct bl_packet_index){0};
}
