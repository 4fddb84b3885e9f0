#include "kind/video/backend.h"

#include <libavutil/pixdesc.h>
#include <string.h>

#include "kind/media/demux.h"

#define PROBE_PACKETS 256 /* streams that start between keyframes have no header at once */

static bool codec_supports_gpu(const AVCodec *codec)
{
    const AVCodecHWConfig *config;
    for (int i = 0; (config = avcodec_get_hw_config(codec, i)); i++) {
        if (config->methods & AV_CODEC_HW_CONFIG_METHOD_HW_DEVICE_CTX && config->pix_fmt == AV_PIX_FMT_CUDA &&
            !(codec->capabilities & AV_CODEC_CAP_HARDWARE))
            return true;
    }
    return false;
}

const AVCodec *bl_backend_find_decoder(enum AVCodecID id)
{
    const AVCodec *codec;
    void *at = NULL;
    while ((codec = av_codec_iterate(&at))) {
        if (codec->id == id && av_codec_is_decoder(codec) && codec_supports_gpu(codec))
            return codec;
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

/* Notes the format as soon as the decoder knows it, and stops the decoder. */
static enum AVPixelFormat backend_get_format(AVCodecContext *context, const enum AVPixelFormat *formats)
{
    struct bl_gpu_stream *out = context->opaque;
    if (!bl_backend_describe(context, formats, out))
        out->codec = AV_CODEC_ID_NONE;
    return AV_PIX_FMT_NONE;
}

/* Feeds packets until the format is known, or there are no more. */
static int backend_feed(struct bl_demux *d, AVCodecContext *context, const struct bl_gpu_stream *out,
                        struct bl_error *e)
{
    AVPacket *packet = av_packet_alloc();
    AVFrame *frame = av_frame_alloc();
    int code = packet && frame ? BL_OK : bl_error_memory(e);
    for (int i = 0; i < PROBE_PACKETS && !code && out->format == AV_PIX_FMT_NONE; i++) {
        bool got;
        code = bl_demux_next(d, packet, &got, e);
        if (code || !got)
            break;
        if (avcodec_send_packet(context, packet) >= 0 && avcodec_receive_frame(context, frame) >= 0)
            av_frame_unref(frame);
        av_packet_unref(packet);
    }
    av_packet_free(&packet);
    av_frame_free(&frame);
    return code;
}

static int backend_probe_stream(struct bl_demux *d, struct bl_gpu_stream *out, struct bl_error *e)
{
    const AVCodec *decoder = bl_backend_find_decoder(d->stream->codecpar->codec_id);
    if (!decoder)
        return BL_OK;
    AVCodecContext *context = avcodec_alloc_context3(decoder);
    if (!context)
        return bl_error_memory(e);
    int code = BL_OK;
    if (avcodec_parameters_to_context(context, d->stream->codecpar) < 0)
        goto out;
    context->thread_count = 1;
    context->opaque = out;
    context->get_format = backend_get_format;
    if (avcodec_open2(context, decoder, NULL) >= 0)
        code = backend_feed(d, context, out, e);
out:
    avcodec_free_context(&context);
    return code;
}

int bl_backend_probe(const char *path, int64_t bytes, int stream, const struct bl_kind_env *env,
                     struct bl_gpu_stream *out, struct bl_error *e)
{
    *out = (struct bl_gpu_stream){.codec = AV_CODEC_ID_NONE, .format = AV_PIX_FMT_NONE};
    struct bl_demux d;
    int code = bl_demux_open(&d, path, bytes, stream, BL_DEMUX_COUNT, env, e);
    if (code)
        return code == BL_EDATA ? BL_OK : code;
    code = backend_probe_stream(&d, out, e);
    bl_demux_close(&d);
    return code;
}

/* 4:2:0, of 8, 10 or 12 bits. */
bool bl_backend_supports_format(enum AVPixelFormat format)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(format);
    return desc && desc->nb_components == 3 && !(desc->flags & AV_PIX_FMT_FLAG_RGB) && desc->log2_chroma_w == 1 &&
           desc->log2_chroma_h == 1 && desc->comp[0].depth <= 12;
}

static int backend_refuse(const struct bl_gpu_stream *s, struct bl_error *e)
{
    if (s->format == AV_PIX_FMT_NONE)
        return bl_error_set(e, BL_EDATA, "no GPU decodes such a stream: --decoder auto decodes it on the processor");
    if (s->codec == AV_CODEC_ID_NONE)
        return bl_error_set(
            e, BL_EDATA, "FFmpeg hands such a stream to no GPU (%s, %dx%d): --decoder auto decodes it on the processor",
            av_get_pix_fmt_name(s->format), s->width, s->height);
    if (!s->width) /* only the frames tell */
        return bl_error_set(e, BL_EDATA, "the GPU does not decode it (%s): --decoder auto does so on the processor",
                            avcodec_get_name(s->codec));
    return bl_error_set(e, BL_EDATA,
                        "the GPU does not decode it (%s, %s, %dx%d): --decoder auto does so on the processor",
                        avcodec_get_name(s->codec), av_get_pix_fmt_name(s->format), s->width, s->height);
}

int bl_backend_choose(const struct bl_video_config *config, const struct bl_kind_env *env, const char *path,
                      int64_t bytes, int stream, bool damaged, enum bl_backend *backend, struct bl_error *e)
{
    *backend = BL_BACKEND_CPU;
    if (!config->gpu || (damaged && config->decoder == BL_DECODER_AUTO))
        return BL_OK;
    struct bl_gpu_stream probed;
    bool can = false;
    int code = bl_backend_probe(path, bytes, stream, env, &probed, e);
    if (code)
        return code;
    if (probed.codec != AV_CODEC_ID_NONE && bl_backend_supports_format(probed.format))
        code = config->gpu_functions->can_decode(config->gpu, &probed, &can, e);
    if (code)
        return code;
    if (!can && config->decoder == BL_DECODER_NVDEC)
        return backend_refuse(&probed, e);
    *backend = can ? BL_BACKEND_NVDEC : BL_BACKEND_CPU;
    return BL_OK;
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
                            "the scan chose a GPU for it, and there is no usable one here: continue on a machine "
                            "with a GPU, or start again with --decoder cpu");
    return BL_OK;
}
