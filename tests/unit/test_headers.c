/* Headers of H.264, H.265 and AV1 that are written bit by bit as the standards say, or come from an encoder that was
 * told what they should say. */
#include <stdarg.h>

#include "kind/video/bitstream.h"
#include "kind/video/hevc_headers.h"
#include "kind/video/timeline.h"
#include "unit.h"

/* A unit being written; zeroed at first. */
struct sheet {
    uint8_t data[512];
    size_t bits;
};

static void put(struct sheet *s, uint32_t value, int bits)
{
    for (; bits > 0; bits--, s->bits++)
        s->data[s->bits / 8] |= (uint8_t)((value >> (bits - 1) & 1) << (7 - s->bits % 8));
}

static void put_code(struct sheet *s, uint32_t value)
{
    int bits = 0;
    while ((value + 1) >> (bits + 1))
        bits++;
    put(s, 0, bits);
    put(s, value + 1, bits + 1);
}

static void put_codes(struct sheet *s, int count, ...)
{
    va_list list;
    va_start(list, count);
    for (; count > 0; count--)
        put_code(s, va_arg(list, unsigned));
    va_end(list);
}

/* The stop bit; what follows a unit is not zero, so that nothing that is read too far looks right. */
static struct bl_nal finish(struct sheet *s)
{
    put(s, 1, 1);
    size_t size = (s->bits + 7) / 8;
    memset(s->data + size, 0xff, 8);
    return (struct bl_nal){s->data, size};
}

/* The beginning of the usability information: signal type and colours. */
static void put_usability(struct sheet *s, unsigned transfer, unsigned matrix)
{
    put(s, 1, 1);
    put(s, 1, 1); /* aspect ratio */
    put(s, 255, 8);
    put(s, 0x00040003, 32);
    put(s, 0, 1); /* overscan */
    put(s, 1, 1); /* signal type */
    put(s, 5, 3);
    put(s, 0, 1);
    put(s, 1, 1); /* colours */
    put(s, 9, 8);
    put(s, transfer, 8);
    put(s, matrix, 8);
    put(s, 0x15, 5);
}

UNIT_TEST(bits_and_codes)
{
    static const uint8_t data[] = {0xa5, 0x00, 0x00, 0x03, 0x01, 0xff};
    struct bl_bits plain = {.data = data, .size = 6}, b = {.data = data, .size = 6, .escaped = true};
    ck_assert_uint_eq(bl_bits_get(&plain, 32), 0xa5000003);
    ck_assert_uint_eq(bl_bits_get(&b, 32), 0xa5000001);
    ck_assert_uint_eq(bl_bits_get(&b, 8), 0xff);
    ck_assert(!bl_bits_ended(&b));
    ck_assert_uint_eq(bl_bits_get(&b, 3), 0);
    ck_assert(bl_bits_ended(&b));
    b = (struct bl_bits){.data = data, .size = 6, .escaped = true};
    bl_bits_skip(&b, 27);
    ck_assert_uint_eq(bl_bits_get(&b, 5), 1);
    for (unsigned skipped = 0; skipped <= 40; skipped++) { /* however it is reached, the rest is the same */
        struct bl_bits one = {.data = data, .size = 6, .escaped = true}, all = one;
        for (unsigned i = 0; i < skipped; i++)
            bl_bits_skip(&one, 1);
        bl_bits_skip(&all, skipped);
        ck_assert_uint_eq(bl_bits_get(&one, 32), bl_bits_get(&all, 32));
        ck_assert_uint_eq(one.at, all.at);
    }
    b = (struct bl_bits){.data = data, .size = 6};
    bl_bits_skip(&b, 4000000000u);
    ck_assert(bl_bits_ended(&b));
    b = (struct bl_bits){.data = data, .size = 6, .escaped = true};
    bl_bits_skip(&b, 4000000000u);
    ck_assert(bl_bits_ended(&b));

    struct sheet s = {0};
    static const uint32_t values[] = {0, 1, 2, 3, 7, 254, 65535, 0x7ffffffe};
    for (size_t i = 0; i < COUNT(values); i++)
        put_code(&s, values[i]);
    put_codes(&s, 3, 5, 6, 0); /* 3, -3, 0 */
    struct bl_bits codes = {.data = s.data, .size = sizeof s.data};
    for (size_t i = 0; i < COUNT(values); i++)
        ck_assert_uint_eq(bl_bits_unsigned(&codes), values[i]);
    ck_assert_int_eq(bl_bits_signed(&codes), 3);
    ck_assert_int_eq(bl_bits_signed(&codes), -3);
    ck_assert_int_eq(bl_bits_signed(&codes), 0);
    static const uint8_t zeros[16];
    codes = (struct bl_bits){.data = zeros, .size = 16};
    ck_assert_uint_eq(bl_bits_unsigned(&codes), UINT32_MAX);
}

/* A sequence of the High 4:2:2 profile: depth, scaling lists, an order of pictures by cycles, cropping. */
static void h264_take_sequence(struct bl_h264_headers *h, unsigned depth, bool numbers_skip)
{
    struct sheet s = {0};
    put(&s, 0x677a0028, 32);
    put_codes(&s, 4, 3, 2, depth - 8, depth - 8); /* set 3, 4:2:2 */
    put(&s, 1, 2);                                /* scaling lists */
    put(&s, 1, 1);
    put_codes(&s, 1, 16); /* the first ends at once: -8 */
    put(&s, 0, 7);
    put_codes(&s, 2, 0, 1); /* frame_num of 4 bits; the order of type 1 */
    put(&s, 0, 1);
    put_codes(&s, 6, 0, 0, 3, 1, 1, 1);
    put_codes(&s, 1, 4);
    put(&s, numbers_skip, 1);
    put_codes(&s, 2, 119, 67);
    put(&s, 1, 1); /* frames only */
    put(&s, 1, 1);
    put(&s, 1, 1); /* cropping */
    put_codes(&s, 4, 5, 0, 0, 4);
    put_usability(&s, 16, 9);
    struct bl_nal nal = finish(&s);
    bl_h264_take(h, &nal);
    struct sheet p = {0};
    put(&p, 0x68, 8);
    put_codes(&p, 2, 7, 3);
    put(&p, 0x2a, 6);
    nal = finish(&p);
    bl_h264_take(h, &nal);
}

static struct bl_h264_picture h264_begin(struct bl_h264_headers *h, unsigned head, unsigned set, unsigned number)
{
    struct sheet s = {0};
    put(&s, head, 8);
    put_codes(&s, 3, 0, 7, set);
    put(&s, number, 4);
    put(&s, 0x2aaaa, 18);
    struct bl_nal nal = finish(&s);
    return bl_h264_begin(h, &nal);
}

enum { INSTANT = 0x65, REFERRED = 0x61, ALONE = 0x01 };

/* A difference in a scaling list of which only a damaged stream has the like: there is nothing to see but by UBSan. */
UNIT_TEST(h264_scaling_lists_do_not_overflow)
{
    static struct bl_h264_headers h;
    struct sheet s = {0};
    put(&s, 0x677a0028, 32);
    put_codes(&s, 4, 3, 2, 2, 2);
    put(&s, 1, 2);
    put(&s, 1, 1);
    put(&s, 0, 31); /* the largest: 2^31 - 1 */
    put(&s, 0xfffffffe, 32);
    struct bl_nal nal = finish(&s);
    bl_h264_take(&h, &nal);
    ck_assert(!h264_begin(&h, INSTANT, 3, 0).known);
}

UNIT_TEST(h264_tells_colours_and_losses)
{
    static const struct {
        unsigned head, number;
        bool gap, reset;
    } pictures[] = {{INSTANT, 0, 0, 0},  {REFERRED, 1, 0, 0},  {ALONE, 2, 0, 0},    {ALONE, 2, 0, 0},
                    {REFERRED, 2, 0, 0}, {REFERRED, 2, 0, 0},  {ALONE, 4, 1, 0},    {ALONE, 4, 0, 0},
                    {REFERRED, 4, 0, 0}, {REFERRED, 7, 1, 0},  {REFERRED, 8, 0, 0}, {REFERRED, 1, 0, 1},
                    {INSTANT, 0, 0, 0},  {REFERRED, 15, 1, 0}, {REFERRED, 0, 0, 0}};
    static struct bl_h264_headers h;
    ck_assert(!h264_begin(&h, INSTANT, 7, 0).known);
    h264_take_sequence(&h, 10, false);
    ck_assert(!h264_begin(&h, INSTANT, 6, 0).known);
    for (size_t i = 0; i < COUNT(pictures); i++) {
        struct bl_h264_picture p = h264_begin(&h, pictures[i].head, 7, pictures[i].number);
        ck_assert_msg(p.known && p.gap == pictures[i].gap && p.reset == pictures[i].reset, "picture %zu", i);
        ck_assert(p.tags.transfer == 16 && p.tags.matrix == 9);
    }
    h264_take_sequence(&h, 10, true);
    ck_assert(!h264_begin(&h, REFERRED, 7, 9).gap);
    h264_take_sequence(&h, 11, false); /* which FFmpeg does not decode */
    ck_assert(!h264_begin(&h, INSTANT, 7, 0).known);
}

/* Two sets of references: one before; the second derived of it: one and two before, one behind. */
static void hevc_take_sequence(struct bl_hevc_headers *h)
{
    struct sheet s = {0};
    put(&s, 0x4201, 16);
    put(&s, 0x03, 8); /* layers in time: two */
    for (int i = 0; i < 12; i++)
        put(&s, 0x11, 8); /* the profile */
    put(&s, 3, 2);        /* the layer's own */
    put(&s, 0, 14);
    for (int i = 0; i < 12; i++)
        put(&s, 0x11, 8);
    put_codes(&s, 4, 2, 1, 127, 95); /* set 2, 4:2:0 */
    put(&s, 0, 1);
    put_codes(&s, 3, 2, 2, 0); /* 10 bits, orders of 4 bits */
    put(&s, 0, 1);
    put_codes(&s, 3, 4, 2, 0);
    put_codes(&s, 6, 0, 3, 0, 3, 1, 1);
    put(&s, 3, 2); /* scaling lists */
    for (int i = 0; i < 20; i++) {
        put(&s, 0, 1);
        put_codes(&s, 1, 0);
    }
    put(&s, 1, 3); /* PCM */
    put(&s, 0x77, 8);
    put_codes(&s, 2, 0, 2);
    put(&s, 1, 1);
    put_codes(&s, 3, 2, 1, 0); /* two sets: one picture before */
    put_codes(&s, 1, 0);
    put(&s, 1, 1);
    put(&s, 3, 2); /* derived: of the last set, moved back by one */
    put_codes(&s, 1, 0);
    put(&s, 3, 2); /* both are used: the moved one, and the one that the move itself gives */
    put(&s, 0, 1); /* no long-term references */
    put(&s, 3, 2);
    put_usability(&s, 18, 9);
    struct bl_nal nal = finish(&s);
    bl_hevc_take(h, &nal);
    struct sheet p = {0};
    put(&p, 0x4401, 16);
    put_codes(&p, 2, 5, 2);
    put(&p, 0x01, 5); /* a bit more in slices */
    put(&p, 0x2a, 6);
    nal = finish(&p);
    bl_hevc_take(h, &nal);
}

/* set: of references, 0 or 1; or the slice's own: 2: one picture three before; 3: one seven before, not used; 4: three
 * before and four behind. */
static struct bl_hevc_picture hevc_begin(struct bl_hevc_headers *h, int64_t number, unsigned type, unsigned order,
                                         unsigned set)
{
    struct sheet s = {0};
    bool restarts = type == 19 || type == 20, intra = type >= 16;
    put(&s, type << 9 | 1, 16);
    put(&s, intra ? 2 : 1, intra ? 2 : 1);
    put_codes(&s, 1, 5);
    put(&s, 1, 1);
    put_codes(&s, 1, 1);
    if (!restarts) {
        put(&s, order & 15, 4);
        put(&s, set < 2, 1);
        put(&s, set < 2 ? set : 0, 1);
        if (set == 2) {
            put_codes(&s, 3, 1, 0, 2);
            put(&s, 1, 1);
        } else if (set == 3) {
            put_codes(&s, 3, 1, 0, 6);
            put(&s, 0, 1);
        } else if (set == 4) {
            put_codes(&s, 3, 1, 1, 2);
            put(&s, 1, 1);
            put_codes(&s, 1, 3);
            put(&s, 1, 1);
        }
    }
    put(&s, 0x2aaaa, 18);
    struct bl_nal nal = finish(&s);
    return bl_hevc_begin(h, &nal, number, restarts);
}

UNIT_TEST(hevc_tells_colours_and_losses)
{
    static struct bl_hevc_headers h;
    ck_assert(!hevc_begin(&h, 0, 19, 0, 0).known);
    hevc_take_sequence(&h);
    const struct bl_hevc_references *set = h.sequence[2].set;
    ck_assert(h.sequence[2].known && h.sequence[2].sets == 2);
    ck_assert(set[0].count == 1 && set[0].before == 1 && set[0].distance[0] == -1 && set[0].used == 1);
    ck_assert(set[1].count == 2 && set[1].before == 2 && set[1].used == 3);
    ck_assert_int_eq(set[1].distance[0], -1);
    ck_assert_int_eq(set[1].distance[1], -2);
    static const struct {
        unsigned type, order, set;
        bool gap;
    } pictures[] = {{19, 0, 0, 0}, {1, 1, 0, 0},  {1, 2, 1, 0},  {1, 4, 0, 1},  {1, 5, 0, 0},
                    {1, 6, 0, 0},  {1, 7, 0, 0},  {1, 8, 2, 1},  {1, 9, 0, 0},  {1, 10, 0, 0},
                    {1, 11, 0, 0}, {1, 12, 0, 0}, {1, 13, 0, 0}, {1, 14, 0, 0}, {1, 15, 0, 0},
                    {1, 16, 0, 0}, {1, 17, 1, 0}, {20, 0, 0, 0}, {1, 1, 0, 0}};
    for (size_t i = 0; i < COUNT(pictures); i++) {
        struct bl_hevc_picture p = hevc_begin(&h, (int64_t)i, pictures[i].type, pictures[i].order, pictures[i].set);
        ck_assert_msg(p.known && p.gap == pictures[i].gap, "picture %zu", i);
        ck_assert(p.tags.transfer == 18 && p.tags.matrix == 9);
    }
}

/* Pictures at which decoding may begin (CRA): those shown before them need what came earlier, and those that refer to
 * these. */
UNIT_TEST(hevc_tells_what_pictures_need)
{
    static struct bl_hevc_headers h;
    hevc_take_sequence(&h);
    static const struct {
        unsigned type, order, set;
        int64_t needs;
    } pictures[] = {{20, 0, 0, 10}, {1, 1, 0, 10},   {21, 8, 3, 12}, {8, 4, 4, 10},  {1, 9, 0, 12},
                    {1, 12, 2, 12}, {21, 19, 3, 16}, {8, 15, 4, 12}, {1, 18, 2, 12}, {20, 0, 0, 19}};
    for (size_t i = 0; i < COUNT(pictures); i++) {
        int64_t number = 10 + (int64_t)i;
        struct bl_hevc_picture p = hevc_begin(&h, number, pictures[i].type, pictures[i].order, pictures[i].set);
        ck_assert_msg(p.known && p.traced && p.needs == pictures[i].needs, "picture %zu", i);
    }
}

/* As encoders wrote them: SVT-AV1 without colours, and with PQ. */
UNIT_TEST(av1_tells_colours)
{
    static const uint8_t plain[] = {0x00, 0x00, 0x00, 0x03, 0xbd, 0x7c, 0x79, 0xf7, 0xf2, 0x00, 0x80};
    static const uint8_t pq[] = {0x00, 0x00, 0x00, 0x03, 0x37, 0xfb, 0xe7, 0xdf, 0xca, 0x84, 0x88, 0x04, 0x82};
    struct bl_picture_tags tags;
    ck_assert(bl_av1_sequence_read(plain, sizeof plain, &tags));
    ck_assert(tags.transfer == 2 && tags.matrix == 2);
    ck_assert(bl_av1_sequence_read(pq, sizeof pq, &tags));
    ck_assert(tags.transfer == 16 && tags.matrix == 9);
    for (size_t size = 0; size < 9; size++)
        ck_assert(!bl_av1_sequence_read(pq, size, &tags));
}

UNIT_TEST(messages_prefer_a_curve)
{
    uint8_t message[300] = {0x4e, 0x01, 5, 255, 3}; /* 258 bytes of another kind before it */
    memset(message + 5, 0x80, 258);
    memcpy(message + 263, "\x93\x01\x12\x80", 4);
    struct bl_nal nal = {message, 267};
    ck_assert_uint_eq(bl_nal_preferred_transfer(&nal, 2), 18);
    nal.size = 264;
    ck_assert_uint_eq(bl_nal_preferred_transfer(&nal, 2), 0);
    nal.size = 2;
    ck_assert_uint_eq(bl_nal_preferred_transfer(&nal, 2), 0);
}

static void count_unit(void *to, const struct bl_nal *nal)
{
    unsigned *seen = to;
    *seen = *seen * 16 + (nal->data[0] & 15);
}

UNIT_TEST(headers_of_containers)
{
    static const uint8_t avcc[] = {1, 100, 0, 40, 0xfe, 0xe1, 0, 3, 0x67, 1, 2, 2, 0, 2, 0x68, 1, 0, 2, 0x68, 2};
    static const uint8_t plain[] = {0, 0, 0, 1, 0x67, 1, 2, 0, 0, 1, 0x68, 1, 0, 0, 1, 9};
    unsigned seen = 0;
    ck_assert_int_eq(bl_nal_length(AV_CODEC_ID_H264, avcc, sizeof avcc), 3);
    bl_nal_headers(AV_CODEC_ID_H264, avcc, sizeof avcc, count_unit, &seen);
    ck_assert_uint_eq(seen, 0x788);
    seen = 0;
    bl_nal_headers(AV_CODEC_ID_H264, avcc, sizeof avcc - 1, count_unit, &seen);
    ck_assert_uint_eq(seen, 0x78);
    seen = 0;
    ck_assert_int_eq(bl_nal_length(AV_CODEC_ID_H264, plain, sizeof plain), 0);
    bl_nal_headers(AV_CODEC_ID_H264, plain, sizeof plain, count_unit, &seen);
    ck_assert_uint_eq(seen, 0x78);

    uint8_t hvcc[40] = {1, 1, 0x60};
    hvcc[21] = 0xff;
    hvcc[22] = 2;
    memcpy(hvcc + 23, "\x21\0\1\0\3\x42\1\7\x22\0\1\0\2\x44\1", 15);
    seen = 0;
    ck_assert_int_eq(bl_nal_length(AV_CODEC_ID_HEVC, hvcc, sizeof hvcc), 4);
    bl_nal_headers(AV_CODEC_ID_HEVC, hvcc, 38, count_unit, &seen);
    ck_assert_uint_eq(seen, 0x24);
    bl_nal_headers(AV_CODEC_ID_HEVC, NULL, 0, count_unit, &seen);
    ck_assert_uint_eq(seen, 0x24);
}

UNIT_TEST(entries)
{
    static const struct {
        enum AVCodecID codec;
        enum bl_entry entry;
        int size;
        const char *data;
    } packets[] = {
        {AV_CODEC_ID_MPEG4, BL_ENTRY_YES, 9, "\0\0\1\xb3\0\0\1\xb6\x10"},
        {AV_CODEC_ID_MPEG4, BL_ENTRY_NO, 5, "\0\0\1\xb6\x50"},
        {AV_CODEC_ID_MPEG4, BL_ENTRY_NO, 4, "\0\0\1\xb6"},
        {AV_CODEC_ID_HEVC, BL_ENTRY_YES, 12, "\0\0\1\x4e\1\5\0\0\1\x2a\1\xaf"},
        {AV_CODEC_ID_HEVC, BL_ENTRY_NO, 6, "\0\0\1\x02\1\xd0"},
        {AV_CODEC_ID_H263, BL_ENTRY_YES, 6, "\0\0\x80\2\x08\0"},
        {AV_CODEC_ID_H263, BL_ENTRY_NO, 6, "\0\0\x80\2\x0a\0"},
        {AV_CODEC_ID_FLV1, BL_ENTRY_YES, 5, "\0\0\x84\1\x1f"},
        {AV_CODEC_ID_FLV1, BL_ENTRY_NO, 5, "\0\0\x84\1\x3f"},
        {AV_CODEC_ID_FLV1, BL_ENTRY_YES, 7, "\0\0\x84\0\x7f\x7f\x9f"},
        {AV_CODEC_ID_FLV1, BL_ENTRY_NO, 7, "\0\0\x84\0\x7f\x7f\x3f"},
        {AV_CODEC_ID_MSMPEG4V3, BL_ENTRY_YES, 1, "\x3f"},
        {AV_CODEC_ID_MSMPEG4V3, BL_ENTRY_NO, 1, "\x7f"},
        {AV_CODEC_ID_WMV2, BL_ENTRY_NO, 1, "\x80"},
        {AV_CODEC_ID_THEORA, BL_ENTRY_YES, 1, "\x3f"},
        {AV_CODEC_ID_THEORA, BL_ENTRY_NO, 1, "\x40"},
        {AV_CODEC_ID_H264, BL_ENTRY_YES, 5, "\0\0\1\x61\1"},
        {AV_CODEC_ID_HUFFYUV, BL_ENTRY_YES, 1, "\1"},
        {AV_CODEC_ID_RV40, BL_ENTRY_UNKNOWN, 1, "\1"},
        {AV_CODEC_ID_MPEG4, BL_ENTRY_UNKNOWN, 0, ""},
    };
    OWNED(av_packet_free) AVPacket *packet = av_packet_alloc();
    ck_assert_ptr_nonnull(packet);
    for (size_t i = 0; i < COUNT(packets); i++) {
        uint8_t data[16] = {0};
        memcpy(data, packets[i].data, (size_t)packets[i].size);
        packet->data = data;
        packet->size = packets[i].size;
        ck_assert_msg(bl_entry_find(packets[i].codec, 0, packet) == packets[i].entry, "packet %zu", i);
    }
    packet->data = NULL;
    packet->size = 0;
}
