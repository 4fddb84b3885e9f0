#include "kind/video/session.h"

#include <string.h>

#include "base/error.h"
#include "kind/video/peek.h"

int bl_session_begin(struct bl_session *s, AVCodecContext *codec, const AVCodecParameters *parameters)
{
    AVCodecParameters *copy = avcodec_parameters_alloc();
    if (!copy || avcodec_parameters_copy(copy, parameters) < 0) {
        avcodec_parameters_free(&copy);
        return BL_EFAIL;
    }
    *s = (struct bl_session){.codec = codec, .parameters = copy};
    return BL_OK;
}

void bl_session_end(struct bl_session *s)
{
    avcodec_parameters_free(&s->parameters);
    av_packet_free(&s->opening);
}

/* Colours count: a context keeps the container's if the codec's headers have none. */
bool bl_session_matches(const struct bl_session *s, const AVCodecParameters *b)
{
    const AVCodecParameters *a = s->parameters;
    return a->codec_id == b->codec_id && a->codec_tag == b->codec_tag && a->profile == b->profile &&
           a->format == b->format && a->width == b->width && a->height == b->height &&
           a->color_space == b->color_space && a->color_range == b->color_range && a->color_trc == b->color_trc &&
           a->color_primaries == b->color_primaries && a->chroma_location == b->chroma_location &&
           !av_cmp_q(a->sample_aspect_ratio, b->sample_aspect_ratio) && a->video_delay == b->video_delay &&
           a->extradata_size == b->extradata_size &&
           (!a->extradata_size || !memcmp(a->extradata, b->extradata, (size_t)a->extradata_size));
}

static struct bl_session_state session_state_of(const AVCodecContext *codec)
{
    return (struct bl_session_state){.width = codec->coded_width,
                                     .height = codec->coded_height,
                                     .delay = codec->has_b_frames,
                                     .space = codec->colorspace,
                                     .range = codec->color_range,
                                     .transfer = codec->color_trc,
                                     .primaries = codec->color_primaries,
                                     .location = codec->chroma_sample_location,
                                     .aspect = codec->sample_aspect_ratio};
}

static bool session_is_unchanged(const struct bl_session *s)
{
    const struct bl_session_state now = session_state_of(s->codec);
    return memcmp(&now, &s->initial, sizeof now) == 0;
}

/* Codecs with headers in the packets, where a header keeps the values of the previous one that it does not set. */
static bool codec_keeps_headers(enum AVCodecID codec)
{
    return codec == AV_CODEC_ID_MPEG1VIDEO || codec == AV_CODEC_ID_MPEG2VIDEO || codec == AV_CODEC_ID_VC1 ||
           codec == AV_CODEC_ID_WMV3;
}

/* A flush of FFmpeg's H.264 decoder would close the hardware decoder. */
static bool session_is_spliced(const struct bl_session *s)
{
    return s->parameters->codec_id == AV_CODEC_ID_H264;
}

void bl_session_ready(struct bl_session *s, AVRational time_base, AVRational rate)
{
    AVCodecContext *codec = s->codec;
    if (s->streams && !session_is_spliced(s))
        avcodec_flush_buffers(codec);
    s->times = (struct bl_session_times){.last_pts = INT64_MIN, .last_dts = INT64_MIN};
    codec->pkt_timebase = time_base;
    codec->framerate = s->streams ? s->rate : (AVRational){0, 1};
    s->container_rate = rate;
    s->resent = 0;
    s->started = false;
}

void bl_session_guess_time(struct bl_session *s, AVFrame *frame)
{
    struct bl_session_times *t = &s->times;
    int64_t pts = frame->pts, dts = frame->pkt_dts;
    if (dts != AV_NOPTS_VALUE) {
        t->faulty_dts += dts <= t->last_dts;
        t->last_dts = dts;
    } else if (pts != AV_NOPTS_VALUE) {
        t->last_dts = pts;
    }
    if (pts != AV_NOPTS_VALUE) {
        t->faulty_pts += pts <= t->last_pts;
        t->last_pts = pts;
    } else if (dts != AV_NOPTS_VALUE) {
        t->last_pts = dts;
    }
    bool by_pts = (t->faulty_pts <= t->faulty_dts || dts == AV_NOPTS_VALUE) && pts != AV_NOPTS_VALUE;
    frame->best_effort_timestamp = by_pts ? pts : dts;
}

/* Whether the packet resets the decoder, and has no headers besides those of the container. */
static bool session_packet_opens(const struct bl_session *s, const AVPacket *packet)
{
    struct bl_peek peek;
    if (!session_is_spliced(s) || s->parameters->extradata_size <= 0)
        return false;
    bl_peek_init(&peek, s->parameters);
    bl_peek_packet(&peek, packet);
    return peek.restarts && !peek.suspicious && !peek.loose_headers;
}

/* Sends the container's headers again: the previous stream may have replaced them. */
static int packet_restore_headers(const struct bl_session *s, AVPacket *packet)
{
    size_t size = (size_t)s->parameters->extradata_size;
    if (!s->streams || !size || av_packet_get_side_data(packet, AV_PKT_DATA_NEW_EXTRADATA, NULL))
        return 0;
    uint8_t *headers = av_packet_new_side_data(packet, AV_PKT_DATA_NEW_EXTRADATA, size);
    if (!headers)
        return AVERROR(ENOMEM);
    memcpy(headers, s->parameters->extradata, size);
    return 0;
}

static int session_open_stream(struct bl_session *s, AVPacket *packet)
{
    bool follows = s->opening != NULL, followed = session_packet_opens(s, packet);
    av_packet_free(&s->opening);
    if (session_is_spliced(s) && s->streams && !(follows && followed))
        avcodec_flush_buffers(s->codec);
    if (followed && !(s->opening = av_packet_clone(packet)))
        return AVERROR(ENOMEM);
    int code = packet_restore_headers(s, packet);
    if (!code)
        code = avcodec_send_packet(s->codec, packet);
    s->initial = session_state_of(s->codec);
    s->rate = s->codec->framerate;
    if (s->rate.num <= 0 || s->rate.den <= 0)
        s->codec->framerate = s->container_rate;
    s->started = true;
    s->streams++;
    return code;
}

static int session_push_out(struct bl_session *s, bool *ended)
{
    AVPacket *again = av_packet_clone(s->opening);
    if (!again)
        return AVERROR(ENOMEM);
    again->flags |= AV_PKT_FLAG_DISCARD;
    again->pts = again->dts = AV_NOPTS_VALUE;
    int code = avcodec_send_packet(s->codec, again);
    av_packet_free(&again);
    *ended = ++s->resent >= s->codec->has_b_frames; /* each brings one frame out */
    return code;
}

int bl_session_send(struct bl_session *s, AVPacket *packet, bool clean, bool *ended)
{
    *ended = !packet;
    if (packet)
        return s->started ? avcodec_send_packet(s->codec, packet) : session_open_stream(s, packet);
    if (s->opening && clean && session_is_unchanged(s))
        return session_push_out(s, ended);
    av_packet_free(&s->opening);
    return avcodec_send_packet(s->codec, NULL);
}

/* Drops the frames that the decoder has ready. */
static bool codec_receive_all(AVCodecContext *codec, AVFrame *frame)
{
    int code;
    while ((code = avcodec_receive_frame(codec, frame)) >= 0)
        av_frame_unref(frame);
    return code == AVERROR(EAGAIN);
}

static bool session_drain(struct bl_session *s)
{
    AVFrame *frame = av_frame_alloc();
    bool ended = s->resent && s->resent >= s->codec->has_b_frames, well = frame && codec_receive_all(s->codec, frame);
    while (well && !ended)
        well = session_push_out(s, &ended) >= 0 && codec_receive_all(s->codec, frame);
    av_frame_free(&frame);
    return well;
}

bool bl_session_finish(struct bl_session *s, bool clean)
{
    if (!clean || codec_keeps_headers(s->parameters->codec_id))
        return false;
    if (!s->started)
        return true;
    return session_is_unchanged(s) && (!session_is_spliced(s) || (s->opening && session_drain(s)));
}
