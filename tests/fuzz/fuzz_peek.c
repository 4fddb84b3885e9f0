/* Packets of every codec that is peeked into: any bytes, cut into packets of any size. The first byte is the codec,
 * then follow the size of the container's headers, that of packets less 1, one that means nothing, the headers, the
 * packets. */
#include <libavutil/mem.h>
#include <string.h>

#include "fuzz.h"
#include "kind/video/peek.h"

static const enum AVCodecID codecs[] = {
    AV_CODEC_ID_H264,  AV_CODEC_ID_HEVC,       AV_CODEC_ID_VP8,        AV_CODEC_ID_VP9,    AV_CODEC_ID_AV1,
    AV_CODEC_ID_MPEG4, AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG2VIDEO, AV_CODEC_ID_PRORES, AV_CODEC_ID_THEORA,
    AV_CODEC_ID_H263,  AV_CODEC_ID_FLV1,       AV_CODEC_ID_MSMPEG4V3};

/* A packet in memory of just its size, so that a read past its end is seen; libav's own parsers need their padding,
 * ours not. */
static void peek(struct bl_peek *p, const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    never(!copy);
    memcpy(copy, data, size);
    AVPacket *packet = av_packet_alloc();
    never(!packet);
    packet->data = copy;
    packet->size = (int)size;
    packet->flags = size & 1 ? AV_PKT_FLAG_KEY : 0;
    never(bl_peek_packet(p, packet) < 0);
    never(p->needs < 0 || p->needs >= p->packets || (p->opens && !p->suspicious && p->needs != p->packets - 1));
    packet->data = NULL;
    packet->size = 0;
    av_packet_free(&packet);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4)
        return 0;
    AVCodecParameters *parameters = avcodec_parameters_alloc();
    never(!parameters);
    parameters->codec_type = AVMEDIA_TYPE_VIDEO;
    parameters->codec_id = codecs[data[0] % (sizeof codecs / sizeof *codecs)];
    size_t extra = data[1] < size - 4 ? data[1] : 0;
    if (extra) {
        parameters->extradata = av_mallocz(extra + AV_INPUT_BUFFER_PADDING_SIZE);
        never(!parameters->extradata);
        memcpy(parameters->extradata, data + 4, extra);
        parameters->extradata_size = (int)extra;
    }
    struct bl_peek p;
    bl_peek_init(&p, parameters);
    size_t packet = (size_t)data[2] + 1;
    for (size_t at = 4 + extra; at < size; at += packet)
        peek(&p, data + at, size - at < packet ? size - at : packet);
    avcodec_parameters_free(&parameters);
    return 0;
}
