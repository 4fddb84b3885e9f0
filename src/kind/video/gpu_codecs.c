#include "kind/video/gpu_codecs.h"

#include "kind/video/nvdec.h"

#define WIDTH 1920
#define HEIGHT 1080

/* Not MPEG-4 part 2, which the engines decode: in MP4 its size is known only from the first frame, when FFmpeg has
 * already asked for surfaces. */
int bl_gpu_append_codecs(struct bl_gpu *gpu, struct bl_buffer *out, struct bl_error *e)
{
    static const struct {
        const char *name;
        enum AVCodecID id;
        enum AVPixelFormat format;
    } codecs[] = {
        {"H.264", AV_CODEC_ID_H264, AV_PIX_FMT_YUV420P},
        {"HEVC", AV_CODEC_ID_HEVC, AV_PIX_FMT_YUV420P},
        {"HEVC 10 bits", AV_CODEC_ID_HEVC, AV_PIX_FMT_YUV420P10},
        {"AV1", AV_CODEC_ID_AV1, AV_PIX_FMT_YUV420P},
        {"VP9", AV_CODEC_ID_VP9, AV_PIX_FMT_YUV420P},
        {"MPEG-2", AV_CODEC_ID_MPEG2VIDEO, AV_PIX_FMT_YUV420P},
    };
    bool some = false;
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        const struct bl_gpu_stream stream = {codecs[i].id, codecs[i].format, WIDTH, HEIGHT};
        bool can;
        int code = bl_nvdec_functions.can_decode(gpu, &stream, &can, e);
        if (code)
            return code;
        if (can)
            bl_buffer_printf(out, "%s%s", some ? ", " : "", codecs[i].name);
        some |= can;
    }
    return BL_OK;
}
