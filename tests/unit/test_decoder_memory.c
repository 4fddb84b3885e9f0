#include "kind/media/decoder_memory.h"
#include "unit.h"

#define MIB ((int64_t)1 << 20)

static int64_t video(enum AVCodecID codec, int width, int height, enum AVPixelFormat format, int level)
{
    return bl_decoder_memory_video(
        &(struct bl_coded_video){.codec = codec, .width = width, .height = height, .format = format, .level = level});
}

/* What decoders were measured to hold of such streams, and twice that. */
UNIT_TEST(the_memory_is_near_what_is_held)
{
    static const struct {
        enum AVCodecID codec;
        int width, height;
        enum AVPixelFormat format;
        int level;
        int64_t held;
    } cases[] = {{AV_CODEC_ID_H264, 1920, 1080, AV_PIX_FMT_YUV420P, 40, 31},
                 {AV_CODEC_ID_H264, 3840, 2160, AV_PIX_FMT_YUV420P, 51, 106},
                 {AV_CODEC_ID_HEVC, 3840, 2160, AV_PIX_FMT_YUV420P, 150, 129},
                 {AV_CODEC_ID_HEVC, 3840, 2160, AV_PIX_FMT_YUV420P10, 150, 214},
                 {AV_CODEC_ID_AV1, 1920, 1080, AV_PIX_FMT_YUV420P, 0, 32},
                 {AV_CODEC_ID_PRORES, 1920, 1080, AV_PIX_FMT_YUV422P10, 0, 22},
                 {AV_CODEC_ID_MPEG4, 1920, 1080, AV_PIX_FMT_YUV420P, 0, 21}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t bytes = video(cases[i].codec, cases[i].width, cases[i].height, cases[i].format, cases[i].level);
        ck_assert_int_ge(bytes, cases[i].held * MIB);
        ck_assert_int_le(bytes, 2 * cases[i].held * MIB);
    }
}

UNIT_TEST(large_video_is_within_the_default)
{
    ck_assert_int_le(video(AV_CODEC_ID_H264, 7680, 4320, AV_PIX_FMT_YUV420P, 60), 1024 * MIB);
    ck_assert_int_le(video(AV_CODEC_ID_HEVC, 7680, 4320, AV_PIX_FMT_YUV420P10, 180), 1024 * MIB);
    ck_assert_int_le(video(AV_CODEC_ID_VP9, 7680, 4320, AV_PIX_FMT_YUV420P, 0), 1024 * MIB);
    ck_assert_int_le(video(AV_CODEC_ID_AV1, 7680, 4320, AV_PIX_FMT_YUV420P, 0), 1024 * MIB);
    ck_assert_int_gt(video(AV_CODEC_ID_H264, 16384, 16384, AV_PIX_FMT_YUV420P, 62), 1024 * MIB);
}

/* No size leads to a number that is too small, nor the area to one that the size contradicts. */
UNIT_TEST(sizes_that_are_claimed_do_not_overflow)
{
    static const enum AVCodecID codecs[] = {AV_CODEC_ID_H264, AV_CODEC_ID_HEVC, AV_CODEC_ID_VP9, AV_CODEC_ID_MJPEG,
                                            AV_CODEC_ID_NONE};
    for (size_t i = 0; i < COUNT(codecs); i++) {
        int64_t before = 0;
        ck_assert_int_eq(video(codecs[i], 0, 5, AV_PIX_FMT_YUV420P, 0), 0);
        for (int64_t side = 16; side <= INT32_MAX; side *= 2) {
            int64_t bytes = video(codecs[i], (int)side, INT32_MAX, AV_PIX_FMT_RGBA64LE, 10);
            ck_assert_int_ge(bytes, before);
            before = bytes;
        }
        ck_assert_int_gt(before, (int64_t)1 << 40);
        int64_t area = bl_decoder_memory_area(codecs[i], 1024 * MIB);
        ck_assert_int_gt(area, 0);
        ck_assert_int_gt(video(codecs[i], (int)(area / 8192 + 8192), 8192, AV_PIX_FMT_GRAY8, 0), 1024 * MIB);
    }
    ck_assert_int_gt(bl_decoder_memory_audio(INT32_MAX, INT32_MAX), (int64_t)1 << 40);
}

/* The level counts, and a stream without one gets the highest. */
UNIT_TEST(levels_bound_the_pictures)
{
    int64_t low = video(AV_CODEC_ID_H264, 1920, 1080, AV_PIX_FMT_YUV420P, 40);
    int64_t high = video(AV_CODEC_ID_H264, 1920, 1080, AV_PIX_FMT_YUV420P, 62);
    ck_assert_int_lt(low, high);
    ck_assert_int_eq(video(AV_CODEC_ID_H264, 1920, 1080, AV_PIX_FMT_YUV420P, -99), high);
    struct bl_coded_video many = {AV_CODEC_ID_H264, 1920, 1080, AV_PIX_FMT_YUV420P, 40, 30};
    ck_assert_int_gt(bl_decoder_memory_video(&many), high);
}

UNIT_TEST(the_reason_has_both_figures)
{
    ck_assert_int_eq(bl_decoder_memory_check_picture(4000, 3000, 5 * MIB, 5 * MIB, &e), 0);
    ck_assert_int_eq(bl_decoder_memory_check_picture(4000, 3000, 5 * MIB, 0, &e), 0);
    FAILS(bl_decoder_memory_check_picture(4000, 3000, 5 * MIB, MIB, &e), BL_EDATA,
          "4000x3000 needs 5.0 MiB to decode, more than --decoder-memory 1.0 MiB");
    FAILS_WITH(bl_decoder_memory_check_picture(16384, 16384, MIB, 0, &e), BL_EDATA,
               "16384x16384 is more than FFmpeg decodes");
}
