/* Examines packets codec by codec, as peek.h describes.
 *
 * The table codecs has a function for each codec, which sets the members of struct bl_peek that depend on the codec;
 * bl_peek_packet sets the others. In doubt a function sets peek->suspicious, which costs time alone: the file is
 * decoded then. */
#include "kind/video/peek.h"

#include <libavutil/pixfmt.h>
#include <string.h>

/* --- H.264 and H.265 ---------------------------------------------------------------------------------------------- */

/* The kinds of units that a packet has. */
struct unit_kinds {
    bool instant;           /* an instant refresh (IDR) */
    bool open;              /* another picture at which decoding may begin (CRA, BLA) */
    bool sequence, picture; /* parameter sets */
    bool referred; /* a slice of a picture that others may refer to, or a unit that is neither a slice nor a message */
};

/* Examines a NAL unit of at least two bytes; returns how many pictures begin in it. */
typedef int nal_peek(struct bl_peek *peek, const struct bl_nal *nal, struct unit_kinds *kinds);

/* Examines the units of a packet; returns the number of pictures, at least 1. Every access unit should have one
 * picture. An instant refresh resets the decoder; if parameter sets may come with pictures, it must bring its own. */
static int access_unit_peek(struct bl_peek *peek, const uint8_t *data, size_t size, struct unit_kinds *kinds,
                            nal_peek *peek_nal)
{
    struct bl_access_unit unit = {.at = data, .end = data + size};
    struct bl_nal nal;
    int pictures = 0;
    while (bl_access_unit_next(&unit, peek->nal_length, &nal)) {
        if (nal.size < 2)
            continue;
        peek->suspicious = peek->suspicious || nal.data[0] & 0x80; /* forbidden_zero_bit */
        pictures += peek_nal(peek, &nal, kinds);
    }
    peek->suspicious = peek->suspicious || unit.broken || pictures != 1;
    peek->disposable = pictures == 1 && !kinds->referred;
    peek->loose_headers = peek->loose_headers || kinds->sequence || kinds->picture;
    bool headed = !peek->loose_headers || (kinds->sequence && kinds->picture);
    peek->restarts = kinds->instant && headed;
    peek->opens = (kinds->instant || kinds->open) && headed;
    if (peek->preferred_transfer)
        peek->tags.transfer = peek->preferred_transfer;
    return pictures > 0 ? pictures : 1;
}

/* Notes the curve that a message prefers. As FFmpeg does, it ignores a message without a known curve. */
static void peek_prefer(struct bl_peek *peek, const struct bl_nal *nal, size_t head)
{
    uint8_t transfer = bl_nal_preferred_transfer(nal, head);
    if (transfer && transfer != AVCOL_TRC_UNSPECIFIED && transfer < AVCOL_TRC_NB)
        peek->preferred_transfer = transfer;
}

enum {
    H264_SLICE = 1,
    H264_PARTITION = 2,
    H264_IDR = 5,
    H264_MESSAGE = 6,
    H264_SPS = 7,
    H264_PPS = 8,
    H264_DELIMITER = 9,
    H264_FILLER = 12
};

/* Examines a unit of H.264, for access_unit_peek. */
static int h264_peek_nal(struct bl_peek *peek, const struct bl_nal *nal, struct unit_kinds *kinds)
{
    unsigned type = nal->data[0] & 31;
    peek->suspicious = peek->suspicious || type == 0;
    kinds->instant = kinds->instant || type == H264_IDR;
    kinds->sequence = kinds->sequence || type == H264_SPS;
    kinds->picture = kinds->picture || type == H264_PPS;
    bool apart = type == H264_MESSAGE || type == H264_DELIMITER || type == H264_FILLER;
    kinds->referred = kinds->referred || !(apart || (type == H264_SLICE && !(nal->data[0] & 0x60)));
    if (type == H264_MESSAGE)
        peek_prefer(peek, nal, 1);
    bl_h264_take(&peek->h264, nal);
    if ((type != H264_SLICE && type != H264_PARTITION && type != H264_IDR) || !(nal->data[1] >> 7))
        return 0; /* first_mb_in_slice is not 0 */
    struct bl_h264_picture picture = bl_h264_begin(&peek->h264, nal);
    peek->suspicious = peek->suspicious || !picture.known || picture.gap || picture.reset;
    peek->gaps += picture.gap;
    peek->resets += picture.reset;
    peek->tags = picture.tags;
    return 1;
}

/* Examines a packet of H.264. */
static int peek_h264(struct bl_peek *peek, const uint8_t *data, size_t size)
{
    struct unit_kinds kinds = {0};
    int pictures = access_unit_peek(peek, data, size, &kinds, h264_peek_nal);
    peek->suspicious = peek->suspicious || (peek->packets == 0 && !kinds.instant);
    return pictures;
}

enum {
    HEVC_RASL_N = 8,
    HEVC_UNREFERRED_LAST = 14, /* the even ones up to it */
    HEVC_RASL_R = 9,
    HEVC_BLA = 16,
    HEVC_IDR = 19,
    HEVC_CRA = 21,
    HEVC_PICTURES = 32, /* are below */
    HEVC_SPS = 33,
    HEVC_PPS = 34,
    HEVC_DELIMITER = 35,
    HEVC_EOS = 36,
    HEVC_EOB = 37,
    HEVC_MESSAGE = 39,
    HEVC_MESSAGE_BEHIND = 40
};

/* Examines the first slice of a picture of the base layer. Leading pictures behind a CRA picture (RASL) need earlier
 * ones: if the stream begins there, a decoder drops them. */
static void hevc_peek_picture(struct bl_peek *peek, const struct bl_nal *nal, unsigned type)
{
    bool restarts = false;
    if (peek->packets == 0 && (type < HEVC_BLA || type > HEVC_CRA))
        peek->suspicious = true;
    if (type >= HEVC_BLA && type <= HEVC_CRA) {
        bool drops_previous = nal->data[2] & 0x40;
        peek->suspicious = peek->suspicious || (drops_previous && peek->packets > 0);
        peek->leading_broken =
            type < HEVC_IDR || (type == HEVC_CRA && (peek->packets == 0 || peek->ended || !peek->hevc.begun));
        restarts = type != HEVC_CRA || peek->leading_broken;
        peek->ended = false;
    }
    bool lost = (type == HEVC_RASL_N || type == HEVC_RASL_R) && peek->leading_broken;
    peek->suspicious = peek->suspicious || lost;
    if (lost)
        return;
    struct bl_hevc_picture picture = bl_hevc_begin(&peek->hevc, nal, peek->packets, restarts);
    peek->suspicious = peek->suspicious || !picture.known || picture.gap;
    peek->gaps += picture.gap;
    peek->traced = picture.traced;
    peek->needs = picture.needs;
    peek->tags = picture.tags;
}

/* Examines a unit of H.265, for access_unit_peek. Only the base layer is decoded. */
static int hevc_peek_nal(struct bl_peek *peek, const struct bl_nal *nal, struct unit_kinds *kinds)
{
    unsigned type = nal->data[0] >> 1 & 63, layer = (nal->data[0] & 1u) << 5 | nal->data[1] >> 3;
    kinds->instant = kinds->instant || type == HEVC_IDR || type == HEVC_IDR + 1;
    kinds->open = kinds->open || (type >= HEVC_BLA && type <= HEVC_CRA);
    kinds->sequence = kinds->sequence || type == HEVC_SPS;
    kinds->picture = kinds->picture || type == HEVC_PPS;
    bool apart = type >= HEVC_DELIMITER && type <= HEVC_MESSAGE_BEHIND && type != HEVC_EOS && type != HEVC_EOB;
    kinds->referred = kinds->referred || !(apart || (type <= HEVC_UNREFERRED_LAST && type % 2 == 0));
    if (layer > 0)
        return 0;
    if (type < HEVC_PICTURES)
        peek->layer = (nal->data[1] & 7) - 1;
    if (type == HEVC_MESSAGE)
        peek_prefer(peek, nal, 2);
    peek->ended = peek->ended || type == HEVC_EOS || type == HEVC_EOB;
    bl_hevc_take(&peek->hevc, nal);
    if (type >= HEVC_PICTURES || nal->size < 3 || !(nal->data[2] & 0x80))
        return 0;
    hevc_peek_picture(peek, nal, type);
    return 1;
}

/* Examines a packet of H.265. */
static int peek_hevc(struct bl_peek *peek, const uint8_t *data, size_t size)
{
    struct unit_kinds kinds = {0};
    int pictures = access_unit_peek(peek, data, size, &kinds, hevc_peek_nal);
    peek->opens = peek->opens && peek->traced && peek->needs == peek->packets;
    peek->suspicious = peek->suspicious || peek->hevc.hides;
    return pictures;
}

/* Takes a parameter set from the container, for bl_nal_headers. */
static void peek_take(void *to, const struct bl_nal *nal)
{
    struct bl_peek *peek = to;
    if (peek->id == AV_CODEC_ID_H264)
        bl_h264_take(&peek->h264, nal);
    else if (((nal->data[0] & 1u) << 5 | nal->data[1] >> 3) == 0)
        bl_hevc_take(&peek->hevc, nal);
}

/* --- codecs ------------------------------------------------------------------------------------------------------- */

struct bl_peek_codec {
    enum AVCodecID id;
    bool intra;                                                          /* every packet resets the decoder */
    int (*peek)(struct bl_peek *peek, const uint8_t *data, size_t size); /* NULL: every packet is a frame */
};

/* Examines a frame of VP8: its header has a tag of three bytes with the size of the first partition (RFC 6386, 9.1). */
static int vp8_peek(struct bl_peek *peek, const uint8_t *data, size_t size)
{
    if (size < 3) {
        peek->suspicious = true;
        return 1;
    }
    uint32_t tag = data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16;
    bool key = !(tag & 1), shown = tag >> 4 & 1;
    size_t header = key ? 10 : 3;
    if (header + (tag >> 5) > size || (tag >> 1 & 7) > 3 || (!key && peek->packets == 0) ||
        (key && memcmp(data + 3, "\x9d\x01\x2a", 3) != 0))
        peek->suspicious = true;
    peek->restarts = key;
    return shown;
}

/* Examines a frame of VP9 by the beginning of its uncompressed header (VP9 specification 6.2). */
static int vp9_peek_frame(struct bl_peek *peek, const uint8_t *data, size_t size)
{
    struct bl_bits b = {.data = data, .size = size};
    unsigned marker = bl_bits_get(&b, 2);
    unsigned profile = bl_bits_get(&b, 1);
    profile |= bl_bits_get(&b, 1) << 1;
    unsigned reserved = profile == 3 ? bl_bits_get(&b, 1) : 0;
    if (marker != 2 || reserved || size == 0) {
        peek->suspicious = true;
        return 1;
    }
    if (bl_bits_get(&b, 1)) { /* show_existing_frame */
        peek->suspicious = peek->suspicious || peek->packets == 0;
        return 1;
    }
    bool key = !bl_bits_get(&b, 1);
    bool shown = bl_bits_get(&b, 1);
    bl_bits_get(&b, 1);
    if (key ? bl_bits_get(&b, 24) != 0x498342 : peek->packets == 0)
        peek->suspicious = true;
    peek->restarts = key && shown;
    return shown;
}

/* Examines a packet of VP9. A superframe, which holds several frames, ends with an index: a marker byte, the sizes of
 * the frames, the same byte again (annex B). */
static int vp9_peek(struct bl_peek *peek, const uint8_t *data, size_t size)
{
    uint8_t last = size ? data[size - 1] : 0;
    size_t count = (last & 7) + 1u, width = (last >> 3 & 3) + 1u, index = 2 + count * width;
    if ((last & 0xe0) != 0xc0 || size < index || data[size - index] != last)
        return vp9_peek_frame(peek, data, size);
    size_t left = size - index;
    const uint8_t *sizes = data + size - index + 1;
    int shown = 0;
    for (size_t i = 0; i < count; i++) {
        size_t frame = 0;
        for (size_t k = 0; k < width; k++)
            frame |= (size_t)sizes[i * width + k] << 8 * k;
        if (frame > left || frame == 0) {
            peek->suspicious = true;
            return shown > 0 ? shown : 1;
        }
        shown += vp9_peek_frame(peek, data, frame);
        peek->restarts = peek->restarts && i == 0;
        data += frame;
        left -= frame;
    }
    return shown;
}

enum { OBU_SEQUENCE = 1, OBU_FRAME_HEADER = 3, OBU_FRAME = 6 };

/* Reads an OBU's header at *at and moves *at to its payload, whose size may be in LEB128 (AV1 specification 5.3). */
static bool av1_read_obu(const uint8_t *data, size_t size, size_t *at, unsigned *type, size_t *payload)
{
    uint8_t head = data[*at];
    *at += head & 4 ? 2 : 1;
    *type = head >> 3 & 15;
    if (head & 0x80 || *at > size)
        return false;
    *payload = size - *at;
    if (!(head & 2))
        return true;
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) {
        if (*at >= size)
            return false;
        uint8_t byte = data[(*at)++];
        value |= (uint64_t)(byte & 127) << 7 * i;
        if (!(byte & 128))
            break;
    }
    *payload = (size_t)value;
    return value <= size - *at;
}

/* Examines a temporal unit of AV1, which shows one frame; all else (spatial layers, still pictures) is suspicious. */
static int av1_peek(struct bl_peek *peek, const uint8_t *data, size_t size)
{
    int shown = 0, frames = 0;
    bool sequence = false, key = false;
    for (size_t at = 0; at < size;) {
        unsigned type;
        size_t payload;
        if (!av1_read_obu(data, size, &at, &type, &payload)) {
            peek->suspicious = true;
            break;
        }
        struct bl_bits b = {.data = data + at, .size = payload};
        if (type == OBU_SEQUENCE)
            sequence = bl_av1_sequence_read(data + at, payload, &peek->av1);
        if (type == OBU_FRAME || type == OBU_FRAME_HEADER) {
            bool existing = bl_bits_get(&b, 1);
            unsigned kind = existing ? 1 : bl_bits_get(&b, 2);
            frames++;
            key = kind == 0; /* KEY_FRAME */
            shown += existing || bl_bits_get(&b, 1);
        }
        at += payload;
    }
    if (shown != 1 || (peek->packets == 0 && !sequence))
        peek->suspicious = true;
    peek->tags = peek->av1;
    peek->restarts = sequence && key && frames == 1;
    return shown > 0 ? shown : 1;
}

/* The types of pictures in MPEG-1, 2 and 4, counted from 0. B-pictures without both references are not shown. */
enum { INTRA = 0, B = 2 };

/* Notes a picture, which refers to the last reference picture, a B-picture to the last two. The references of MPEG-4
 * are not followed. */
static void mpeg_peek_picture(struct bl_peek *peek, unsigned type, bool part4)
{
    if ((peek->packets == 0 && type != INTRA) || (type == B && peek->references < 2))
        peek->suspicious = true;
    if (type != B && peek->references < 2)
        peek->references++;
    peek->disposable = type == B && !part4; /* decoders of MPEG-4 learn its clock from B-pictures, too */
    if (part4)
        return;
    int64_t *last = peek->reference_needs;
    peek->traced = true;
    peek->needs = type == INTRA ? peek->packets : type == B ? FFMIN(last[0], last[1]) : last[0];
    peek->opens = type == INTRA && peek->header; /* behind a sequence header, tables of quantisation begin anew */
    if (type != B) {
        last[1] = last[0];
        last[0] = peek->needs;
    }
}

/* Compares a header, as a number, with the last one. One that differs begins another stream: the decoder may lose
 * frames in between. */
static void mpeg_peek_number(struct bl_peek *peek, uint64_t *last, uint64_t header)
{
    peek->joined = peek->joined || (*last && *last != header);
    peek->suspicious = peek->suspicious || peek->joined;
    *last = header;
}

/* Examines a unit behind a start code of MPEG-1 or MPEG-2: a sequence header has the picture's size and aspect
 * ratio, an extension of MPEG-2 its colours (13818-2 6.2.2.4). */
static void mpeg2_peek_unit(struct bl_peek *peek, const uint8_t *at, size_t size)
{
    enum { HEADER = 0xb3, EXTENSION = 0xb5, SEQUENCE = 1, DISPLAY = 2 };
    struct bl_bits b = {.data = at + 1, .size = size - 1};
    peek->header = peek->header || *at == HEADER;
    if (*at == HEADER && size > 4)
        mpeg_peek_number(peek, &peek->mpeg_header, UINT64_C(1) << 32 | bl_bits_get(&b, 28));
    unsigned extension = *at == EXTENSION ? (unsigned)bl_bits_get(&b, 4) : 0;
    if (extension == SEQUENCE && size > 3) {
        bl_bits_skip(&b, 8);
        mpeg_peek_number(peek, &peek->mpeg_extension, UINT64_C(1) << 32 | bl_bits_get(&b, 3));
    }
    if (extension != DISPLAY)
        return;
    bl_bits_skip(&b, 3);
    if (!bl_bits_get(&b, 1))
        return;
    bl_bits_skip(&b, 8);
    peek->tags.transfer = (uint8_t)bl_bits_get(&b, 8);
    peek->tags.matrix = (uint8_t)bl_bits_get(&b, 8);
}

/* The same in MPEG-4: the number is a hash (FNV-1a) of all of the video object layer's header. */
static void mpeg4_peek_unit(struct bl_peek *peek, const uint8_t *at, const uint8_t *end)
{
    enum { LAYER_FIRST = 0x20, LAYER_LAST = 0x2f };
    if (*at < LAYER_FIRST || *at > LAYER_LAST)
        return;
    const uint8_t *next = bl_start_code_find(at, end);
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (const uint8_t *byte = at; byte < (next ? next - 3 : end); byte++)
        sum = (sum ^ *byte) * UINT64_C(0x100000001b3);
    mpeg_peek_number(peek, &peek->mpeg_header, sum | 1);
}

/* Ends a group of pictures of MPEG-1 or MPEG-2 where the next one begins. The pictures of a group are numbered in the
 * order in which they are shown, without gaps (13818-2 6.3.9), except that the first ones may have been cut off. */
static void mpeg_begin_group(struct bl_peek *peek)
{
    int first = -1, last = -1, count = 0;
    for (int i = 0; i < BL_PEEK_GROUP; i++) {
        if (!(peek->group[i / 64] >> i % 64 & 1))
            continue;
        first = first < 0 ? i : first;
        last = i;
        count++;
    }
    bool gap = count && last - first + 1 > count;
    peek->gaps += gap;
    peek->suspicious = peek->suspicious || gap;
    peek->in_group = true;
    memset(peek->group, 0, sizeof peek->group);
}

/* Examines a packet of MPEG-1, 2 or 4. */
static int mpeg_peek(struct bl_peek *peek, const uint8_t *data, size_t size)
{
    enum { GROUP = 0xb8 };
    bool part4 = peek->codec->id == AV_CODEC_ID_MPEG4;
    const uint8_t *end = data + size;
    int pictures = 0;
    peek->header = false;
    for (const uint8_t *at = bl_start_code_find(data, end); at && end - at >= 3; at = bl_start_code_find(at, end)) {
        if (part4)
            mpeg4_peek_unit(peek, at, end);
        else
            mpeg2_peek_unit(peek, at, (size_t)(end - at));
        if (!part4 && *at == GROUP)
            mpeg_begin_group(peek);
        if (*at != (part4 ? 0xb6 : 0x00))
            continue;
        pictures++;
        mpeg_peek_picture(peek, part4 ? at[1] >> 6 : (at[2] >> 3 & 7) - 1u, part4);
        unsigned shown = (unsigned)at[1] << 2 | at[2] >> 6; /* temporal_reference */
        if (!part4)
            peek->group[shown / 64] |= (uint64_t)peek->in_group << shown % 64;
    }
    /* So short a picture of MPEG-4 may be a placeholder for one that was not coded. */
    if (pictures != 1 || (part4 && size < 20))
        peek->suspicious = true;
    return pictures > 0 ? pictures : 1;
}

/* A JPEG picture begins and ends with a marker, behind which padding may follow. */
static int jpeg_peek(struct bl_peek *peek, const uint8_t *data, size_t size)
{
    const uint8_t *end = data + size;
    while (end - data > 4 && end[-1] == 0) /* padding */
        end--;
    if (end - data < 4 || data[0] != 0xff || data[1] != 0xd8 || end[-2] != 0xff || end[-1] != 0xd9)
        peek->suspicious = true;
    return 1;
}

/* A PNG picture begins with a signature and ends with the chunk IEND. */
static int png_peek(struct bl_peek *peek, const uint8_t *data, size_t size)
{
    if (size < 20 || memcmp(data, "\x89PNG", 4) != 0 || memcmp(data + size - 8, "IEND", 4) != 0)
        peek->suspicious = true;
    return 1;
}

/* In Theora a header among the frames begins another stream. */
static int theora_peek(struct bl_peek *peek, const uint8_t *data, size_t size)
{
    peek->joined = peek->joined || (size > 0 && data[0] & 0x80);
    peek->suspicious = peek->suspicious || peek->joined;
    return 1;
}

/* A ProRes frame has its colours in its header (SMPTE RDD 36, 5.1.1). */
static int prores_peek(struct bl_peek *peek, const uint8_t *data, size_t size)
{
    if (size >= 25 && memcmp(data + 4, "icpf", 4) == 0)
        peek->tags = (struct bl_picture_tags){data[23], data[24]};
    return 1;
}

static const struct bl_peek_codec codecs[] = {{AV_CODEC_ID_H264, false, peek_h264},
                                              {AV_CODEC_ID_HEVC, false, peek_hevc},
                                              {AV_CODEC_ID_VP8, false, vp8_peek},
                                              {AV_CODEC_ID_VP9, false, vp9_peek},
                                              {AV_CODEC_ID_AV1, false, av1_peek},
                                              {AV_CODEC_ID_MPEG1VIDEO, false, mpeg_peek},
                                              {AV_CODEC_ID_MPEG2VIDEO, false, mpeg_peek},
                                              {AV_CODEC_ID_MPEG4, false, mpeg_peek},
                                              {AV_CODEC_ID_MJPEG, true, jpeg_peek},
                                              {AV_CODEC_ID_PNG, true, png_peek},
                                              {AV_CODEC_ID_PRORES, true, prores_peek},
                                              {AV_CODEC_ID_DNXHD, true, NULL},
                                              {AV_CODEC_ID_HUFFYUV, true, NULL},
                                              {AV_CODEC_ID_RAWVIDEO, true, NULL},
                                              {AV_CODEC_ID_THEORA, false, theora_peek},
                                              {AV_CODEC_ID_H263, false, NULL},
                                              {AV_CODEC_ID_FLV1, false, NULL},
                                              {AV_CODEC_ID_FFV1, false, NULL},
                                              {AV_CODEC_ID_FFVHUFF, false, NULL}};

int64_t bl_peek_min_bytes(const AVCodecParameters *codec)
{
    if (codec->codec_id != AV_CODEC_ID_RAWVIDEO || codec->bits_per_coded_sample > 8)
        return 0;
    int64_t row = ((int64_t)FFMAX(codec->width, 0) * FFMAX(codec->bits_per_coded_sample, 0) + 7) / 8;
    return row * FFABS((int64_t)codec->height);
}

/* Takes the headers that the container has, or that a packet brings in their place. */
static void peek_headers(struct bl_peek *peek, const uint8_t *record, size_t size)
{
    enum AVCodecID codec = peek->codec ? peek->codec->id : AV_CODEC_ID_NONE;
    if (codec == AV_CODEC_ID_H264 || codec == AV_CODEC_ID_HEVC) {
        peek->nal_length = bl_nal_length(peek->id, record, size);
        bl_nal_headers(peek->id, record, size, peek_take, peek);
    }
    if (codec != AV_CODEC_ID_AV1 || size <= 4)
        return;
    unsigned type; /* av1C has four bytes before its OBUs */
    size_t payload;
    for (size_t at = 4; at < size && av1_read_obu(record, size, &at, &type, &payload); at += payload) {
        if (type == OBU_SEQUENCE)
            (void)bl_av1_sequence_read(record + at, payload, &peek->av1);
    }
}

void bl_peek_init(struct bl_peek *peek, const AVCodecParameters *codec)
{
    /* Only the headers of the codec at hand are cleared: those of H.265 are large. */
    memset(peek, 0, offsetof(struct bl_peek, h264));
    if (codec->codec_id == AV_CODEC_ID_H264)
        memset(&peek->h264, 0, sizeof peek->h264);
    if (codec->codec_id == AV_CODEC_ID_HEVC)
        memset(&peek->hevc, 0, sizeof peek->hevc);
    peek->id = codec->codec_id;
    peek->min_bytes = bl_peek_min_bytes(codec);
    peek->tags = peek->av1 = BL_PICTURE_UNTAGGED;
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        if (codecs[i].id == codec->codec_id)
            peek->codec = &codecs[i];
    }
    if (codec->extradata_size > 0)
        peek_headers(peek, codec->extradata, (size_t)codec->extradata_size);
}

int bl_peek_packet(struct bl_peek *peek, const AVPacket *packet)
{
    const struct bl_peek_codec *codec = peek->codec;
    enum AVCodecID id = codec ? codec->id : AV_CODEC_ID_NONE;
    size_t size = 0;
    const uint8_t *record = av_packet_get_side_data(packet, AV_PKT_DATA_NEW_EXTRADATA, &size);
    bool fresh = record && size > 0,
         follows = id == AV_CODEC_ID_H264 || id == AV_CODEC_ID_HEVC || id == AV_CODEC_ID_AV1;
    if (fresh && follows)
        peek_headers(peek, record, size);
    peek->suspicious = peek->suspicious || (fresh && !follows); /* other decoders may lose frames by new headers */
    bool key = packet->flags & AV_PKT_FLAG_KEY;
    if (peek->packets == 0) {
        enum bl_entry entry = bl_entry_find(peek->id, peek->nal_length, packet);
        peek->midway = !key || entry == BL_ENTRY_NO;
        peek->unsure = peek->midway && entry == BL_ENTRY_UNKNOWN;
    }
    peek->keys += key;
    if (!codec || packet->size <= 0 || packet->size < peek->min_bytes || packet->flags & AV_PKT_FLAG_CORRUPT ||
        peek->midway)
        peek->suspicious = true;
    int frames = packet->size > 0;
    peek->restarts = frames && codec && codec->intra;
    peek->disposable = peek->opens = peek->traced = false;
    if (frames && codec && codec->peek)
        frames = codec->peek(peek, packet->data, (size_t)packet->size);
    if (!peek->traced && peek->restarts)
        peek->needs = peek->packets;
    peek->opens = peek->traced ? peek->opens : peek->restarts;
    peek->packets++;
    return frames;
}
