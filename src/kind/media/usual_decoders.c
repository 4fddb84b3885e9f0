#include "kind/media/usual_decoders.h"

#include <libavcodec/avcodec.h>
#include <string.h>

#include "kind/media/allowlist.h"

static const struct {
    const char *name;
    enum AVCodecID id;
} codecs[] = {
    {"H.264", AV_CODEC_ID_H264},        {"HEVC", AV_CODEC_ID_HEVC},     {"AV1", AV_CODEC_ID_AV1},
    {"VP9", AV_CODEC_ID_VP9},           {"VP8", AV_CODEC_ID_VP8},       {"MPEG-4", AV_CODEC_ID_MPEG4},
    {"MPEG-2", AV_CODEC_ID_MPEG2VIDEO}, {"ProRes", AV_CODEC_ID_PRORES}, {"FFV1", AV_CODEC_ID_FFV1},
    {"MJPEG", AV_CODEC_ID_MJPEG},       {"PNG", AV_CODEC_ID_PNG},       {"AAC", AV_CODEC_ID_AAC},
    {"MP3", AV_CODEC_ID_MP3},           {"Opus", AV_CODEC_ID_OPUS},     {"Vorbis", AV_CODEC_ID_VORBIS},
    {"FLAC", AV_CODEC_ID_FLAC},         {"PCM", AV_CODEC_ID_PCM_S16LE},
};

/* FFmpeg's own decoder of AV1 only drives GPUs. */
static bool decoder_is_usable(const AVCodec *decoder)
{
    return decoder && bl_allowlist_has(bl_allowlist_decoders, decoder->name) &&
           !(decoder->id == AV_CODEC_ID_AV1 && strcmp(decoder->name, "av1") == 0);
}

bool bl_usual_decoder(int i, const char **codec, const char **decoder)
{
    if (i >= (int)(sizeof codecs / sizeof *codecs))
        return false;
    const AVCodec *found = avcodec_find_decoder(codecs[i].id); /* as the kinds do */
    *codec = codecs[i].name;
    *decoder = decoder_is_usable(found) ? found->name : NULL;
    return true;
}
