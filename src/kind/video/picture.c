#include "kind/video/picture.h"

#include <libavcodec/avcodec.h>
#include <libavutil/dovi_meta.h>
#include <libavutil/pixdesc.h>

#include "kind/media/compat.h"

struct bl_convert_options bl_picture_options(const struct bl_video_config *config, enum bl_simd simd)
{
    return (struct bl_convert_options){.simd = simd,
                                       .channels = (enum bl_channels)config->pixels,
                                       .hdr_clip = config->hdr == BL_HDR_CLIP,
                                       .hdr_tonemap = config->hdr == BL_HDR_TONEMAP};
}

static int picture_make_geometry(const struct bl_video_config *config, int width, int height, AVRational sar,
                                 const int32_t *matrix, struct bl_geometry *geometry, struct bl_error *e)
{
    struct bl_geometry_input input = {
        .coded_width = width,
        .coded_height = height,
        .sar_num = config->ignore_sar ? 1 : sar.num,
        .sar_den = config->ignore_sar ? 1 : sar.den,
        .matrix = matrix,
        .target_width = config->size.width,
        .target_height = config->size.height,
        .fit = (enum bl_fit)config->fit,
        .resize = (enum bl_resize)config->resize,
    };
    return bl_geometry_make(geometry, &input, e);
}

/* The container's display matrix, [9], or NULL. */
static const int32_t *stream_matrix(const AVStream *stream)
{
    size_t size = 0;
    const uint8_t *data = bl_compat_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, &size);
    return data && size >= 9 * sizeof(int32_t) ? (const int32_t *)(const void *)data : NULL;
}

/* Whether a decoder must be opened to learn if the stream cannot be decoded, or has pictures that cannot be converted.
 * This takes as long as counting a small file; of the common codecs the packets tell (peek.h). */
static bool codec_must_open(const AVCodecParameters *codec)
{
    switch (codec->codec_id) {
    case AV_CODEC_ID_HEVC:
    case AV_CODEC_ID_AV1:
    case AV_CODEC_ID_H264:
    case AV_CODEC_ID_VP8:
    case AV_CODEC_ID_VP9:
    case AV_CODEC_ID_MPEG4:
        return false;
    default:
        return true;
    }
}

bool bl_picture_is_told_by_frames(const struct bl_video_config *config, enum AVCodecID codec)
{
    return config->pixels == BL_CHANNELS_GRAY16 || codec == AV_CODEC_ID_JPEG2000 || codec == AV_CODEC_ID_DNXHD ||
           codec == AV_CODEC_ID_CFHD || codec == AV_CODEC_ID_TIFF || codec == AV_CODEC_ID_VC1 ||
           codec == AV_CODEC_ID_RAWVIDEO;
}

int bl_picture_check_frame(const struct bl_video_config *config, const AVFrame *frame, struct bl_error *e)
{
    struct bl_convert_options options = bl_picture_options(config, BL_SIMD_NONE);
    return bl_convert_check((enum AVPixelFormat)frame->format, frame->color_trc, frame->colorspace, &options, e);
}

/* Numbers that nobody has named count as not said, but of AV1. */
int bl_picture_check_tags(const struct bl_video_config *config, enum AVCodecID codec, uint32_t transfers,
                          uint32_t matrices, struct bl_error *e)
{
    struct bl_convert_options options = bl_picture_options(config, BL_SIMD_NONE);
    int code = BL_OK;
    for (int i = 0; i < 32 && !code; i++) {
        enum AVColorTransferCharacteristic transfer = AVCOL_TRC_UNSPECIFIED;
        enum AVColorSpace matrix = AVCOL_SPC_UNSPECIFIED;
        if (transfers >> i & 1)
            transfer = (enum AVColorTransferCharacteristic)i;
        if (matrices >> i & 1 && (codec == AV_CODEC_ID_AV1 || av_color_space_name((enum AVColorSpace)i)))
            matrix = (enum AVColorSpace)i;
        code = bl_convert_check(AV_PIX_FMT_NONE, transfer, matrix, &options, e);
    }
    return code;
}

static int codec_check(const AVCodecParameters *codec, const AVCodec *decoder, const struct bl_convert_options *options,
                       struct bl_error *e)
{
    AVCodecContext *context = avcodec_alloc_context3(decoder);
    if (!context)
        return bl_error_memory(e);
    int code = avcodec_parameters_to_context(context, codec);
    if (code >= 0) {
        context->thread_count = 1;
        code = avcodec_open2(context, decoder, NULL);
    }
    if (bl_demux_is_memory(code))
        code = bl_error_memory(e);
    else if (code < 0)
        code = bl_error_set(e, BL_EDATA, "damaged: the %s decoder cannot be opened", decoder->name);
    else
        code = bl_convert_check(context->pix_fmt, context->color_trc, context->colorspace, options, e);
    avcodec_free_context(&context);
    return code;
}

/* Of Dolby Vision's profiles, 5, 10.0 and 20 have pictures in IPT without another form beside it: they look green and
 * purple as YUV. The others show HDR10, HLG or SDR, which the stream's own tags say. */
static int stream_check_dolby_vision(const AVStream *stream, struct bl_error *e)
{
    size_t size = 0;
    const uint8_t *data = bl_compat_side_data(stream, AV_PKT_DATA_DOVI_CONF, &size);
    const AVDOVIDecoderConfigurationRecord *record = (const void *)data;
    if (!data || size < offsetof(AVDOVIDecoderConfigurationRecord, dv_bl_signal_compatibility_id) + 1)
        return BL_OK;
    int profile = record->dv_profile, compatible = record->dv_bl_signal_compatibility_id;
    if (profile != 5 && (compatible != 0 || (profile != 10 && profile != 20)))
        return BL_OK;
    return bl_error_set(
        e, BL_EDATA,
        "it is HDR (Dolby Vision, profile %d.%d), whose colours (IPT) bload cannot turn into RGB: convert "
        "it, as by ffmpeg's libplacebo filter",
        profile, compatible);
}

int bl_picture_check(const struct bl_demux *d, const struct bl_video_config *config, struct bl_error *e)
{
    const AVCodecParameters *codec = d->stream->codecpar;
    const AVCodec *decoder = avcodec_find_decoder(codec->codec_id);
    if (!decoder)
        return bl_error_set(e, BL_EDATA, "no decoder for %s",
                            codec->codec_id ? avcodec_get_name(codec->codec_id) : "its unknown codec");
    int code = stream_check_dolby_vision(d->stream, e);
    if (code)
        return code;
    struct bl_convert_options options = bl_picture_options(config, BL_SIMD_NONE);
    code = bl_convert_check((enum AVPixelFormat)codec->format, codec->color_trc, codec->color_space, &options, e);
    if (!code && codec_must_open(codec))
        code = codec_check(codec, decoder, &options, e);
    if (code || codec->width <= 0 || codec->height <= 0)
        return code;
    struct bl_geometry geometry;
    AVRational sar = d->stream->sample_aspect_ratio;
    return picture_make_geometry(config, codec->width, codec->height, sar.num > 0 ? sar : codec->sample_aspect_ratio,
                                 stream_matrix(d->stream), &geometry, e);
}

int bl_picture_geometry(const struct bl_demux *d, const struct bl_video_config *config, AVFrame *frame,
                        struct bl_geometry *geometry, struct bl_error *e)
{
    const int32_t *matrix = d ? stream_matrix(d->stream) : NULL;
    const AVFrameSideData *side = av_frame_get_side_data(frame, AV_FRAME_DATA_DISPLAYMATRIX);
    if (!matrix && side && side->size >= 9 * sizeof(int32_t))
        matrix = (const int32_t *)(const void *)side->data;
    AVRational sar = d ? av_guess_sample_aspect_ratio(d->format, d->stream, frame) : (AVRational){1, 1};
    return picture_make_geometry(config, frame->width, frame->height, sar, matrix, geometry, e);
}
