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

/* Returns a decoder that can hand its work to a GPU, or NULL: such decoders ask for a pixel format before they decode a
 * picture, as others may not. */
static const AVCodec *backend_find_decoder(enum AVCodecID id)
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

/* Notes codec, format and size as soon as the decoder knows them, and stops the decoder by refusing all formats. */
static enum AVPixelFormat backend_get_format(AVCodecContext *context, const enum AVPixelFormat *formats)
{
    struct bl_gpu_stream *out = context->opaque;
    *out = (struct bl_gpu_stream){context->codec_id, AV_PIX_FMT_NONE, context->coded_width, context->coded_height};
    for (; *formats != AV_PIX_FMT_NONE; formats++)
        out->format = *formats; /* the last one is the processor's */
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
    const AVCodec *decoder = backend_find_decoder(parameters->codec_id);
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
    if (bl_backend_supports_format(s.format)) {
        BL_TRY(config->gpu_functions->can_decode(config->gpu, &s, &can, e));
    }
    *backend = can ? BL_BACKEND_NVDEC : BL_BACKEND_CPU;
    if (can || config->decoder != BL_DECODER_NVDEC)
        return BL_OK;
    if (s.format == AV_PIX_FMT_NONE)
        return bl_error_set(e, BL_EDATA, "no GPU decodes such a stream: --decoder auto decodes it on the processor");
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
    d->codec->apply_cropping = !d->gpu; /* a GPU's frames are cropped by the values in d->like */
    BL_TRY(bl_decoder_guard_open(&d->guard, d->codec, d->demux.env, e));
    code = avcodec_open2(d->codec, decoder, NULL);
    if (code < 0)
        return bl_demux_error(&d->demux, code, "the decoder cannot be opened", e);
    return BL_OK;
}

int bl_decode_open_gpu(struct bl_decode *d, struct bl_gpu_worker *gpu, const char *path, int64_t bytes, int stream,
                       enum bl_demux_mode mode, const struct bl_kind_env *env, struct bl_error *e)
{
    *d = (struct bl_decode){
        .gpu = gpu,
        .mode = mode,
        .sequence = -1,
        .times = {.last_pts = INT64_MIN, .last_dts = INT64_MIN},
        .time_end = AV_NOPTS_VALUE,
        .dts_end = AV_NOPTS_VALUE,
    };
    BL_TRY(bl_demux_open(&d->demux, path, bytes, stream, mode, env, e));
    const AVStream *s = d->demux.stream;
    d->min_bytes = bl_peek_min_bytes(s->codecpar);
    d->packet = av_packet_alloc();
    d->like = gpu ? av_frame_alloc() : NULL;
    int code = d->packet && !d->like == !gpu ? BL_OK : bl_error_memory(e);
    if (!code)
        code = decode_open_codec(d, e);
    if (!code && gpu)
        code = gpu->functions->begin(gpu->queue, s->codecpar, e);
    if (code) {
        bl_decode_close(d);
        return code;
    }
    d->on_gpu = gpu != NULL;
    return BL_OK;
}

int bl_decode_open(struct bl_decode *d, const char *path, int64_t bytes, int stream, enum bl_demux_mode mode,
                   const struct bl_kind_env *env, struct bl_error *e)
{
    return bl_decode_open_gpu(d, NULL, path, bytes, stream, mode, env, e);
}

void bl_decode_close(struct bl_decode *d)
{
    if (d->on_gpu)
        d->gpu->functions->end(d->gpu->queue);
    d->on_gpu = false;
    for (int i = 0; i < 2; i++)
        av_packet_free(&d->key[i]);
    av_frame_free(&d->like);
    avcodec_free_context(&d->codec);
    bl_deinterlace_close(d->deinterlace);
    d->deinterlace = NULL;
    bl_decoder_guard_close(&d->guard);
    av_packet_free(&d->packet);
    av_packet_free(&d->opening);
    bl_demux_close(&d->demux);
}

/* Sends the current packet to the GPU's decoder. The last packet at which decoding can begin is kept with the one
 * behind it, which may be its second field: see decode_describe. */
static int decode_send_gpu(struct bl_decode *d, bool got, struct bl_error *e)
{
    int refused = 0, code = BL_OK;
    if (got && (d->packet->flags & AV_PKT_FLAG_KEY || !d->key[0] || !d->key[1])) {
        bool second = d->key[0] && !(d->packet->flags & AV_PKT_FLAG_KEY);
        for (int i = second; i < 2; i++)
            av_packet_free(&d->key[i]);
        d->key[second] = av_packet_clone(d->packet);
        code = d->key[second] ? BL_OK : bl_error_memory(e);
        if (!code)
            d->key[second]->flags &= ~AV_PKT_FLAG_DISCARD; /* its picture counts, whether it is shown or not */
    }
    if (got)
        d->times.dts[d->times.packets++ % BL_DECODE_DTS] = d->packet->dts;
    if (!code)
        code = d->gpu->functions->send(d->gpu->queue, got ? d->packet : NULL, &refused, e);
    av_packet_unref(d->packet);
    d->errors += refused;
    d->gpu_full = code == BL_GPU_FULL;
    if (d->gpu_full)
        return bl_error_set(e, BL_EFAIL, "the GPU's memory is not enough for another decoder: use a smaller -j");
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
    else if (d->gpu)
        return decode_send_gpu(d, got, e);
    else
        code = avcodec_send_packet(d->codec, got ? d->packet : NULL);
    if (code == AVERROR(EINVAL) || code == AVERROR_INVALIDDATA || code == AVERROR(ERANGE))
        bl_decoder_guard_examine(&d->guard, d->demux.stream->codecpar, d->packet);
    av_packet_unref(d->packet);
    if (bl_demux_is_memory(code))
        return bl_error_memory(e);
    d->errors += code < 0 && code != AVERROR_EOF;
    return BL_OK;
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
    if (d->gpu) {
        d->entered = true; /* the access point is the first packet that the GPU gets */
    } else if (d->opening) {
        /* A new decoder gets the first packet of the stream. */
        avcodec_free_context(&d->codec);
        bl_decoder_guard_close(&d->guard);
        d->at_end = d->draining = d->truncated = false;
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
    if (d->codec->codec_id == AV_CODEC_ID_HEVC && !d->gpu) {
        /* Pictures of H.265 have numbers, which begin anew only at an instant refresh: so the pictures so far must end
         * here. From now on damaged pictures are errors: FFmpeg's decoder does not mark them, and leaves the previous
         * content of the memory in parts of them. */
        avcodec_flush_buffers(d->codec);
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

/* Decodes the first picture of the sequence on the processor into d->like, for the properties that a GPU's decoder does
 * not tell: the place of chroma, the pixels' aspect, side data, and the crop and the colours in FFmpeg's terms. */
static int decode_describe(struct bl_decode *d, struct bl_error *e)
{
    int code = AVERROR(EAGAIN);
    av_frame_unref(d->like);
    for (int packets = 1; packets <= 2 && code < 0 && d->key[packets - 1]; packets++) {
        avcodec_flush_buffers(d->codec);
        code = 0;
        for (int i = 0; i < packets && code >= 0; i++)
            code = avcodec_send_packet(d->codec, d->key[i]);
        if (code >= 0)
            code = avcodec_send_packet(d->codec, NULL);
        if (code >= 0)
            code = avcodec_receive_frame(d->codec, d->like);
        BL_TRY(bl_decoder_guard_check(&d->guard, e));
        if (bl_demux_is_memory(code))
            return bl_error_memory(e);
    }
    if (code < 0)
        return bl_error_set(e, BL_EDATA,
                            "damaged: the processor cannot decode its first picture, which has the "
                            "colours of those that the GPU decodes");
    return BL_OK;
}

/* Returns the best effort timestamp of a GPU's next frame, by libavcodec's algorithm. `delay` packets behind that of
 * the frame bring it out of libavcodec's decoder. */
static int64_t times_guess(struct bl_decode_times *t, int64_t pts, int delay)
{
    int64_t number = t->frames++ + delay;
    bool known = number < t->packets && number + BL_DECODE_DTS >= t->packets;
    int64_t dts = known ? t->dts[number % BL_DECODE_DTS] : AV_NOPTS_VALUE;
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
    return by_pts ? pts : dts;
}

/* Sets the properties of a GPU's frame to those of its sequence and its own times. */
static int frame_describe(struct bl_decode *d, AVFrame *frame, const struct bl_gpu_picture *picture, struct bl_error *e)
{
    AVFrame *like = d->like;
    if (d->sequence != picture->sequence) {
        BL_TRY(decode_describe(d, e));
        d->sequence = picture->sequence;
    }
    if (av_frame_copy_props(frame, like) < 0)
        return bl_error_memory(e);
    /* The coded size of the driver's parser may be rounded up. Where the processor's picture is another one, since no
     * keyframe began the sequence, the driver's parser knows the size. */
    int width = like->width, height = like->height;
    if (width <= frame->width && frame->width - width < 64 && height <= frame->height && frame->height - height < 64) {
        frame->width = width - (int)(like->crop_left + like->crop_right);
        frame->height = height - (int)(like->crop_top + like->crop_bottom);
    } else {
        frame->crop_left = (size_t)picture->left;
        frame->crop_top = (size_t)picture->top;
        frame->width = picture->width;
        frame->height = picture->height;
    }
    frame->crop_right = frame->crop_bottom = 0;
    frame->pts = picture->pts;
    frame->best_effort_timestamp = times_guess(&d->times, picture->pts, d->codec->has_b_frames);
    bl_compat_set_duration(frame, picture->duration);
    frame->flags &= ~(AV_FRAME_FLAG_CORRUPT | AV_FRAME_FLAG_DISCARD);
    frame->flags |= picture->discard ? AV_FRAME_FLAG_DISCARD : 0;
    frame->decode_error_flags = picture->concealed ? FF_DECODE_ERROR_INVALID_BITSTREAM : 0;
    return BL_OK;
}

/* Takes the next frame from the decoder. *received has libavcodec's codes: AVERROR(EAGAIN) if it needs a packet. */
static int decode_receive(struct bl_decode *d, AVFrame *frame, int *received, struct bl_error *e)
{
    if (!d->gpu) {
        *received = avcodec_receive_frame(d->codec, frame);
        return bl_decoder_guard_check(&d->guard, e);
    }
    struct bl_gpu_picture picture;
    av_frame_unref(frame);
    *received = d->gpu->functions->receive(d->gpu->queue, frame, &picture) ? 0 : AVERROR(EAGAIN);
    return *received ? BL_OK : frame_describe(d, frame, &picture, e);
}

/* Decodes the next frame, as it is in the stream. */
static int decode_frame(struct bl_decode *d, AVFrame *frame, bool *got, struct bl_error *e)
{
    *got = false;
    for (;;) {
        if (bl_cancelled(d->demux.file.cancel))
            return bl_error_set(e, BL_ECANCEL, "cancelled");
        int received, code = decode_receive(d, frame, &received, e);
        if (code)
            return code;
        if (received == 0)
            bl_cancel_beat(d->demux.file.cancel);
        *got = received == 0 && !(frame->flags & AV_FRAME_FLAG_DISCARD);
        if (*got)
            break;
        if (received == AVERROR_EOF || (received == AVERROR(EAGAIN) && d->draining))
            return BL_OK;
        if (bl_demux_is_memory(received))
            return bl_error_memory(e);
        d->errors += received < 0 && received != AVERROR(EAGAIN);
        if (received < 0 && !d->draining)
            code = decode_feed(d, e);
        if (code)
            return code;
    }
    if (frame->best_effort_timestamp == AV_NOPTS_VALUE)
        frame->best_effort_timestamp = d->time_end;
    d->time_end = bl_decode_time_end(d, frame);
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
