#include "kind/video/decode.h"

#include <string.h>

#include "kind/video/geometry.h"
#include "kind/video/peek.h"

/* How far a packet's time may lie from where the packet before ends, before it counts as a leap. */
#define LEAP_BACK_MS 100
#define LEAP_AHEAD_MS 10000

static int decode_open_codec(struct bl_decode *f, struct bl_error *e)
{
    const AVStream *stream = f->demux.stream;
    const AVCodec *decoder = avcodec_find_decoder(stream->codecpar->codec_id);
    if (!decoder)
        return bl_error_set(e, BL_EDATA, "no decoder for %s", avcodec_get_name(stream->codecpar->codec_id));
    f->codec = avcodec_alloc_context3(decoder);
    if (!f->codec)
        return bl_error_memory(e);
    int code = avcodec_parameters_to_context(f->codec, stream->codecpar);
    if (code < 0)
        return bl_demux_error(&f->demux, code, "damaged: the stream's header cannot be used", e);
    f->codec->thread_count = 1;
    f->codec->pkt_timebase = stream->time_base;
    f->codec->framerate = stream->avg_frame_rate; /* where neither packets nor the codec tell how long a frame lasts */
    f->codec->max_pixels =
        BL_AREA_MAX / 2; /* so that FFmpeg can allocate any frame: at most 2^31 bytes at 16 a pixel */
    code = avcodec_open2(f->codec, decoder, NULL);
    if (code < 0)
        return bl_demux_error(&f->demux, code, "the decoder cannot be opened", e);
    return 0;
}

static int decode_borrow_codec(struct bl_decode *f, struct bl_error *e)
{
    const AVStream *stream = f->demux.stream;
    int code = bl_session_pool_acquire(f->sessions, stream->codecpar, &f->session, e);
    if (code)
        return code;
    bl_session_ready(f->session, stream->time_base, stream->avg_frame_rate);
    f->codec = f->session->codec;
    return 0;
}

int bl_decode_open_gpu(struct bl_decode *f, struct bl_session_pool *sessions, const char *path, int64_t bytes,
                       int stream, enum bl_demux_mode mode, const struct bl_cancel *cancel, struct bl_error *e)
{
    *f = (struct bl_decode){.sessions = sessions, .time_end = AV_NOPTS_VALUE, .dts_end = AV_NOPTS_VALUE};
    int code = bl_demux_open(&f->demux, path, bytes, stream, mode, cancel, e);
    if (code)
        return code;
    f->least = bl_peek_min_bytes(f->demux.stream->codecpar);
    f->packet = av_packet_alloc();
    code = !f->packet ? bl_error_memory(e) : sessions ? decode_borrow_codec(f, e) : decode_open_codec(f, e);
    if (code)
        bl_decode_close(f);
    return code;
}

int bl_decode_open(struct bl_decode *f, const char *path, int64_t bytes, int stream, enum bl_demux_mode mode,
                   const struct bl_cancel *cancel, struct bl_error *e)
{
    return bl_decode_open_gpu(f, NULL, path, bytes, stream, mode, cancel, e);
}

/* Nothing was out of the ordinary so far. */
static bool decode_is_clean(const struct bl_decode *f)
{
    return !f->refused && !f->cut && !f->odd;
}

void bl_decode_close(struct bl_decode *f)
{
    if (f->sessions)
        bl_session_pool_release(f->sessions, &f->session, decode_is_clean(f));
    else
        avcodec_free_context(&f->codec);
    av_packet_free(&f->packet);
    bl_demux_close(&f->demux);
}

/* A transport stream's packets are marked too where two recordings were joined, and no byte is missing. */
static bool packet_is_cut(const struct bl_decode *f)
{
    return f->packet->flags & AV_PKT_FLAG_CORRUPT && strcmp(f->demux.format->iformat->name, "mpegts") != 0;
}

/* The decoder objects to something, which is counted; an error where it is the GPU that is at fault. */
static int decode_note_error(struct bl_decode *f, int answer, struct bl_error *e)
{
    int code = f->sessions ? bl_session_pool_diagnose(f->sessions, f->codec, answer == AVERROR_EXTERNAL, e) : BL_OK;
    f->refused++;
    f->gpu_full = code == BL_GPU_FULL;
    if (f->gpu_full)
        return bl_error_set(
            e, BL_EFAIL,
            "the GPU does not go on with it; most likely its memory does not suffice: a smaller -j takes less");
    return code;
}

/* Gives the decoder the packet at hand, or tells it that there are no more. */
static int decode_send(struct bl_decode *f, bool got, struct bl_error *e)
{
    f->cut = f->cut || f->demux.end_error || (got && packet_is_cut(f));
    bool usable = !got || f->packet->size >= f->least;
    AVPacket *packet = got ? f->packet : NULL;
    f->draining = f->at_end = !got;
    int code = !usable      ? AVERROR_INVALIDDATA
               : f->session ? bl_session_send(f->session, packet, decode_is_clean(f), &f->draining)
                            : avcodec_send_packet(f->codec, packet);
    av_packet_unref(f->packet);
    if (bl_demux_is_memory(code))
        return bl_error_memory(e);
    return code < 0 && code != AVERROR_EOF ? decode_note_error(f, code, e) : 0;
}

/* Takes leaps out of the times, in containers whose clock may be set anew. */
static void packet_rebase(struct bl_decode *f)
{
    AVPacket *packet = f->packet;
    if (!(f->demux.format->iformat->flags & AVFMT_TS_DISCONT) || packet->dts == AV_NOPTS_VALUE)
        return;
    AVRational tick = f->demux.stream->time_base;
    int64_t dts = packet->dts + f->shift;
    if (f->dts_end != AV_NOPTS_VALUE &&
        (dts < f->dts_end - av_rescale(LEAP_BACK_MS, tick.den, 1000 * (int64_t)tick.num) ||
         dts > f->dts_end + av_rescale(LEAP_AHEAD_MS, tick.den, 1000 * (int64_t)tick.num))) {
        f->shift += f->dts_end - dts;
        dts = f->dts_end;
    }
    packet->dts = dts;
    if (packet->pts != AV_NOPTS_VALUE)
        packet->pts += f->shift;
    f->dts_end = dts + FFMAX(packet->duration, 0);
}

static int decode_feed(struct bl_decode *f, struct bl_error *e)
{
    int got = f->at_end ? 0 : bl_demux_next(&f->demux, f->packet, e);
    if (got > 0)
        packet_rebase(f);
    return got < 0 ? got : decode_send(f, got, e);
}

int bl_decode_seek(struct bl_decode *f, const struct bl_restart *restart, bool *found, struct bl_error *e)
{
    *found = false;
    int code = decode_feed(f, e);
    if (code)
        return code;
    int stream = f->demux.stream->index;
    if (av_seek_frame(f->demux.format, stream, restart->time, AVSEEK_FLAG_BACKWARD) < 0)
        return f->demux.system_errno ? bl_demux_error(&f->demux, 0, "", e) : 0;
    while ((code = bl_demux_next(&f->demux, f->packet, e)) > 0) {
        if (f->packet->pos == restart->position && f->packet->pts == restart->time) {
            *found = true;
            return decode_send(f, true, e);
        }
        if (f->packet->pos > restart->position)
            break;
    }
    av_packet_unref(f->packet);
    return code < 0 ? code : 0;
}

/* Of a surface FFmpeg crops the right and the bottom only; its size becomes that of the picture, and whoever reads the
 * surface begins at crop_left and crop_top. */
static void surface_crop(AVFrame *frame)
{
    if (!frame->hw_frames_ctx)
        return;
    frame->width -= (int)frame->crop_left;
    frame->height -= (int)frame->crop_top;
}

int bl_decode_next(struct bl_decode *f, AVFrame *frame, struct bl_error *e)
{
    for (;;) {
        if (bl_cancelled(f->demux.cancel))
            return bl_error_set(e, BL_ECANCEL, "cancelled");
        int code = avcodec_receive_frame(f->codec, frame);
        if (code == 0 && !(frame->flags & AV_FRAME_FLAG_DISCARD)) {
            if (frame->best_effort_timestamp == AV_NOPTS_VALUE)
                frame->best_effort_timestamp = f->time_end;
            f->time_end = bl_decode_time_end(f, frame);
            f->odd = f->odd || frame->interlaced_frame || bl_decode_is_damaged(frame);
            surface_crop(frame);
            return 1;
        }
        if (code == AVERROR_EOF || (code == AVERROR(EAGAIN) && f->draining))
            return 0;
        if (bl_demux_is_memory(code))
            return bl_error_memory(e);
        int fault = code < 0 && code != AVERROR(EAGAIN) ? decode_note_error(f, code, e) : 0;
        if (fault || (code < 0 && !f->draining && (fault = decode_feed(f, e))))
            return fault;
    }
}

bool bl_decode_is_damaged(const AVFrame *frame)
{
    return frame->decode_error_flags || frame->flags & AV_FRAME_FLAG_CORRUPT;
}

int64_t bl_decode_time(const AVFrame *frame)
{
    return frame->best_effort_timestamp;
}

int64_t bl_decode_time_end(const struct bl_decode *f, const AVFrame *frame)
{
    int64_t start = bl_decode_time(frame), duration = frame->pkt_duration;
    if (duration <= 0 && f->codec->framerate.num > 0 && f->codec->framerate.den > 0)
        duration = av_rescale_q(1, av_inv_q(f->codec->framerate), f->demux.stream->time_base);
    return start == AV_NOPTS_VALUE || duration > INT64_MAX - start ? start : start + FFMAX(duration, 0);
}
