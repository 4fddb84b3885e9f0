#include "kind/video/bitstream.h"

#include <libavcodec/codec_desc.h>
#include <libavutil/common.h>
#include <string.h>

/* --- bits --------------------------------------------------------------------------------------------------------- */

/* Passes a byte that is not part of the content. */
static void bits_unescape(struct bl_bits *b)
{
    size_t byte = b->at / 8;
    if (b->at % 8 == 0 && byte >= 2 && byte < b->size && b->data[byte] == 3 && !b->data[byte - 1] && !b->data[byte - 2])
        b->at += 8;
}

/* Takes what is left of a byte at once. */
uint32_t bl_bits_get(struct bl_bits *b, int count)
{
    uint32_t value = 0;
    while (count > 0) {
        if (b->escaped)
            bits_unescape(b);
        int left = 8 - (int)(b->at % 8), part = left < count ? left : count;
        unsigned byte = b->at / 8 < b->size ? b->data[b->at / 8] : 0;
        value = value << part | (byte >> (left - part) & ((1u << part) - 1));
        b->at += (size_t)part;
        count -= part;
    }
    return value;
}

/* Passes whole bytes up to the next that may not be part of the content: messages may be long. */
static unsigned bits_skip_bytes(struct bl_bits *b, unsigned bytes)
{
    size_t byte = b->at / 8, left = b->size - byte, count = bytes < left ? bytes : left;
    const uint8_t *three = memchr(b->data + byte, 3, count);
    if (three)
        count = (size_t)(three - b->data) - byte;
    b->at += count * 8;
    return (unsigned)count;
}

void bl_bits_skip(struct bl_bits *b, unsigned count)
{
    if (!b->escaped) {
        b->at = bl_bits_ended(b) || count > b->size * 8 - b->at ? b->size * 8 + 1 : b->at + count;
        return;
    }
    while (count > 0 && !bl_bits_ended(b)) {
        if (b->at % 8 == 0 && count >= 16 && b->at / 8 < b->size)
            count -= 8 * bits_skip_bytes(b, count / 8);
        if (count == 0)
            return;
        bits_unescape(b);
        b->at++;
        count--;
    }
}

uint32_t bl_bits_unsigned(struct bl_bits *b)
{
    int zeros = 0;
    while (zeros < 32 && !bl_bits_get(b, 1)) {
        if (bl_bits_ended(b))
            return 0;
        zeros++;
    }
    return zeros == 32 ? UINT32_MAX : (UINT32_C(1) << zeros) - 1 + bl_bits_get(b, zeros);
}

int32_t bl_bits_signed(struct bl_bits *b)
{
    uint32_t code = bl_bits_unsigned(b);
    if (code == UINT32_MAX)
        return INT32_MIN;
    return code & 1 ? (int32_t)(code / 2 + 1) : -(int32_t)(code / 2);
}

bool bl_bits_ended(const struct bl_bits *b)
{
    return b->at > b->size * 8;
}

/* --- colour tags -------------------------------------------------------------------------------------------------- */

struct bl_picture_tags bl_picture_tags_read(struct bl_bits *b)
{
    struct bl_picture_tags tags = BL_PICTURE_UNTAGGED;
    if (bl_bits_get(b, 1) && bl_bits_get(b, 8) == 255) /* an aspect ratio of its own */
        bl_bits_skip(b, 32);
    if (bl_bits_get(b, 1)) /* overscan_info_present_flag */
        bl_bits_skip(b, 1);
    if (!bl_bits_get(b, 1)) /* video_signal_type_present_flag */
        return tags;
    bl_bits_skip(b, 4);
    if (!bl_bits_get(b, 1)) /* colour_description_present_flag */
        return tags;
    bl_bits_skip(b, 8);
    tags.transfer = (uint8_t)bl_bits_get(b, 8);
    tags.matrix = (uint8_t)bl_bits_get(b, 8);
    return tags;
}

/* --- NAL units ---------------------------------------------------------------------------------------------------- */

const uint8_t *bl_start_code_find(const uint8_t *data, const uint8_t *end)
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

static size_t nal_read_length(const uint8_t *data, int bytes)
{
    size_t value = 0;
    for (int i = 0; i < bytes; i++)
        value = value << 8 | data[i];
    return value;
}

bool bl_access_unit_next(struct bl_access_unit *unit, int length, struct bl_nal *nal)
{
    if (unit->at >= unit->end)
        return false;
    if (!length) {
        const uint8_t *begin = bl_start_code_find(unit->at, unit->end);
        if (!begin)
            return false;
        const uint8_t *next = bl_start_code_find(begin, unit->end);
        unit->at = next ? next - 3 : unit->end;
        *nal = (struct bl_nal){begin, (size_t)(unit->at - begin)};
        return true;
    }
    size_t left = (size_t)(unit->end - unit->at), size = 0;
    unit->broken = left < (size_t)length;
    if (unit->broken)
        return false;
    size = nal_read_length(unit->at, length);
    unit->broken = size > left - (size_t)length;
    if (unit->broken)
        return false;
    *nal = (struct bl_nal){unit->at + length, size};
    unit->at += (size_t)length + size;
    return true;
}

struct bl_bits bl_nal_bits(const struct bl_nal *nal, size_t head)
{
    return (struct bl_bits){nal->data, nal->size, head * 8, true};
}

/* Takes units, each behind its length of two bytes; returns where they end, or NULL if there are fewer. */
static const uint8_t *units_take(const uint8_t *at, const uint8_t *end, int units,
                                 void (*take)(void *to, const struct bl_nal *nal), void *to)
{
    struct bl_access_unit unit = {.at = at, .end = end};
    struct bl_nal nal;
    for (; units > 0; units--) {
        if (!bl_access_unit_next(&unit, 2, &nal))
            return NULL;
        if (nal.size >= 2)
            take(to, &nal);
    }
    return unit.at;
}

static void avcc_take(const uint8_t *record, size_t size, void (*take)(void *to, const struct bl_nal *nal), void *to)
{
    const uint8_t *end = record + size, *at = units_take(record + 6, end, record[5] & 31, take, to);
    if (at && at < end)
        (void)units_take(at + 1, end, *at, take, to);
}

static void hvcc_take(const uint8_t *record, size_t size, void (*take)(void *to, const struct bl_nal *nal), void *to)
{
    const uint8_t *end = record + size, *at = record + 23;
    for (int arrays = record[22]; arrays > 0 && at && end - at >= 3; arrays--)
        at = units_take(at + 3, end, (int)nal_read_length(at + 1, 2), take, to);
}

int bl_nal_length(enum AVCodecID codec, const uint8_t *record, size_t size)
{
    if (codec == AV_CODEC_ID_H264 && size >= 7 && record[0] == 1)
        return (record[4] & 3) + 1;
    if (codec == AV_CODEC_ID_HEVC && size >= 23 && (record[0] || record[1] || record[2] > 1))
        return (record[21] & 3) + 1;
    return 0;
}

void bl_nal_headers(enum AVCodecID codec, const uint8_t *record, size_t size,
                    void (*take)(void *to, const struct bl_nal *nal), void *to)
{
    struct bl_access_unit unit = {.at = record, .end = record ? record + size : NULL};
    struct bl_nal nal;
    if (bl_nal_length(codec, record, size) && codec == AV_CODEC_ID_H264) {
        avcc_take(record, size, take, to);
        return;
    }
    if (bl_nal_length(codec, record, size)) {
        hvcc_take(record, size, take, to);
        return;
    }
    while (bl_access_unit_next(&unit, 0, &nal)) {
        if (nal.size >= 2)
            take(to, &nal);
    }
}

/* A number in bytes: each 255 is followed by another. */
static uint32_t message_number(struct bl_bits *b)
{
    uint32_t value = 0, byte;
    do {
        byte = bl_bits_get(b, 8);
        value += byte;
    } while (byte == 255 && !bl_bits_ended(b));
    return value;
}

uint8_t bl_nal_preferred_transfer(const struct bl_nal *nal, size_t head)
{
    struct bl_bits b = bl_nal_bits(nal, head);
    while (b.at / 8 + 2 < b.size) {
        uint32_t type = message_number(&b), bytes = message_number(&b);
        if (type == 147 && bytes >= 1)
            return (uint8_t)bl_bits_get(&b, 8);
        if (bytes > b.size)
            break;
        bl_bits_skip(&b, bytes * 8);
    }
    return 0;
}

/* --- AV1 sequence header ------------------------------------------------------------------------------------------ */

/* The timing information; returns the bits of a point's delays, or 0 if points have none. */
static unsigned timing_skip(struct bl_bits *b)
{
    bl_bits_skip(b, 64);
    if (bl_bits_get(b, 1))
        (void)bl_bits_unsigned(b);
    if (!bl_bits_get(b, 1)) /* decoder_model_info_present_flag */
        return 0;
    unsigned bits = bl_bits_get(b, 5) + 1;
    bl_bits_skip(b, 42);
    return bits;
}

static void points_skip(struct bl_bits *b)
{
    unsigned bits = bl_bits_get(b, 1) ? timing_skip(b) : 0;
    bool delays = bl_bits_get(b, 1);
    for (unsigned points = bl_bits_get(b, 5) + 1; points > 0; points--) {
        bl_bits_skip(b, 12);
        if (bl_bits_get(b, 5) > 7)
            bl_bits_skip(b, 1);
        if (bits && bl_bits_get(b, 1))
            bl_bits_skip(b, 2 * bits + 1);
        if (delays && bl_bits_get(b, 1))
            bl_bits_skip(b, 4);
    }
}

static void tools_skip(struct bl_bits *b)
{
    bl_bits_skip(b, 4);
    bool orders = bl_bits_get(b, 1);
    if (orders)
        bl_bits_skip(b, 2);
    bool screen = bl_bits_get(b, 1) || bl_bits_get(b, 1);
    if (screen && !bl_bits_get(b, 1))
        bl_bits_skip(b, 1);
    if (orders)
        bl_bits_skip(b, 3);
}

static void size_skip(struct bl_bits *b, bool reduced)
{
    unsigned width_bits = bl_bits_get(b, 4) + 1, height_bits = bl_bits_get(b, 4) + 1;
    bl_bits_skip(b, width_bits + height_bits);
    if (!reduced && bl_bits_get(b, 1)) /* frame_id_numbers_present_flag */
        bl_bits_skip(b, 7);
}

bool bl_av1_sequence_read(const uint8_t *data, size_t size, struct bl_picture_tags *tags)
{
    struct bl_bits b = {.data = data, .size = size};
    unsigned profile = bl_bits_get(&b, 3);
    bl_bits_skip(&b, 1);
    bool reduced = bl_bits_get(&b, 1); /* reduced_still_picture_header */
    if (reduced)
        bl_bits_skip(&b, 5);
    else
        points_skip(&b);
    size_skip(&b, reduced);
    bl_bits_skip(&b, 3);
    if (!reduced)
        tools_skip(&b);
    bl_bits_skip(&b, 3);
    if (bl_bits_get(&b, 1) && profile == 2) /* high_bitdepth */
        bl_bits_skip(&b, 1);
    if (profile != 1)
        bl_bits_skip(&b, 1);
    *tags = BL_PICTURE_UNTAGGED;
    if (bl_bits_get(&b, 1)) {
        bl_bits_skip(&b, 8);
        tags->transfer = (uint8_t)bl_bits_get(&b, 8);
        tags->matrix = (uint8_t)bl_bits_get(&b, 8);
    }
    return !bl_bits_ended(&b);
}

/* --- H.264 headers ------------------------------------------------------------------------------------------------ */

enum { SLICE_INSTANT = 5, SEQUENCE = 7, PICTURE = 8 };

/* Profiles whose headers have the chroma format and scaling matrices. */
static bool profile_is_high(unsigned profile)
{
    static const uint8_t high[] = {100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135};
    for (size_t i = 0; i < sizeof high; i++) {
        if (high[i] == profile)
            return true;
    }
    return false;
}

static void scaling_list_skip(struct bl_bits *b, int size)
{
    int last = 8, next = 8;
    for (int i = 0; i < size && !bl_bits_ended(b); i++) {
        if (next != 0)
            next = (int)(((uint32_t)last + (uint32_t)bl_bits_signed(b)) & 255);
        last = next ? next : last;
    }
}

static bool depth_is_decodable(uint32_t luma, uint32_t chroma)
{
    return luma == chroma && (luma <= 2 || luma == 4 || luma == 6); /* beyond 8 bits */
}

static void sequence_read_format(struct bl_h264_sequence *s, struct bl_bits *b)
{
    uint32_t chroma = bl_bits_unsigned(b);
    s->separate = chroma == 3 && bl_bits_get(b, 1);
    uint32_t luma_depth = bl_bits_unsigned(b), chroma_depth = bl_bits_unsigned(b);
    s->decodable = chroma <= 3 && depth_is_decodable(luma_depth, chroma_depth) && !s->separate;
    bl_bits_skip(b, 1);
    if (!bl_bits_get(b, 1))
        return;
    for (int i = 0; i < (chroma == 3 ? 12 : 8); i++) {
        if (bl_bits_get(b, 1))
            scaling_list_skip(b, i < 6 ? 16 : 64);
    }
}

static void sequence_skip_order(struct bl_bits *b)
{
    uint32_t type = bl_bits_unsigned(b);
    if (type == 0)
        (void)bl_bits_unsigned(b);
    if (type != 1)
        return;
    bl_bits_skip(b, 1);
    (void)bl_bits_signed(b);
    (void)bl_bits_signed(b);
    uint32_t count = bl_bits_unsigned(b);
    for (uint32_t i = 0; i < count && i < 256; i++)
        (void)bl_bits_signed(b);
}

static void sequence_skip_size(struct bl_bits *b)
{
    (void)bl_bits_unsigned(b);
    (void)bl_bits_unsigned(b);
    if (!bl_bits_get(b, 1)) /* frame_mbs_only_flag */
        bl_bits_skip(b, 1);
    bl_bits_skip(b, 1);
    if (!bl_bits_get(b, 1)) /* frame_cropping_flag */
        return;
    for (int i = 0; i < 4; i++)
        (void)bl_bits_unsigned(b);
}

static void headers_take_sequence(struct bl_h264_headers *headers, const struct bl_nal *nal)
{
    struct bl_h264_sequence s = {.decodable = true, .tags = BL_PICTURE_UNTAGGED};
    struct bl_bits b = bl_nal_bits(nal, 1);
    unsigned profile = bl_bits_get(&b, 8);
    bl_bits_skip(&b, 16);
    uint32_t number = bl_bits_unsigned(&b);
    if (profile_is_high(profile))
        sequence_read_format(&s, &b);
    uint32_t bits = bl_bits_unsigned(&b);
    sequence_skip_order(&b);
    (void)bl_bits_unsigned(&b);
    s.numbers_skip = bl_bits_get(&b, 1);
    sequence_skip_size(&b);
    if (bl_bits_get(&b, 1))
        s.tags = bl_picture_tags_read(&b);
    if (number >= 32 || bits > 12 || bl_bits_ended(&b))
        return;
    s.known = true;
    s.frame_bits = (uint8_t)(bits + 4);
    headers->sequence[number] = s;
}

static void headers_take_picture(struct bl_h264_headers *headers, const struct bl_nal *nal)
{
    struct bl_bits b = bl_nal_bits(nal, 1);
    uint32_t number = bl_bits_unsigned(&b), sequence = bl_bits_unsigned(&b);
    if (number < 256 && sequence < 32 && !bl_bits_ended(&b))
        headers->picture[number] = (uint8_t)(sequence + 1);
}

void bl_h264_take(struct bl_h264_headers *headers, const struct bl_nal *nal)
{
    unsigned type = nal->data[0] & 31;
    if (type == SEQUENCE)
        headers_take_sequence(headers, nal);
    else if (type == PICTURE)
        headers_take_picture(headers, nal);
}

/* A picture has the number of the last one that others refer to, plus 1; that one's own if it is the second field of
 * it. */
static void picture_check_number(struct bl_h264_headers *headers, const struct bl_h264_sequence *s, uint32_t number,
                                 bool referred, struct bl_h264_picture *picture)
{
    uint32_t last = (uint32_t)(headers->frame - 1), mask = (UINT32_C(1) << s->frame_bits) - 1;
    if (headers->frame && !s->numbers_skip && number != last && number != ((last + 1) & mask)) {
        picture->reset = number <= 1;
        picture->gap = !picture->reset;
        headers->frame = number; /* as if the missing ones had come */
    }
    if (referred)
        headers->frame = (int64_t)number + 1;
}

struct bl_h264_picture bl_h264_begin(struct bl_h264_headers *headers, const struct bl_nal *nal)
{
    struct bl_h264_picture picture = {.tags = BL_PICTURE_UNTAGGED};
    struct bl_bits b = bl_nal_bits(nal, 1);
    (void)bl_bits_unsigned(&b); /* first_mb_in_slice */
    (void)bl_bits_unsigned(&b); /* slice_type */
    uint32_t set = bl_bits_unsigned(&b);
    unsigned sequence = set < 256 ? headers->picture[set] : 0;
    if (!sequence || !headers->sequence[sequence - 1].known)
        return picture;
    const struct bl_h264_sequence *s = &headers->sequence[sequence - 1];
    picture.known = s->decodable;
    picture.tags = s->tags;
    if (s->separate)
        bl_bits_skip(&b, 2);
    if ((nal->data[0] & 31) == SLICE_INSTANT)
        headers->frame = 0;
    picture_check_number(headers, s, bl_bits_get(&b, s->frame_bits), nal->data[0] & 0x60, &picture);
    return picture;
}

/* --- entry points ------------------------------------------------------------------------------------------------- */

/* The types of pictures: ITU-T H.265 7.4.2.2, H.263 5.1.3; ISO 14496-2 6.2.5; Theora specification 7.1; Sorenson's
 * and Microsoft's variants of H.263 as FFmpeg's decoders read them. */

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
