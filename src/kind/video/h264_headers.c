#include "kind/video/h264_headers.h"

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
