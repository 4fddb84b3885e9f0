/* Chooses a decoder and decodes; decode.h has the contract.
 *
 * bl_decode_next asks the decoder for a frame, and calls decode_feed whenever the decoder wants a packet. decode_feed
 * reads the next packet that is needed, mends its times, and hands it to decode_send. At the end of the file
 * decode_send tells the decoder to output the frames that it still holds (d->draining). */
#include "kind/video/decode.h"

#include <libavutil/pixdesc.h>
#include <string.h>

#include "kind/media/compat.h"
#include "kind/media/demux.h"
#include "kind/video/bitstream.h"
#include "kind/video/geometry.h"
#include "kind/video/peek.h"

/* --- choice of the decoder ---------------------------------------------------------------------------------------- */

const AVCodec *bl_backend_find_decoder(enum AVCodecID id)
{
    const AVCodec *codec;
    const AVCodecHWConfig *config;
    void *at = NULL;
    while ((codec = av_codec_iterate(&at))) {
        /* Decoders with AV_CODEC_CAP_HARDWARE are those of the GPU's maker, which parse streams by themselves. */
        if (codec->id != id || !av_codec_is_decoder(codec) || codec->capabilities & AV_CODEC_CAP_HARDWARE)
            continue;
        for (int i = 0; (config = avcodec_get_hw_config(codec, i)); i++) {
            if (config->methods & AV_CODEC_HW_CONFIG_METHOD_HW_DEVICE_CTX && config->pix_fmt == AV_PIX_FMT_CUDA)
                return codec;
        }
    }
    return NULL;
}

bool bl_backend_describe(const AVCodecContext *context, const enum AVPixelFormat *formats, struct bl_gpu_stream *out)
{
    bool offered = false;
    *out = (struct bl_gpu_stream){context->codec_id, AV_PIX_FMT_NONE, context->coded_width, context->coded_height};
    for (; *formats != AV_PIX_FMT_NONE; formats++) {
        offered |= *formats == AV_PIX_FMT_CUDA;
        out->format = *formats; /* the last one is the processor's */
    }
    return offered;
}

/* Notes the format as soon as the decoder knows it, and stops the decoder by refusing all formats. */
static enum AVPixelFormat backend_get_format(AVCodecContext *context, const enum AVPixelFormat *formats)
{
    struct bl_gpu_stream *out = context->opaque;
    if (!bl_backend_describe(context, formats, out))
        out->codec = AV_CODEC_ID_NONE;
    return AV_PIX_FMT_NONE;
}

int bl_backend_probe(const char *path, int64_t bytes, int stream, const struct bl_kind_env *env,
                     struct bl_gpu_stream *out, struct bl_error *e)
{
    *out = (struct bl_gpu_stream){.codec = AV_CODEC_ID_NONE, .format = AV_PIX_FMT_NONE};
    struct bl_demux d;
    AVPacket *packet = NULL;
    AVFrame *frame = NULL;
    int code = bl_demux_open(&d, path, bytes, stream, BL_DEMUX_COUNT, env, e);
    if (code)
        return code == BL_EDATA ? BL_OK : code;
    const AVCodecParameters *parameters = d.stream->codecpar;
    const AVCodec *decoder = bl_backend_find_decoder(parameters->codec_id);
    AVCodecContext *context = decoder ? avcodec_alloc_context3(decoder) : NULL;
    if (decoder && !context)
        code = bl_error_memory(e);
    if (!context || avcodec_parameters_to_context(context, parameters) < 0)
        goto out;
    context->thread_count = 1;
    context->opaque = out;
    context->get_format = backend_get_format;
    if (avcodec_open2(context, decoder, NULL) < 0)
        goto out;
    packet = av_packet_alloc();
    frame = av_frame_alloc();
    code = packet && frame ? BL_OK : bl_error_memory(e);
    /* Streams that start between keyframes have no header in their first packets. */
    for (int i = 0; i < 256 && !code && out->format == AV_PIX_FMT_NONE; i++) {
        bool got;
        code = bl_demux_next(&d, packet, &got, e);
        if (code || !got)
            break;
        if (avcodec_send_packet(context, packet) >= 0 && avcodec_receive_frame(context, frame) >= 0)
            av_frame_unref(frame);
        av_packet_unref(packet);
    }
out:
    av_packet_free(&packet);
    av_frame_free(&frame);
    avcodec_free_context(&context);
    bl_demux_close(&d);
    return code;
}

bool bl_backend_supports_format(enum AVPixelFormat format)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(format);
    if (!desc || desc->nb_components != 3 || desc->flags & AV_PIX_FMT_FLAG_RGB)
        return false;
    int depth = desc->comp[0].depth, w = desc->log2_chroma_w, h = desc->log2_chroma_h;
    return w == h && w <= 1 && (depth == 8 || depth == 10 || depth == 12);
}

int bl_backend_choose(const struct bl_video_config *config, const struct bl_kind_env *env, const char *path,
                      int64_t bytes, int stream, bool damaged, enum bl_backend *backend, struct bl_error *e)
{
    *backend = BL_BACKEND_CPU;
    if (!config->gpu || (damaged && config->decoder == BL_DECODER_AUTO))
        return BL_OK;
    struct bl_gpu_stream s;
    bool can = false;
    BL_TRY(bl_backend_probe(path, bytes, stream, env, &s, e));
    if (s.codec != AV_CODEC_ID_NONE && bl_backend_supports_format(s.format)) {
        BL_TRY(config->gpu_functions->can_decode(config->gpu, &s, &can, e));
    }
    *backend = can ? BL_BACKEND_NVDEC : BL_BACKEND_CPU;
    if (can || config->decoder != BL_DECODER_NVDEC)
        return BL_OK;
    if (s.format == AV_PIX_FMT_NONE)
        return bl_error_set(e, BL_EDATA, "no GPU decodes such a stream: --decoder auto decodes it on the processor");
    if (s.codec == AV_CODEC_ID_NONE)
        return bl_error_set(
            e, BL_EDATA,
            "FFmpeg cannot decode such a stream on a GPU (%s, %dx%d): --decoder auto decodes it on the processor",
            av_get_pix_fmt_name(s.format), s.width, s.height);
    if (!s.width) /* only the frames tell the size */
        return bl_error_set(e, BL_EDATA, "the GPU does not decode it (%s, %s): --decoder auto does so on the processor",
                            avcodec_get_name(s.codec), av_get_pix_fmt_name(s.format));
    return bl_error_set(e, BL_EDATA,
                        "the GPU does not decode it (%s, %s, %dx%d): --decoder auto does so on the processor",
                        avcodec_get_name(s.codec), av_get_pix_fmt_name(s.format), s.width, s.height);
}

int bl_backend_from_row(const struct bl_video_config *config, const struct bl_row *row, enum bl_backend *backend,
                        struct bl_error *e)
{
    struct bl_buffer value = {0};
    *backend = BL_BACKEND_CPU;
    if (bl_row_get_value(row, BL_BACKEND_COLUMN, &value) && !strcmp(value.data, "nvdec"))
        *backend = BL_BACKEND_NVDEC;
    bl_buffer_free(&value);
    if (*backend == BL_BACKEND_NVDEC && !config->gpu)
        return bl_error_set(e, BL_EFAIL,
                            "the scan chose a GPU for this video, but this machine has no usable GPU: continue on a "
                            "machine with a GPU, or start again with --decoder cpu");
    return BL_OK;
}

/* --- decoding ----------------------------------------------------------------------------------------------------- */

/* A packet whose time lies further from the end of the previous packet counts as a discontinuity. */
#define GAP_BACK_MS 100
#define GAP_AHEAD_MS 10000

/* Opens a decoder on the processor, on one thread. The caller closes d after a failure. */
static int decode_open_codec(struct bl_decode *d, struct bl_error *e)
{
    const AVStream *stream = d->demux.stream;
    const AVCodec *decoder = avcodec_find_decoder(stream->codecpar->codec_id);
    if (!decoder)
        return bl_error_set(e, BL_EDATA, "no decoder for %s", avcodec_get_name(stream->codecpar->codec_id));
    d->codec = avcodec_alloc_context3(decoder);
    if (!d->codec)
        return bl_error_memory(e);
    int code = avcodec_parameters_to_context(d->codec, stream->codecpar);
    if (code < 0)
        return bl_demux_error(&d->demux, code, "damaged: the stream's header cannot be used", e);
    d->codec->thread_count = 1;
    d->codec->flags |=
        AV_CODEC_FLAG_UNALIGNED; /* otherwise FFmpeg keeps a part of the pixels that the crop at the left removes */
    d->codec->pkt_timebase = stream->time_base;
    d->codec->framerate = stream->avg_frame_rate; /* for frames without a duration, if the codec has no rate */
    d->codec->max_pixels = BL_AREA_MAX;
    BL_TRY(bl_decoder_guard_open(&d->guard, d->codec, d->demux.env, e));
    code = avcodec_open2(d->codec, decoder, NULL);
    if (code < 0)
        return bl_demux_error(&d->demux, code, "the decoder cannot be opened", e);
    return BL_OK;
}

int bl_decode_open_gpu(struct bl_decode *d, struct bl_session_pool *sessions, const char *path, int64_t bytes,
                       int stream, enum bl_demux_mode mode, const struct bl_kind_env *env, struct bl_error *e)
{
    *d = (struct bl_decode){.sessions = sessions, .mode = mode, .time_end = AV_NOPTS_VALUE, .dts_end = AV_NOPTS_VALUE};
    BL_TRY(bl_demux_open(&d->demux, path, bytes, stream, mode, env, e));
    const AVStream *s = d->demux.stream;
    d->min_bytes = bl_peek_min_bytes(s->codecpar);
    d->packet = av_packet_alloc();
    int code = d->packet ? BL_OK : bl_error_memory(e);
    if (!code && !sessions)
        code = decode_open_codec(d, e);
    else if (!code)
        code = bl_session_pool_acquire(sessions, s->codecpar, &d->session, e);
    if (code) {
        bl_decode_close(d);
        return code;
    }
    if (d->session) {
        bl_session_ready(d->session, s->time_base, s->avg_frame_rate);
        d->codec = d->session->codec;
    }
    return BL_OK;
}

int bl_decode_open(struct bl_decode *d, const char *path, int64_t bytes, int stream, enum bl_demux_mode mode,
                   const struct bl_kind_env *env, struct bl_error *e)
{
    return bl_decode_open_gpu(d, NULL, path, bytes, stream, mode, env, e);
}

/* Returns whether the decoder reported nothing unusual so far, so that a session may go on to another stream. */
static bool decode_is_clean(const struct bl_decode *d)
{
    return !d->errors && !d->truncated && !d->unusual;
}

void bl_decode_close(struct bl_decode *d)
{
    if (d->sessions)
        bl_session_pool_release(d->sessions, &d->session, decode_is_clean(d));
    else
        avcodec_free_context(&d->codec);
    bl_deinterlace_close(d->deinterlace);
    d->deinterlace = NULL;
    bl_decoder_guard_close(&d->guard);
    av_packet_free(&d->packet);
    av_packet_free(&d->opening);
    bl_demux_close(&d->demux);
}

/* Counts an error of the decoder. It is an error of the function only if the GPU is the cause. */
static int decode_add_error(struct bl_decode *d, int libav_code, struct bl_error *e)
{
    d->errors++;
    if (!d->sessions)
        return BL_OK;
    int code = d->sessions->gpu->diagnose(d->sessions->queue, d->codec, libav_code == AVERROR_EXTERNAL, e);
    d->gpu_full = code == BL_GPU_FULL;
    if (d->gpu_full)
        return bl_error_set(e, BL_EFAIL,
                            "the GPU stopped decoding, most likely because its memory is not enough: use a smaller -j");
    return code;
}

/* Sends the current packet to the decoder, or, at the end, tells it to output what it holds. */
static int decode_send(struct bl_decode *d, bool got, struct bl_error *e)
{
    /* The packets of a transport stream are also marked where recordings were spliced, without any loss. */
    bool marked = got && d->packet->flags & AV_PKT_FLAG_CORRUPT && !bl_demux_is_transport(&d->demux);
    d->truncated = d->truncated || d->demux.end_error || marked;
    d->at_end = !got || (d->needed && d->packet->pts == d->needed->final);
    d->draining = !got;
    int code;
    if (got && d->packet->size < d->min_bytes)
        code = AVERROR_INVALIDDATA;
    else if (d->session)
        code = bl_session_send(d->session, got ? d->packet : NULL, decode_is_clean(d), &d->draining);
    else
        code = avcodec_send_packet(d->codec, got ? d->packet : NULL);
    if (code == AVERROR(EINVAL) || code == AVERROR_INVALIDDATA || code == AVERROR(ERANGE))
        bl_decoder_guard_examine(&d->guard, d->demux.stream->codecpar, d->packet);
    av_packet_unref(d->packet);
    if (bl_demux_is_memory(code))
        return bl_error_memory(e);
    return code < 0 && code != AVERROR_EOF ? decode_add_error(d, code, e) : BL_OK;
}

/* Removes discontinuities from the packet's times, in containers whose clock may be reset: the packet then begins where
 * the previous one ends, and all later ones are shifted by the same ticks. */
static void packet_rebase(struct bl_decode *d)
{
    AVPacket *packet = d->packet;
    if (!(d->demux.format->iformat->flags & AVFMT_TS_DISCONT) || packet->dts == AV_NOPTS_VALUE)
        return;
    AVRational tick = d->demux.stream->time_base;
    int64_t dts = packet->dts + d->shift;
    if (d->dts_end != AV_NOPTS_VALUE &&
        (dts < d->dts_end - av_rescale(GAP_BACK_MS, tick.den, 1000 * (int64_t)tick.num) ||
         dts > d->dts_end + av_rescale(GAP_AHEAD_MS, tick.den, 1000 * (int64_t)tick.num))) {
        d->shift += d->dts_end - dts;
        dts = d->dts_end;
    }
    packet->dts = dts;
    if (packet->pts != AV_NOPTS_VALUE)
        packet->pts += d->shift;
    d->dts_end = dts + FFMAX(packet->duration, 0);
}

/* Reads the first packet from which decoding can begin. If there is none, the file begins again, at its first one. */
static int decode_enter(struct bl_decode *d, bool *got, struct bl_error *e)
{
    struct bl_demux *demux = &d->demux;
    const AVCodecParameters *codec = demux->stream->codecpar;
    int length = bl_nal_length(codec->codec_id, codec->extradata, (size_t)FFMAX(codec->extradata_size, 0)), code;
    d->entered = true;
    do {
        code = bl_demux_next(demux, d->packet, got, e);
    } while (!code && *got && bl_entry_find(codec->codec_id, length, d->packet) == BL_ENTRY_NO);
    if (code || *got)
        return code;
    d->no_entry = true;
    const struct bl_kind_env *env = demux->env;
    const char *path = demux->file.path;
    struct bl_meter *meter = demux->meter;
    int64_t bytes = demux->file.bytes;
    int stream = demux->stream->index;
    bl_demux_close(demux);
    BL_TRY(bl_demux_open(demux, path, bytes, stream, d->mode, env, e));
    demux->meter = meter;
    return bl_demux_next(demux, d->packet, got, e);
}

/* Reads the next packet that is needed, and sends it. */
static int decode_feed(struct bl_decode *d, struct bl_error *e)
{
    bool got = false;
    int code = BL_OK;
    if (!d->entered && !d->at_end) {
        code = decode_enter(d, &got, e);
    } else if (!d->at_end) {
        do {
            code = bl_demux_next(&d->demux, d->packet, &got, e);
        } while (!code && got && d->needed && !bl_needed_has(d->needed, d->packet->pts));
    }
    if (code)
        return code;
    if (got && !d->opening && !(d->opening = av_packet_clone(d->packet)))
        return bl_error_memory(e);
    if (got)
        packet_rebase(d);
    return decode_send(d, got, e);
}

int bl_decode_seek(struct bl_decode *d, const struct bl_access_point *access_point, bool *found, struct bl_error *e)
{
    *found = false;
    if (d->deinterlace)
        bl_deinterlace_reset(d->deinterlace);
    if (d->opening) {
        /* A new decoder gets the first packet of the stream. */
        avcodec_free_context(&d->codec);
        bl_decoder_guard_close(&d->guard);
        d->at_end = d->draining = d->unusual = d->truncated = false;
        d->time_end = d->dts_end = AV_NOPTS_VALUE;
        d->shift = d->errors = 0;
        d->demux.end_error = 0;
        BL_TRY(decode_open_codec(d, e));
        av_packet_unref(d->packet);
        if (av_packet_ref(d->packet, d->opening) < 0)
            return bl_error_memory(e);
        BL_TRY(decode_send(d, true, e));
    } else {
        BL_TRY(decode_feed(d, e));
    }
    if (d->codec->codec_id == AV_CODEC_ID_HEVC) {
        /* Pictures of H.265 have numbers, which begin anew only at an instant refresh: so the pictures so far must end
         * here. From now on damaged pictures are errors: FFmpeg's decoder does not mark them, and leaves the previous
         * content of the memory in parts of them. */
        avcodec_flush_buffers(d->codec);
        if (!d->session)
            d->codec->err_recognition |= AV_EF_EXPLODE;
    }
    int code = bl_demux_seek(&d->demux, access_point->position, access_point->time, d->packet, found, e);
    if (!code && *found)
        return decode_send(d, true, e);
    av_packet_unref(d->packet);
    return code;
}

/* Copies the container's light levels to a PQ frame, where the stream itself has none. */
static int frame_add_light(const struct bl_decode *d, AVFrame *frame, struct bl_error *e)
{
    static const struct {
        enum AVPacketSideDataType of_stream;
        enum AVFrameSideDataType of_frame;
    } kinds[] = {{AV_PKT_DATA_CONTENT_LIGHT_LEVEL, AV_FRAME_DATA_CONTENT_LIGHT_LEVEL},
                 {AV_PKT_DATA_MASTERING_DISPLAY_METADATA, AV_FRAME_DATA_MASTERING_DISPLAY_METADATA}};
    for (int i = 0; i < 2 && frame->color_trc == AVCOL_TRC_SMPTE2084; i++) {
        size_t size = 0;
        const uint8_t *data = bl_compat_side_data(d->demux.stream, kinds[i].of_stream, &size);
        if (!data || av_frame_get_side_data(frame, kinds[i].of_frame))
            continue;
        AVFrameSideData *side = av_frame_new_side_data(frame, kinds[i].of_frame, size);
        if (!side)
            return bl_error_memory(e);
        memcpy(side->data, data, size);
    }
    return BL_OK;
}

/* Decodes the next frame, as it is in the stream. */
static int decode_frame(struct bl_decode *d, AVFrame *frame, bool *got, struct bl_error *e)
{
    *got = false;
    for (;;) {
        if (bl_cancelled(d->demux.file.cancel))
            return bl_error_set(e, BL_ECANCEL, "cancelled");
        int received = avcodec_receive_frame(d->codec, frame), code = bl_decoder_guard_check(&d->guard, e);
        if (code)
            return code;
        if (received == 0)
            bl_cancel_beat(d->demux.file.cancel);
        if (received == 0 && d->session)
            bl_session_guess_time(d->session, frame);
        *got = received == 0 && !(frame->flags & AV_FRAME_FLAG_DISCARD);
        if (*got)
            break;
        if (received == AVERROR_EOF || (received == AVERROR(EAGAIN) && d->draining))
            return BL_OK;
        if (bl_demux_is_memory(received))
            return bl_error_memory(e);
        if (received < 0 && received != AVERROR(EAGAIN))
            code = decode_add_error(d, received, e);
        if (!code && received < 0 && !d->draining)
            code = decode_feed(d, e);
        if (code)
            return code;
    }
    if (frame->best_effort_timestamp == AV_NOPTS_VALUE)
        frame->best_effort_timestamp = d->time_end;
    d->time_end = bl_decode_time_end(d, frame);
    d->unusual = d->unusual || bl_compat_is_interlaced(frame) || bl_decode_is_damaged(frame);
    /* FFmpeg crops surfaces only at the right and the bottom; their readers start at crop_left and crop_top. */
    if (frame->hw_frames_ctx) {
        frame->width -= (int)frame->crop_left;
        frame->height -= (int)frame->crop_top;
    }
    return frame_add_light(d, frame, e);
}

int bl_decode_deinterlace(struct bl_decode *d, enum bl_deinterlace_mode mode, struct bl_error *e)
{
    if (mode == BL_DEINTERLACE_OFF || d->deinterlace)
        return BL_OK;
    return bl_deinterlace_open(&d->deinterlace, mode, e);
}

int bl_decode_next(struct bl_decode *d, AVFrame *frame, bool *got, struct bl_error *e)
{
    if (!d->deinterlace)
        return decode_frame(d, frame, got, e);
    for (;;) {
        bool more;
        BL_TRY(bl_deinterlace_take(d->deinterlace, frame, got, e));
        if (*got || bl_deinterlace_ended(d->deinterlace))
            return BL_OK;
        BL_TRY(decode_frame(d, frame, &more, e));
        BL_TRY(bl_deinterlace_push(d->deinterlace, more ? frame : NULL, e));
    }
}

bool bl_decode_is_damaged(const AVFrame *frame)
{
    return frame->decode_error_flags || frame->flags & AV_FRAME_FLAG_CORRUPT;
}

int64_t bl_decode_time_end(const struct bl_decode *d, const AVFrame *frame)
{
    int64_t start = bl_frame_time(frame), duration = bl_compat_duration(frame);
    if (duration <= 0 && d->codec->framerate.num > 0 && d->codec->framerate.den > 0)
        duration = av_rescale_q(1, av_inv_q(d->codec->framerate), d->demux.stream->time_base);
    if (start == AV_NOPTS_VALUE || duration > INT64_MAX - FFMAX(start, 0))
        return start;
    return start + FFMAX(duration, 0);
}
