/* Parses headers of video streams bit by bit, as bitstream.h describes.
 *
 * A parser here skips most fields of a header to reach the few that matter. So the calls follow the order of the syntax
 * tables in the standards, and a comment names a field where its value decides what comes next. No parser checks for
 * the end of the data after each field: reads behind the end give zeros, and bl_bits_ended is asked once at the end. */
#include "kind/video/bitstream.h"

#include <libavcodec/codec_desc.h>
#include <libavutil/common.h>
#include <string.h>

/* --- bits --------------------------------------------------------------------------------------------------------- */

/* Passes a byte that is not part of the content: a 3 behind two zeros. */
static void bits_unescape(struct bl_bits *b)
{
    size_t byte = b->at / 8;
    if (b->at % 8 == 0 && byte >= 2 && byte < b->size && b->data[byte] == 3 && !b->data[byte - 1] && !b->data[byte - 2])
        b->at += 8;
}

/* Each turn of the loop takes the rest of a byte, or the wanted part of it. */
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

void bl_bits_skip(struct bl_bits *b, unsigned count)
{
    if (!b->escaped) {
        b->at = bl_bits_ended(b) || count > b->size * 8 - b->at ? b->size * 8 + 1 : b->at + count;
        return;
    }
    while (count > 0 && !bl_bits_ended(b)) {
        size_t byte = b->at / 8;
        if (b->at % 8 == 0 && count >= 16 && byte < b->size) {
            /* Messages may be long: this passes all bytes up to the next 3, which may not be part of the content. */
            size_t left = b->size - byte, bytes = count / 8 < left ? count / 8 : left;
            const uint8_t *three = memchr(b->data + byte, 3, bytes);
            bytes = three ? (size_t)(three - b->data) - byte : bytes;
            b->at += bytes * 8;
            count -= 8 * (unsigned)bytes;
        }
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

/* Reads a length of so many bytes, the most significant byte first. */
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

/* Takes units, each behind its length of two bytes; returns the end of the last one, or NULL if there are fewer. */
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
    const uint8_t *end = record ? record + size : NULL, *at;
    if (bl_nal_length(codec, record, size) && codec == AV_CODEC_ID_H264) {
        /* avcC has the number of sequence parameter sets at byte 5, and behind these that of picture parameter sets. */
        at = units_take(record + 6, end, record[5] & 31, take, to);
        if (at && at < end)
            (void)units_take(at + 1, end, *at, take, to);
        return;
    }
    if (bl_nal_length(codec, record, size)) {
        /* hvcC has arrays, each of units of one type: a byte with the type, and the number of units in two bytes. */
        at = record + 23;
        for (int arrays = record[22]; arrays > 0 && at && end - at >= 3; arrays--)
            at = units_take(at + 3, end, (int)nal_read_length(at + 1, 2), take, to);
        return;
    }
    struct bl_access_unit unit = {.at = record, .end = end};
    struct bl_nal nal;
    while (bl_access_unit_next(&unit, 0, &nal)) {
        if (nal.size >= 2)
            take(to, &nal);
    }
}

/* Reads a number in bytes that are added up: each 255 is followed by another byte. */
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

/* Skips the timing information and the operating points (AV1 specification 5.5.1, 5.5.3 to 5.5.5). */
static void points_skip(struct bl_bits *b)
{
    unsigned bits = 0;       /* of a point's delays; 0: points have none */
    if (bl_bits_get(b, 1)) { /* timing_info_present_flag */
        bl_bits_skip(b, 64);
        if (bl_bits_get(b, 1)) /* equal_picture_interval */
            (void)bl_bits_unsigned(b);
        if (bl_bits_get(b, 1)) { /* decoder_model_info_present_flag */
            bits = bl_bits_get(b, 5) + 1;
            bl_bits_skip(b, 42);
        }
    }
    bool delays = bl_bits_get(b, 1); /* initial_display_delay_present_flag */
    for (unsigned points = bl_bits_get(b, 5) + 1; points > 0; points--) {
        bl_bits_skip(b, 12);
        if (bl_bits_get(b, 5) > 7) /* seq_level_idx: higher levels have a tier */
            bl_bits_skip(b, 1);
        if (bits && bl_bits_get(b, 1))
            bl_bits_skip(b, 2 * bits + 1);
        if (delays && bl_bits_get(b, 1))
            bl_bits_skip(b, 4);
    }
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
    unsigned width_bits = bl_bits_get(&b, 4) + 1, height_bits = bl_bits_get(&b, 4) + 1;
    bl_bits_skip(&b, width_bits + height_bits);
    if (!reduced && bl_bits_get(&b, 1)) /* frame_id_numbers_present_flag */
        bl_bits_skip(&b, 7);
    bl_bits_skip(&b, 3);
    if (!reduced) {
        bl_bits_skip(&b, 4);
        bool orders = bl_bits_get(&b, 1); /* enable_order_hint */
        bl_bits_skip(&b, orders ? 2 : 0);
        /* seq_choose_screen_content_tools and its value, then seq_choose_integer_mv and its value. */
        bool screen = bl_bits_get(&b, 1) || bl_bits_get(&b, 1);
        if (screen && !bl_bits_get(&b, 1))
            bl_bits_skip(&b, 1);
        bl_bits_skip(&b, orders ? 3 : 0);
    }
    bl_bits_skip(&b, 3);
    if (bl_bits_get(&b, 1) && profile == 2) /* high_bitdepth */
        bl_bits_skip(&b, 1);
    if (profile != 1)
        bl_bits_skip(&b, 1);
    *tags = BL_PICTURE_UNTAGGED;
    if (bl_bits_get(&b, 1)) { /* color_description_present_flag */
        bl_bits_skip(&b, 8);
        tags->transfer = (uint8_t)bl_bits_get(&b, 8);
        tags->matrix = (uint8_t)bl_bits_get(&b, 8);
    }
    return !bl_bits_ended(&b);
}

/* --- H.264 headers ------------------------------------------------------------------------------------------------ */

/* Skips a scaling list, which ends early where its next value is 0 (H.264 7.3.2.1.1.1). */
static void scaling_list_skip(struct bl_bits *b, int size)
{
    int last = 8, next = 8;
    for (int i = 0; i < size && !bl_bits_ended(b); i++) {
        if (next != 0)
            next = (int)(((uint32_t)last + (uint32_t)bl_bits_signed(b)) & 255);
        last = next ? next : last;
    }
}

/* Reads the chroma format and the bit depths, and skips the scaling matrices. */
static void sequence_read_format(struct bl_h264_sequence *s, struct bl_bits *b)
{
    uint32_t chroma = bl_bits_unsigned(b);
    s->separate = chroma == 3 && bl_bits_get(b, 1);
    uint32_t luma = bl_bits_unsigned(b), other = bl_bits_unsigned(b); /* depths, less 8 bits */
    s->decodable = chroma <= 3 && luma == other && (luma <= 2 || luma == 4 || luma == 6) && !s->separate;
    bl_bits_skip(b, 1);
    if (!bl_bits_get(b, 1)) /* seq_scaling_matrix_present_flag */
        return;
    for (int i = 0; i < (chroma == 3 ? 12 : 8); i++) {
        if (bl_bits_get(b, 1))
            scaling_list_skip(b, i < 6 ? 16 : 64);
    }
}

/* Stores a sequence parameter set, unless it ends too early or has values out of bounds. */
static void headers_take_sequence(struct bl_h264_headers *headers, const struct bl_nal *nal)
{
    /* The profiles whose headers have the chroma format and scaling matrices. */
    static const uint8_t high[] = {100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135};
    struct bl_h264_sequence s = {.decodable = true, .tags = BL_PICTURE_UNTAGGED};
    struct bl_bits b = bl_nal_bits(nal, 1);
    unsigned profile = bl_bits_get(&b, 8);
    bl_bits_skip(&b, 16);
    uint32_t number = bl_bits_unsigned(&b);
    if (memchr(high, (int)profile, sizeof high))
        sequence_read_format(&s, &b);
    uint32_t bits = bl_bits_unsigned(&b), order = bl_bits_unsigned(&b); /* of frame_num, less 4; pic_order_cnt_type */
    if (order == 0)
        (void)bl_bits_unsigned(&b);
    if (order == 1) {
        bl_bits_skip(&b, 1);
        (void)bl_bits_signed(&b);
        (void)bl_bits_signed(&b);
        uint32_t count = bl_bits_unsigned(&b); /* num_ref_frames_in_pic_order_cnt_cycle */
        for (uint32_t i = 0; i < count && i < 256; i++)
            (void)bl_bits_signed(&b);
    }
    (void)bl_bits_unsigned(&b);
    s.numbers_skip = bl_bits_get(&b, 1);
    (void)bl_bits_unsigned(&b);
    (void)bl_bits_unsigned(&b);
    if (!bl_bits_get(&b, 1)) /* frame_mbs_only_flag */
        bl_bits_skip(&b, 1);
    bl_bits_skip(&b, 1);
    for (int i = bl_bits_get(&b, 1) ? 4 : 0; i > 0; i--) /* frame_cropping_flag */
        (void)bl_bits_unsigned(&b);
    if (bl_bits_get(&b, 1)) /* vui_parameters_present_flag */
        s.tags = bl_picture_tags_read(&b);
    if (number >= 32 || bits > 12 || bl_bits_ended(&b))
        return;
    s.known = true;
    s.frame_bits = (uint8_t)(bits + 4);
    headers->sequence[number] = s;
}

void bl_h264_take(struct bl_h264_headers *headers, const struct bl_nal *nal)
{
    enum { SEQUENCE = 7, PICTURE = 8 };
    unsigned type = nal->data[0] & 31;
    if (type == SEQUENCE)
        headers_take_sequence(headers, nal);
    if (type != PICTURE)
        return;
    struct bl_bits b = bl_nal_bits(nal, 1);
    uint32_t number = bl_bits_unsigned(&b), sequence = bl_bits_unsigned(&b);
    if (number < 256 && sequence < 32 && !bl_bits_ended(&b))
        headers->picture[number] = (uint8_t)(sequence + 1);
}

struct bl_h264_picture bl_h264_begin(struct bl_h264_headers *headers, const struct bl_nal *nal)
{
    enum { SLICE_INSTANT = 5 };
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
    /* A picture has the number of the last reference picture plus 1, or that one's own if it is its second field. */
    uint32_t number = bl_bits_get(&b, s->frame_bits);
    uint32_t last = (uint32_t)(headers->frame - 1), mask = (UINT32_C(1) << s->frame_bits) - 1;
    if (headers->frame && !s->numbers_skip && number != last && number != ((last + 1) & mask)) {
        picture.reset = number <= 1;
        picture.gap = !picture.reset;
        headers->frame = number; /* as if the missing ones had come */
    }
    if (nal->data[0] & 0x60) /* nal_ref_idc: others refer to this picture */
        headers->frame = (int64_t)number + 1;
    return picture;
}

/* --- entry points ------------------------------------------------------------------------------------------------- */

/* The types of pictures: ITU-T H.265 7.4.2.2, H.263 5.1.3; ISO 14496-2 6.2.5; Theora specification 7.1; Sorenson's
 * and Microsoft's variants of H.263 as FFmpeg's decoders read them. */

static enum bl_entry entry_if(bool intra)
{
    return intra ? BL_ENTRY_YES : BL_ENTRY_NO;
}

/* Decoding can begin at a picture of the types 16 to 23 (IRAP). */
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

/* Behind the start code of a video object plane, the first two bits are its type: 0 is intra. */
static enum bl_entry entry_of_mpeg4(const uint8_t *data, size_t size)
{
    const uint8_t *end = data + size;
    for (const uint8_t *at = bl_start_code_find(data, end); at && end - at >= 2; at = bl_start_code_find(at, end)) {
        if (*at == 0xb6)
            return entry_if(at[1] >> 6 == 0);
    }
    return BL_ENTRY_NO;
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
        bl_bits_skip(&b, 35);
        if (bl_bits_get(&b, 3) != 7) /* the source format; 7: extended */
            return entry_if(!bl_bits_get(&b, 1));
        if (bl_bits_get(&b, 3) == 1) /* UFEP: the optional part of the header follows */
            bl_bits_skip(&b, 18);
        return entry_if(bl_bits_get(&b, 3) == 0);
    case AV_CODEC_ID_FLV1: {
        bl_bits_skip(&b, 30);
        unsigned format = bl_bits_get(&b, 3); /* 0 and 1: width and height follow, in 8 or in 16 bits each */
        bl_bits_skip(&b, format == 0 ? 16 : format == 1 ? 32 : 0);
        return entry_if(bl_bits_get(&b, 2) == 0);
    }
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
