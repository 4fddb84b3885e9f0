/* Pixels of one channel: grey against its definition, and numbers of 16 bits that must come through as they are. */
#include "kind/media/module.h"

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
