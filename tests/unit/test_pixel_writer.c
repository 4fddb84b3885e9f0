/* Pixels other than RGB: grey and alpha against their definitions, and numbers that must come through as they are. */
#include "kind/media/module.h"

#include <libavutil/intreadwrite.h>
#include <math.h>

#include "kind/video/convert.h"
#include "picture.h"

static uint32_t noise_next(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 16;
}

/* Fills all planes with noise, in bytes. */
static void frame_fill(AVFrame *frame, uint32_t seed)
{
    for (int b = 0; b < AV_NUM_DATA_POINTERS && frame->buf[b]; b++) {
        for (size_t i = 0; i < frame->buf[b]->size; i++)
            frame->buf[b]->data[i] = (uint8_t)noise_next(&seed);
    }
}

/* Converts into memory of its own, of just that size. */
static void *convert(const AVFrame *frame, const struct bl_geometry *g, enum bl_channels channels, enum bl_simd simd)
{
    struct bl_convert *c;
    struct bl_error e = {0};
    const struct bl_convert_options options = {.simd = simd, .channels = channels};
    uint8_t *out = malloc((size_t)g->width * (size_t)g->height * (size_t)bl_channels_bytes(channels));
    ck_assert_int_eq(bl_convert_open(&c, &options, &e), 0);
    ck_assert_msg(bl_convert_frame(c, frame, g, out, &e) == 0, "%s", e.text);
    bl_convert_close(c);
    return out;
}

/* Assertions of their own for each pixel would take most of the time. */
static void same(const uint16_t *got, const uint16_t *expected, int count)
{
    for (int i = 0; i < count; i++) {
        if (got[i] != expected[i])
            ck_abort_msg("pixel %d is %d instead of %d", i, got[i], expected[i]);
    }
}

static const enum bl_simd levels[] = {BL_SIMD_NONE, BL_SIMD_SSE2, BL_SIMD_AVX2, BL_SIMD_NEON};

/* --- numbers ---------------------------------------------------------------------------------------------------- */

/* A frame of 256x256 with every number of so many bits, and again; little-endian or big-endian, step words apart. */
static AVFrame *frame_of_numbers(enum AVPixelFormat format, int bits, int big_endian, int step)
{
    AVFrame *frame = frame_of(format, 256, 256);
    frame_fill(frame, 7);
    for (int i = 0; i < 65536; i++) {
        uint8_t *at = frame->data[0] + i / 256 * frame->linesize[0] + i % 256 * 2 * step;
        unsigned number = (unsigned)i & ((1u << bits) - 1);
        at[big_endian] = (uint8_t)number;
        at[!big_endian] = (uint8_t)(number >> 8);
    }
    return frame;
}

static const struct {
    enum AVPixelFormat format;
    int bits, big_endian, step;
} numbers[] = {{AV_PIX_FMT_GRAY16LE, 16, 0, 1}, {AV_PIX_FMT_GRAY16BE, 16, 1, 1}, {AV_PIX_FMT_GRAY9LE, 9, 0, 1},
               {AV_PIX_FMT_GRAY10LE, 10, 0, 1}, {AV_PIX_FMT_GRAY12BE, 12, 1, 1}, {AV_PIX_FMT_GRAY14LE, 14, 0, 1},
               {AV_PIX_FMT_YA16LE, 16, 0, 2},   {AV_PIX_FMT_YA16BE, 16, 1, 2}};

UNIT_LOOP(numbers_are_kept, COUNT(numbers))
{
    OWNED(av_frame_free)
    AVFrame *f = frame_of_numbers(numbers[_i].format, numbers[_i].bits, numbers[_i].big_endian, numbers[_i].step);
    struct bl_geometry g = geometry_of(f, 0, 0, BL_FIT_STRETCH, BL_RESIZE_NEAREST, NULL);
    f->color_range = AVCOL_RANGE_MPEG; /* whatever the tags say */
    f->color_trc = AVCOL_TRC_SMPTE2084;
    FREED uint16_t *out = convert(f, &g, BL_CHANNELS_GRAY16, bl_simd_best());
    FREED uint16_t *expected = malloc(65536 * sizeof *expected);
    for (int i = 0; i < 65536; i++)
        expected[i] = (uint16_t)(i & ((1 << numbers[_i].bits) - 1));
    same(out, expected, 65536);
}

/* The pixel that covers the centre of the new one, or begins there, at every level; centres are exact at these sizes.
 */
UNIT_LOOP(numbers_are_never_mixed, 6)
{
    static const int sizes[][2] = {{512, 768}, {256, 768}, {768, 32}, {1280, 2}, {64, 1024}, {16, 512}};
    OWNED(av_frame_free) AVFrame *f = frame_of_numbers(AV_PIX_FMT_GRAY16LE, 16, 0, 1);
    int width = sizes[_i][0], height = sizes[_i][1];
    struct bl_geometry g = geometry_of(f, width, height, BL_FIT_STRETCH, BL_RESIZE_NEAREST, NULL);
    FREED uint16_t *expected = malloc((size_t)width * (size_t)height * sizeof *expected);
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++)
            expected[y * width + x] =
                (uint16_t)((2 * y + 1) * 256 / (2 * height) * 256 + (2 * x + 1) * 256 / (2 * width));
    }
    for (size_t k = 0; k < COUNT(levels); k++) {
        if (bl_simd_apply(levels[k], NULL))
            continue;
        FREED uint16_t *out = convert(f, &g, BL_CHANNELS_GRAY16, levels[k]);
        same(out, expected, width * height);
    }
}

UNIT_TEST(numbers_are_turned_and_padded)
{
    const int32_t turn[9] = {0, 65536, 0, -65536, 0, 0, 0, 0, 1 << 30}; /* the top comes to the right */
    OWNED(av_frame_free) AVFrame *f = frame_of_numbers(AV_PIX_FMT_GRAY16LE, 16, 0, 1);
    f->width = 128;
    struct bl_geometry g = geometry_of(f, 256, 200, BL_FIT_PAD, BL_RESIZE_NEAREST, turn);
    ck_assert_int_eq(g.place_y, 36);
    FREED uint16_t *out = convert(f, &g, BL_CHANNELS_GRAY16, bl_simd_best());
    FREED uint16_t *expected = calloc(200 * 256, sizeof *expected);
    for (int i = 0; i < 128 * 256; i++)
        expected[36 * 256 + i] = (uint16_t)((255 - i % 256) * 256 + i / 256);
    same(out, expected, 200 * 256);
}

UNIT_TEST(other_pictures_have_no_numbers)
{
    static const enum AVPixelFormat formats[] = {AV_PIX_FMT_GRAY8,   AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV420P16LE,
                                                 AV_PIX_FMT_RGB48BE, AV_PIX_FMT_PAL8,    AV_PIX_FMT_MONOBLACK,
                                                 AV_PIX_FMT_YA8,     AV_PIX_FMT_CUDA,    AV_PIX_FMT_GRAYF32LE};
    const struct bl_convert_options options = {.channels = BL_CHANNELS_GRAY16};
    for (size_t i = 0; i < COUNT(formats); i++) {
        bl_error_clear(&e);
        int code = bl_convert_check(formats[i], AVCOL_TRC_UNSPECIFIED, AVCOL_SPC_UNSPECIFIED, &options, &e);
        ck_assert_int_eq(code, BL_EDATA);
        ck_assert_msg(strstr(e.text, "--pixels gray or rgb takes these") != NULL, "%s", e.text);
    }
    ck_assert_int_eq(bl_convert_check(AV_PIX_FMT_NONE, AVCOL_TRC_SMPTE2084, AVCOL_SPC_ICTCP, &options, NULL), 0);
}

/* --- other numbers ---------------------------------------------------------------------------------------------- */

/* Of a palette the indices, of grey the levels, and of one bit 0 or 1. */
UNIT_TEST(indices_are_kept)
{
    static const int width = 77, height = 13;
    static const enum AVPixelFormat formats[] = {AV_PIX_FMT_PAL8, AV_PIX_FMT_GRAY8, AV_PIX_FMT_YA8,
                                                 AV_PIX_FMT_MONOBLACK};
    for (size_t i = 0; i < COUNT(formats); i++) {
        OWNED(av_frame_free) AVFrame *f = frame_of(formats[i], width, height);
        int step = formats[i] == AV_PIX_FMT_YA8 ? 2 : 1;
        bool is_bit = formats[i] == AV_PIX_FMT_MONOBLACK;
        FREED uint8_t *expected = malloc((size_t)(width * height));
        for (int y = 0; y < height; y++) {
            memset(f->data[0] + y * f->linesize[0], 0, (size_t)(is_bit ? (width + 7) / 8 : width * step));
            for (int x = 0; x < width; x++) {
                uint8_t index = (uint8_t)(is_bit ? (x * y) & 1 : x * 3 + y * 41),
                        *row = f->data[0] + y * f->linesize[0];
                expected[y * width + x] = index;
                if (is_bit)
                    row[x / 8] = (uint8_t)(row[x / 8] | index << (7 - x % 8));
                else
                    row[x * step] = index;
            }
        }
        f->color_range = AVCOL_RANGE_MPEG; /* whatever the tags say */
        struct bl_geometry g = geometry_of(f, 0, 0, BL_FIT_STRETCH, BL_RESIZE_NEAREST, NULL);
        for (size_t k = 0; k < COUNT(levels); k++) {
            if (bl_simd_apply(levels[k], NULL))
                continue;
            FREED uint8_t *out = convert(f, &g, BL_CHANNELS_INDEX, levels[k]);
            ck_assert_msg(memcmp(out, expected, (size_t)(width * height)) == 0, "format %zu", i);
        }
    }
}

UNIT_TEST(depths_are_divided_once)
{
    OWNED(av_frame_free) AVFrame *f = frame_of_numbers(AV_PIX_FMT_GRAY16LE, 16, 0, 1);
    struct bl_geometry g = geometry_of(f, 0, 0, BL_FIT_STRETCH, BL_RESIZE_NEAREST, NULL);
    const struct bl_convert_options options = {
        .simd = bl_simd_best(), .channels = BL_CHANNELS_DEPTH, .per_metre = 5000};
    struct bl_convert *c = NULL;
    FREED float *out = malloc(65536 * sizeof *out);
    ck_assert_int_eq(bl_convert_open(&c, &options, &e), 0);
    ck_assert_msg(bl_convert_frame(c, f, &g, (uint8_t *)out, &e) == 0, "%s", e.text);
    bl_convert_close(c);
    for (int i = 0; i < 65536; i++)
        ck_assert_msg(out[i] >= (float)i / 5000.F && out[i] <= (float)i / 5000.F, "%d: %g", i, (double)out[i]);
}

/* RGB in the order of the channels, whatever the order in memory, at every level. */
UNIT_TEST(numbers_of_rgb_are_kept)
{
    static const int width = 67, height = 9;
    OWNED(av_frame_free) AVFrame *f = frame_of(AV_PIX_FMT_GBRP10LE, width, height);
    FREED uint16_t *expected = malloc((size_t)(width * height) * 3 * sizeof *expected);
    static const int plane_of[3] = {2, 0, 1};
    for (int i = 0; i < width * height; i++) {
        for (int c = 0; c < 3; c++) {
            uint16_t number = (uint16_t)((i * 7 + c * 311) & 1023);
            expected[3 * i + c] = number;
            AV_WL16(f->data[plane_of[c]] + i / width * f->linesize[plane_of[c]] + i % width * 2, number);
        }
    }
    struct bl_geometry g = geometry_of(f, 0, 0, BL_FIT_STRETCH, BL_RESIZE_NEAREST, NULL);
    for (size_t k = 0; k < COUNT(levels); k++) {
        if (bl_simd_apply(levels[k], NULL))
            continue;
        FREED uint16_t *out = convert(f, &g, BL_CHANNELS_RGB16, levels[k]);
        same(out, expected, width * height * 3);
    }
}

/* --- alpha -------------------------------------------------------------------------------------------------------- */

/* Half of the picture is opaque red, half transparent white: no white comes in where they meet. */
UNIT_TEST(transparent_pixels_have_no_part)
{
    OWNED(av_frame_free) AVFrame *f = frame_of(AV_PIX_FMT_RGBA, 64, 64);
    for (int y = 0; y < 64; y++) {
        for (int x = 0; x < 64; x++)
            memcpy(f->data[0] + y * f->linesize[0] + 4 * x, x < 32 ? "\xff\0\0\xff" : "\xff\xff\xff\0", 4);
    }
    struct bl_geometry g = geometry_of(f, 21, 21, BL_FIT_STRETCH, BL_RESIZE_BILINEAR, NULL);
    for (size_t k = 0; k < COUNT(levels); k++) {
        if (bl_simd_apply(levels[k], NULL))
            continue;
        FREED uint8_t *out = convert(f, &g, BL_CHANNELS_RGBA, levels[k]);
        int partly = 0;
        for (const uint8_t *at = out; at < out + (size_t)21 * 21 * 4; at += 4) {
            partly += at[3] > 0 && at[3] < 255;
            ck_assert_msg(at[3] < 4 || (at[0] >= 253 && at[1] <= 1 && at[2] <= 1), "%d %d %d %d", at[0], at[1], at[2],
                          at[3]);
        }
        ck_assert_int_gt(partly, 20);
    }
}

/* Pixels of four values are turned as others are, and frames without alpha are opaque. */
UNIT_TEST(alpha_is_turned)
{
    const int32_t turn[9] = {0, 65536, 0, -65536, 0, 0, 0, 0, 1 << 30}; /* the top comes to the right */
    static const int width = 45, height = 7;
    for (int i = 0; i < 2; i++) {
        OWNED(av_frame_free) AVFrame *f = frame_of(i ? AV_PIX_FMT_RGB24 : AV_PIX_FMT_RGBA, width, height);
        int step = i ? 3 : 4;
        frame_fill(f, 3);
        struct bl_geometry g = geometry_of(f, 0, 0, BL_FIT_STRETCH, BL_RESIZE_BILINEAR, turn);
        FREED uint8_t *out = convert(f, &g, BL_CHANNELS_RGBA, bl_simd_best());
        for (int y = 0; y < height; y++) {
            for (int x = 0; x < width; x++) {
                const uint8_t *from = f->data[0] + y * f->linesize[0] + step * x;
                const uint8_t *to = out + 4 * ((size_t)x * (size_t)height + (size_t)(height - 1 - y));
                ck_assert_int_eq(memcmp(from, to, 3), 0);
                ck_assert_int_eq(to[3], i ? 255 : from[3]);
            }
        }
    }
}

/* --- grey ------------------------------------------------------------------------------------------------------- */

UNIT_LOOP(grey_of_rgb_is_pillows, 3)
{
    static const int width = 67, height = 21;
    OWNED(av_frame_free) AVFrame *f = frame_of(AV_PIX_FMT_RGB24, width, height);
    frame_fill(f, (uint32_t)_i);
    struct bl_geometry g = geometry_of(f, 0, 0, BL_FIT_STRETCH, BL_RESIZE_BILINEAR, NULL);
    for (size_t k = 0; k < COUNT(levels); k++) {
        if (bl_simd_apply(levels[k], NULL))
            continue;
        FREED uint8_t *out = convert(f, &g, BL_CHANNELS_GRAY, levels[k]);
        for (int i = 0; i < width * height; i++) {
            const uint8_t *rgb = f->data[0] + i / width * f->linesize[0] + i % width * 3;
            ck_assert_int_eq(out[i], (rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16);
        }
    }
}

/* Luma of limited range is widened, of full range kept; chroma does not matter. */
UNIT_TEST(grey_of_yuv_is_luma)
{
    static const int width = 75, height = 20;
    for (int full = 0; full < 2; full++) {
        OWNED(av_frame_free) AVFrame *f = frame_of(AV_PIX_FMT_YUV420P, width, height);
        frame_fill(f, (uint32_t)full);
        f->color_range = full ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
        struct bl_geometry g = geometry_of(f, 0, 0, BL_FIT_STRETCH, BL_RESIZE_BILINEAR, NULL);
        FREED uint8_t *out = convert(f, &g, BL_CHANNELS_GRAY, bl_simd_best());
        for (int i = 0; i < width * height; i++) {
            double luma = f->data[0][i / width * f->linesize[0] + i % width];
            double level = full ? luma : fmin(fmax((luma - 16) * 255 / 219, 0), 255);
            ck_assert_int_eq(out[i], lrint(level));
        }
    }
}

/* What is grey already, scaled, turned and padded, is each channel of the RGB that it would become. */
UNIT_TEST(grey_is_a_channel_of_grey_rgb)
{
    static const int sizes[][2] = {{0, 0}, {40, 30}, {161, 97}};
    const int32_t turn[9] = {0, 65536, 0, -65536, 0, 0, 0, 0, 1 << 30};
    static const enum AVPixelFormat formats[] = {AV_PIX_FMT_GRAY8, AV_PIX_FMT_GRAY16BE, AV_PIX_FMT_YA8,
                                                 AV_PIX_FMT_MONOBLACK};
    for (size_t i = 0; i < 24; i++) {
        OWNED(av_frame_free) AVFrame *f = frame_of(formats[i % 4], 117, 64);
        frame_fill(f, (uint32_t)i);
        const int *size = sizes[i / 4 % 3];
        struct bl_geometry g = geometry_of(f, size[0], size[1], BL_FIT_PAD, BL_RESIZE_BICUBIC, i / 12 ? turn : NULL);
        FREED uint8_t *rgb = convert(f, &g, BL_CHANNELS_RGB, bl_simd_best());
        for (size_t k = 0; k < COUNT(levels); k++) {
            if (bl_simd_apply(levels[k], NULL))
                continue;
            FREED uint8_t *out = convert(f, &g, BL_CHANNELS_GRAY, levels[k]);
            for (int p = 0; p < g.width * g.height; p++)
                ck_assert_int_eq(out[p], rgb[3 * p + p % 3]);
        }
    }
}
