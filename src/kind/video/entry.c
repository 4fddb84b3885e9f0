/* See entry.h. The types of pictures: ITU-T H.265 7.4.2.2, H.263 5.1.3; ISO 14496-2 6.2.5; Theora specification 7.1;
 * Sorenson's and Microsoft's variants of H.263 as FFmpeg's decoders read them. */
#include "kind/video/entry.h"

#include <libavcodec/codec_desc.h>

#include "kind/video/nal.h"

static enum bl_entry entry_if(bool intra)
{
    return intra ? BL_ENTRY_YES : BL_ENTRY_NO;
}

static enum bl_entry entry_of_hevc(const uint8_t *data, size_t size, int nal_length)
{
    enum { INTRA_FIRST = 16, INTRA_LAST = 23, PICTURES = 32 };
    struct bl_access_unit unit = {.at = data, .end = data + size};
    struct bl_nal nal;
    while (bl_access_unit_next(&unit, nal_length, &nal)) {
        unsigned type = nal.size ? nal.data[0] >> 1 & 63 : PICTURES;
        if (type < PICTURES)
            return entry_if(type >= INTRA_FIRST && type <= INTRA_LAST);
    }
    return BL_ENTRY_NO;
}

static enum bl_entry entry_of_mpeg4(const uint8_t *data, size_t size)
{
    const uint8_t *end = data + size;
    for (const uint8_t *at = bl_start_code_find(data, end); at && end - at >= 2; at = bl_start_code_find(at, end)) {
        if (*at == 0xb6)
            return entry_if(at[1] >> 6 == 0);
    }
    return BL_ENTRY_NO;
}

/* The type stands with the source format, or, if that is "extended", behind the optional part of the header. */
static enum bl_entry entry_of_h263(struct bl_bits *b)
{
    bl_bits_skip(b, 35);
    unsigned format = bl_bits_get(b, 3);
    if (format != 7)
        return entry_if(!bl_bits_get(b, 1));
    if (bl_bits_get(b, 3) == 1)
        bl_bits_skip(b, 18);
    return entry_if(bl_bits_get(b, 3) == 0);
}

static enum bl_entry entry_of_flv1(struct bl_bits *b)
{
    bl_bits_skip(b, 30);
    unsigned size = bl_bits_get(b, 3);
    bl_bits_skip(b, size == 0 ? 16 : size == 1 ? 32 : 0);
    return entry_if(bl_bits_get(b, 2) == 0);
}

enum bl_entry bl_entry_find(enum AVCodecID codec, int nal_length, const AVPacket *packet)
{
    size_t size = (size_t)FFMAX(packet->size, 0);
    struct bl_bits b = {.data = packet->data, .size = size};
    if (size == 0)
        return BL_ENTRY_UNKNOWN;
    switch (codec) {
    case AV_CODEC_ID_HEVC:
        return entry_of_hevc(packet->data, size, nal_length);
    case AV_CODEC_ID_MPEG4:
        return entry_of_mpeg4(packet->data, size);
    case AV_CODEC_ID_H263:
    case AV_CODEC_ID_H263P:
        return entry_of_h263(&b);
    case AV_CODEC_ID_FLV1:
        return entry_of_flv1(&b);
    case AV_CODEC_ID_MSMPEG4V1:
        bl_bits_skip(&b, 32);
        return entry_if(bl_bits_get(&b, 2) == 0);
    case AV_CODEC_ID_MSMPEG4V2:
    case AV_CODEC_ID_MSMPEG4V3:
    case AV_CODEC_ID_WMV1:
        return entry_if(bl_bits_get(&b, 2) == 0);
    case AV_CODEC_ID_WMV2:
    case AV_CODEC_ID_VP3:
        return entry_if(!bl_bits_get(&b, 1));
    case AV_CODEC_ID_THEORA:
        return entry_if(!(packet->data[0] & 0x40));
    case AV_CODEC_ID_H264: /* these decoders begin where they can */
    case AV_CODEC_ID_MPEG1VIDEO:
    case AV_CODEC_ID_MPEG2VIDEO:
    case AV_CODEC_ID_VP8:
    case AV_CODEC_ID_VP9:
    case AV_CODEC_ID_AV1:
    case AV_CODEC_ID_FFV1:
        return BL_ENTRY_YES;
    default: {
        const AVCodecDescriptor *known = avcodec_descriptor_get(codec);
        return known && known->props & AV_CODEC_PROP_INTRA_ONLY ? BL_ENTRY_YES : BL_ENTRY_UNKNOWN;
    }
    }
}
