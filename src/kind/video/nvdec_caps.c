#include "kind/video/nvdec_caps.h"

#include <libavutil/pixdesc.h>
#include <pthread.h>
#include <stdlib.h>

#include "kind/video/backend.h"

#define DEPTHS 3 /* 8, 10 and 12 bits */

struct answer {
    bool known;
    CUVIDDECODECAPS caps;
};

struct bl_caps {
    pthread_mutex_t lock; /* also while the driver is asked: it answers one after the other anyhow */
    struct answer answer[cudaVideoCodec_NumCodecs][DEPTHS];
};

int bl_caps_open(struct bl_caps **out, struct bl_error *e)
{
    struct bl_caps *caps = calloc(1, sizeof *caps);
    if (!caps)
        return bl_error_memory(e);
    pthread_mutex_init(&caps->lock, NULL); /* cannot fail on Linux */
    *out = caps;
    return BL_OK;
}

void bl_caps_close(struct bl_caps *caps)
{
    if (!caps)
        return;
    pthread_mutex_destroy(&caps->lock);
    free(caps);
}

/* Answers that fail are not kept. */
static int caps_ask(const struct bl_device *device, cudaVideoCodec codec, int depth, struct answer *answer,
                    struct bl_error *e)
{
    if (answer->known)
        return BL_OK;
    answer->caps = (CUVIDDECODECAPS){
        .eCodecType = codec, .eChromaFormat = cudaVideoChromaFormat_420, .nBitDepthMinus8 = (unsigned)depth - 8};
    int code = bl_device_enter(device, e);
    if (!code)
        code = bl_device_leave(device, "report what it can decode",
                               device->driver->video->cuvidGetDecoderCaps(&answer->caps), e);
    answer->known = !code;
    return code;
}

static int caps_find(struct bl_caps *caps, const struct bl_device *device, cudaVideoCodec codec, int depth,
                     CUVIDDECODECAPS *out, struct bl_error *e)
{
    struct answer *answer = &caps->answer[codec][(depth - 8) / 2];
    pthread_mutex_lock(&caps->lock);
    int code = caps_ask(device, codec, depth, answer, e);
    *out = answer->caps;
    pthread_mutex_unlock(&caps->lock);
    return code;
}

static bool codec_to_cuvid(enum AVCodecID id, cudaVideoCodec *codec)
{
    static const struct {
        enum AVCodecID id;
        cudaVideoCodec codec;
    } codecs[] = {{AV_CODEC_ID_H264, cudaVideoCodec_H264},        {AV_CODEC_ID_HEVC, cudaVideoCodec_HEVC},
                  {AV_CODEC_ID_VP8, cudaVideoCodec_VP8},          {AV_CODEC_ID_VP9, cudaVideoCodec_VP9},
                  {AV_CODEC_ID_AV1, cudaVideoCodec_AV1},          {AV_CODEC_ID_MJPEG, cudaVideoCodec_JPEG},
                  {AV_CODEC_ID_MPEG1VIDEO, cudaVideoCodec_MPEG1}, {AV_CODEC_ID_MPEG2VIDEO, cudaVideoCodec_MPEG2},
                  {AV_CODEC_ID_MPEG4, cudaVideoCodec_MPEG4},      {AV_CODEC_ID_VC1, cudaVideoCodec_VC1},
                  {AV_CODEC_ID_WMV3, cudaVideoCodec_VC1}};
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        if (codecs[i].id == id) {
            *codec = codecs[i].codec;
            return true;
        }
    }
    return false;
}

int bl_caps_can_decode(struct bl_caps *all, const struct bl_device *device, const struct bl_gpu_stream *s, bool *can,
                       struct bl_error *e)
{
    cudaVideoCodec codec;
    CUVIDDECODECAPS caps;
    *can = codec_to_cuvid(s->codec, &codec) && bl_backend_supports_format(s->format);
    if (!*can)
        return BL_OK;
    int depth = av_pix_fmt_desc_get(s->format)->comp[0].depth;
    int code = caps_find(all, device, codec, depth, &caps, e);
    if (code)
        return code;
    cudaVideoSurfaceFormat surface = depth > 8 ? cudaVideoSurfaceFormat_P016 : cudaVideoSurfaceFormat_NV12;
    unsigned width = (unsigned)s->width, height = (unsigned)s->height;
    *can = caps.bIsSupported && caps.nOutputFormatMask & 1u << surface && width >= caps.nMinWidth &&
           width <= caps.nMaxWidth && height >= caps.nMinHeight && height <= caps.nMaxHeight &&
           (uint64_t)width * height / 256 <= caps.nMaxMBCount;
    return BL_OK;
}

int bl_caps_engines(struct bl_caps *all, const struct bl_device *device, int *engines, struct bl_error *e)
{
    CUVIDDECODECAPS caps;
    int code = caps_find(all, device, cudaVideoCodec_H264, 8, &caps, e);
    *engines = code ? 0 : caps.nNumNVDECs;
    return code;
}
