/* See peek.h. The parsers follow the specifications: VP8 RFC 6386 section 9.1; VP9 bitstream specification 7.2 and
 * annex B; AV1 specification 5.3 and 5.9; ITU-T H.264 7.3.1; H.265 7.3.1; ISO 14496-2 6.2.5; ISO 13818-2 6.2.3. */
#include "kind/video/peek.h"

#include <string.h>

struct bl_peek_codec {
    enum AVCodecID id;
    bool intra;                                                          /* every packet resets the decoder */
    int (*peek)(struct bl_peek *peek, const uint8_t *data, size_t size); /* NULL: every packet is a frame */
};

static uint32_t bytes_read_be(const uint8_t *data, int bytes)
{
    uint32_t value = 0;
    for (int i = 0; i < bytes; i++)
        value = value << 8 | data[i];
    return value;
}

/* Reads bits, the most significant first; past the end they are zero. */
struct bits {
    const uint8_t *data;
    size_t size; /* bytes */
    size_t at;   /* bits */
};

static unsigned bits_get(struct bits *b, int count)
{
    unsigned value = 0;
    for (; count > 0; count--, b->at++) {
        unsigned bit = b->at / 8 < b->size ? b->data[b->at / 8] >> (7 - b->at % 8) & 1 : 0;
        value = value << 1 | bit;
    }
    return value;
}

/* Skips an Exp-Golomb code. */
static void bits_skip_golomb(struct bits *b)
{
    int zeros = 0;
    while (zeros < 32 && b->at < b->size * 8 && !bits_get(b, 1))
        zeros++;
    b->at += (size_t)zeros;
}

/* VP8 */

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

/* VP9 */

static int vp9_peek_frame(struct bl_peek *peek, const uint8_t *data, size_t size)
{
    struct bits b = {data, size, 0};
    unsigned marker = bits_get(&b, 2);
    unsigned profile = bits_get(&b, 1);
    profile |= bits_get(&b, 1) << 1;
    unsigned reserved = profile == 3 ? bits_get(&b, 1) : 0;
    if (marker != 2 || reserved || size == 0) {
        peek->suspicious = true;
        return 1;
    }
    if (bits_get(&b, 1)) { /* show_existing_frame */
        peek->suspicious = peek->suspicious || peek->packets == 0;
        return 1;
    }
    bool key = !bits_get(&b, 1);
    bool shown = bits_get(&b, 1);
    bits_get(&b, 1);
    if (key ? bits_get(&b, 24) != 0x498342 : peek->packets == 0)
        peek->suspicious = true;
    peek->restarts = key && shown;
    return shown;
}

/* A superframe ends with an index: a marker byte, the sizes of the frames, the same byte again. */
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

/* AV1 */

enum { OBU_SEQUENCE = 1, OBU_FRAME_HEADER = 3, OBU_FRAME = 6 };

/* Reads an OBU's header at *at and moves *at to its payload. */
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

/* A temporal unit shows one frame; anything else (spatial layers, still pictures) is suspicious. */
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
        struct bits b = {data + at, payload, 0};
        sequence = sequence || type == OBU_SEQUENCE;
        if (type == OBU_FRAME || type == OBU_FRAME_HEADER) {
            bool existing = bits_get(&b, 1);
            unsigned kind = existing ? 1 : bits_get(&b, 2);
            frames++;
            key = kind == 0; /* KEY_FRAME */
            shown += existing || bits_get(&b, 1);
        }
        at += payload;
    }
    if (shown != 1 || (peek->packets == 0 && !sequence))
        peek->suspicious = true;
    peek->restarts = sequence && key && frames == 1;
    return shown > 0 ? shown : 1;
}

/* H.264 and H.265: NAL units, each preceded by its length or a start code. */

struct nal {
    const uint8_t *data;
    size_t size;
};

/* The byte after the next start code that begins at data or later, or NULL. */
static const uint8_t *start_code_find(const uint8_t *data, const uint8_t *end)
{
    for (const uint8_t *at = data; end - at >= 3; at++) {
        at = memchr(at, 1, (size_t)(end - at));
        if (!at)
            return NULL;
        if (at - data >= 2 && at[-1] == 0 && at[-2] == 0)
            return at + 1;
    }
    return NULL;
}

/* An access unit: the NAL units of one packet. */
struct access_unit {
    const uint8_t *at, *end;
    bool broken;            /* a unit reaches beyond the packet */
    bool instant;           /* an instant refresh (IDR) */
    bool sequence, picture; /* parameter sets */
};

/* Gives the next unit; false at the end, or where the chain of lengths is broken. */
static bool access_unit_next(struct access_unit *unit, int nal_length, struct nal *nal)
{
    if (unit->at >= unit->end)
        return false;
    if (!nal_length) {
        const uint8_t *begin = start_code_find(unit->at, unit->end);
        if (!begin)
            return false;
        const uint8_t *next = start_code_find(begin, unit->end);
        unit->at = next ? next - 3 : unit->end;
        *nal = (struct nal){begin, (size_t)(unit->at - begin)};
        return true;
    }
    size_t left = (size_t)(unit->end - unit->at), size = 0;
    unit->broken = left < (size_t)nal_length;
    if (unit->broken)
        return false;
    size = bytes_read_be(unit->at, nal_length);
    unit->broken = size > left - (size_t)nal_length;
    if (unit->broken)
        return false;
    *nal = (struct nal){unit->at + nal_length, size};
    unit->at += (size_t)nal_length + size;
    return true;
}

/* Looks at a NAL unit of at least two bytes; returns how many pictures begin in it. */
typedef int nal_peek(struct bl_peek *peek, const struct nal *nal, struct access_unit *unit);

/* Every access unit should have one picture. An instant refresh resets the decoder; if parameter sets may come with any
 * picture, it must bring its own. */
static int access_unit_peek(struct bl_peek *peek, struct access_unit *unit, nal_peek *peek_nal)
{
    struct nal nal;
    int pictures = 0;
    while (access_unit_next(unit, peek->nal_length, &nal)) {
        if (nal.size < 2)
            continue;
        peek->suspicious = peek->suspicious || nal.data[0] & 0x80; /* forbidden_zero_bit */
        pictures += peek_nal(peek, &nal, unit);
    }
    peek->suspicious = peek->suspicious || unit->broken || pictures != 1;
    peek->loose_headers = peek->loose_headers || unit->sequence || unit->picture;
    peek->restarts = unit->instant && (!peek->loose_headers || (unit->sequence && unit->picture));
    return pictures > 0 ? pictures : 1;
}

enum { H264_SLICE = 1, H264_PARTITION = 2, H264_IDR = 5, H264_SPS = 7, H264_PPS = 8 };

static int h264_peek_nal(struct bl_peek *peek, const struct nal *nal, struct access_unit *unit)
{
    unsigned type = nal->data[0] & 31;
    peek->suspicious = peek->suspicious || type == 0;
    unit->instant = unit->instant || type == H264_IDR;
    unit->sequence = unit->sequence || type == H264_SPS;
    unit->picture = unit->picture || type == H264_PPS;
    if (type != H264_SLICE && type != H264_PARTITION && type != H264_IDR)
        return 0;
    return nal->data[1] >> 7; /* first_mb_in_slice is 0 */
}

static int h264_peek(struct bl_peek *peek, const uint8_t *data, size_t size)
{
    struct access_unit unit = {.at = data, .end = data + size};
    int pictures = access_unit_peek(peek, &unit, h264_peek_nal);
    peek->suspicious = peek->suspicious || (peek->packets == 0 && !unit.instant);
    return pictures;
}

enum {
    HEVC_RASL_N = 8,
    HEVC_RASL_R = 9,
    HEVC_BLA = 16,
    HEVC_IDR = 19,
    HEVC_CRA = 21,
    HEVC_SPS = 33,
    HEVC_PPS = 34,
    HEVC_EOS = 36,
    HEVC_EOB = 37
};

/* output_flag_present_flag: pictures may be marked as not to be shown. */
static bool hevc_pps_hides_pictures(const struct nal *nal)
{
    struct bits b = {nal->data + 2, nal->size - 2, 0};
    bits_skip_golomb(&b);
    bits_skip_golomb(&b);
    bits_get(&b, 1);
    return bits_get(&b, 1);
}

/* Looks at a unit of the base layer; returns 1 if a picture begins in it. */
static int hevc_peek_base(struct bl_peek *peek, const struct nal *nal)
{
    unsigned type = nal->data[0] >> 1 & 63;
    if (type == HEVC_PPS && hevc_pps_hides_pictures(nal))
        peek->suspicious = true;
    if (type == HEVC_EOS || type == HEVC_EOB)
        peek->ended = true;
    if (type >= 32 || nal->size < 3 || !(nal->data[2] & 0x80))
        return 0;
    if (peek->packets == 0 && (type < HEVC_BLA || type > HEVC_CRA))
        peek->suspicious = true;
    if (type >= HEVC_BLA && type <= HEVC_CRA) {
        bool drops_previous = nal->data[2] & 0x40;
        peek->suspicious = peek->suspicious || (drops_previous && peek->packets > 0);
        peek->leading_broken = type < HEVC_IDR || (type == HEVC_CRA && (peek->packets == 0 || peek->ended));
        peek->ended = false;
    }
    if ((type == HEVC_RASL_N || type == HEVC_RASL_R) && peek->leading_broken)
        peek->suspicious = true;
    return 1;
}

static int hevc_peek_nal(struct bl_peek *peek, const struct nal *nal, struct access_unit *unit)
{
    unsigned type = nal->data[0] >> 1 & 63, layer = (nal->data[0] & 1u) << 5 | nal->data[1] >> 3;
    unit->instant = unit->instant || type == HEVC_IDR || type == HEVC_IDR + 1;
    unit->sequence = unit->sequence || type == HEVC_SPS;
    unit->picture = unit->picture || type == HEVC_PPS;
    return layer == 0 ? hevc_peek_base(peek, nal) : 0;
}

static int hevc_peek(struct bl_peek *peek, const uint8_t *data, size_t size)
{
    struct access_unit unit = {.at = data, .end = data + size};
    return access_unit_peek(peek, &unit, hevc_peek_nal);
}

/* The parameter sets of an hvcC record (ISO 14496-15 8.3.3). */
static void hevc_read_hvcc(struct bl_peek *peek, const uint8_t *data, size_t size)
{
    size_t at = 23;
    for (int arrays = data[22]; arrays > 0 && at + 3 <= size; arrays--) {
        int units = (int)bytes_read_be(data + at + 1, 2);
        at += 3;
        for (; units > 0 && at + 2 <= size; units--) {
            size_t length = bytes_read_be(data + at, 2);
            at += 2;
            if (length < 2 || length > size - at)
                return;
            hevc_peek_base(peek, &(struct nal){data + at, length});
            at += length;
        }
    }
}

/* MPEG-1, 2 and 4: start codes; B-pictures without both references are not shown. */

static void mpeg_peek_picture(struct bl_peek *peek, unsigned type)
{
    enum { INTRA = 0, B = 2 };
    if ((peek->packets == 0 && type != INTRA) || (type == B && peek->references < 2))
        peek->suspicious = true;
    if (type != B && peek->references < 2)
        peek->references++;
}

static int mpeg_peek(struct bl_peek *peek, const uint8_t *data, size_t size)
{
    bool part4 = peek->codec->id == AV_CODEC_ID_MPEG4;
    const uint8_t *end = data + size;
    int pictures = 0;
    for (const uint8_t *at = start_code_find(data, end); at && end - at >= 3; at = start_code_find(at, end)) {
        if (*at != (part4 ? 0xb6 : 0x00))
            continue;
        pictures++;
        mpeg_peek_picture(peek, part4 ? at[1] >> 6 : (at[2] >> 3 & 7) - 1u);
    }
    /* MPEG-4: such a short picture may be a placeholder for one that was not coded. */
    if (pictures != 1 || (part4 && size < 20))
        peek->suspicious = true;
    return pictures > 0 ? pictures : 1;
}

static int jpeg_peek(struct bl_peek *peek, const uint8_t *data, size_t size)
{
    const uint8_t *end = data + size;
    while (end - data > 4 && end[-1] == 0) /* padding */
        end--;
    if (end - data < 4 || data[0] != 0xff || data[1] != 0xd8 || end[-2] != 0xff || end[-1] != 0xd9)
        peek->suspicious = true;
    return 1;
}

static int png_peek(struct bl_peek *peek, const uint8_t *data, size_t size)
{
    if (size < 20 || memcmp(data, "\x89PNG", 4) != 0 || memcmp(data + size - 8, "IEND", 4) != 0)
        peek->suspicious = true;
    return 1;
}

static const struct bl_peek_codec codecs[] = {{AV_CODEC_ID_H264, false, h264_peek},
                                              {AV_CODEC_ID_HEVC, false, hevc_peek},
                                              {AV_CODEC_ID_VP8, false, vp8_peek},
                                              {AV_CODEC_ID_VP9, false, vp9_peek},
                                              {AV_CODEC_ID_AV1, false, av1_peek},
                                              {AV_CODEC_ID_MPEG1VIDEO, false, mpeg_peek},
                                              {AV_CODEC_ID_MPEG2VIDEO, false, mpeg_peek},
                                              {AV_CODEC_ID_MPEG4, false, mpeg_peek},
                                              {AV_CODEC_ID_MJPEG, true, jpeg_peek},
                                              {AV_CODEC_ID_PNG, true, png_peek},
                                              {AV_CODEC_ID_PRORES, true, NULL},
                                              {AV_CODEC_ID_DNXHD, true, NULL},
                                              {AV_CODEC_ID_HUFFYUV, true, NULL},
                                              {AV_CODEC_ID_RAWVIDEO, true, NULL},
                                              {AV_CODEC_ID_THEORA, false, NULL},
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

void bl_peek_init(struct bl_peek *peek, const AVCodecParameters *codec)
{
    *peek = (struct bl_peek){.min_bytes = bl_peek_min_bytes(codec)};
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        if (codecs[i].id == codec->codec_id)
            peek->codec = &codecs[i];
    }
    const uint8_t *record = codec->extradata;
    int size = codec->extradata_size;
    if (codec->codec_id == AV_CODEC_ID_H264 && size >= 7 && record[0] == 1)
        peek->nal_length = (record[4] & 3) + 1;
    if (codec->codec_id == AV_CODEC_ID_HEVC && size >= 23 && (record[0] || record[1] || record[2] > 1)) {
        peek->nal_length = (record[21] & 3) + 1;
        hevc_read_hvcc(peek, record, (size_t)size);
    }
}

int bl_peek_packet(struct bl_peek *peek, const AVPacket *packet)
{
    const struct bl_peek_codec *codec = peek->codec;
    if (!codec || packet->size <= 0 || packet->size < peek->min_bytes || packet->flags & AV_PKT_FLAG_CORRUPT ||
        (peek->packets == 0 && !(packet->flags & AV_PKT_FLAG_KEY)))
        peek->suspicious = true;
    int frames = packet->size > 0;
    peek->restarts = frames && codec && codec->intra;
    if (frames && codec && codec->peek)
        frames = codec->peek(peek, packet->data, (size_t)packet->size);
    peek->packets++;
    return frames;
}
