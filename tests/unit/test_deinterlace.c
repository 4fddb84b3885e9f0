/* Deinterlacing: each frame comes back once, in order and with its times, whatever changes between frames. */
#include "kind/video/deinterlace.h"

#include <libavutil/pixdesc.h>
#include <string.h>

#include "kind/media/compat.h"
#include "unit.h"

#define WIDE 16

/* Returns whether libavfilter is there; without it the tests say why they are skipped. */
static bool filter_is_there(void)
{
    struct bl_error none = {0};
    if (bl_deinterlace_load(&none) == BL_OK)
        return true;
    printf("skipped: %s\n", none.text);
    return false;
}

/* A frame whose two fields have different values, which change from frame to frame: a comb of something that moves. */
static AVFrame *comb(enum AVPixelFormat format, int height, int number, bool interlaced)
{
    AVFrame *frame = av_frame_alloc();
    ck_assert_ptr_nonnull(frame);
    frame->width = WIDE;
    frame->height = height;
    frame->format = format;
    ck_assert_int_eq(av_frame_get_buffer(frame, 0), 0);
    for (int p = 0; p < 3 && frame->data[p]; p++) {
        int rows = p && av_pix_fmt_desc_get(format)->log2_chroma_h ? height / 2 : height;
        for (int y = 0; y < rows; y++)
            memset(frame->data[p] + (ptrdiff_t)y * frame->linesize[p], y % 2 ? 200 + number % 2 * 50 : 50 + number % 50,
                   (size_t)frame->linesize[p]);
    }
#if BL_COMPAT_6_1
    frame->flags |= interlaced ? AV_FRAME_FLAG_INTERLACED | AV_FRAME_FLAG_TOP_FIELD_FIRST : 0;
#else
    frame->interlaced_frame = frame->top_field_first = interlaced;
#endif
    frame->pts = 1000 + 7 * number;
    frame->pkt_dts = 900 + 7 * number;
    frame->best_effort_timestamp = 1001 + 7 * number;
    bl_compat_set_duration(frame, 7 + number);
    return frame;
}

/* Takes what is ready: frames *next, *next + 1 and so on. Returns whether their second row was changed in all. */
static bool take_all(struct bl_deinterlace *d, int *next)
{
    OWNED(av_frame_free) AVFrame *frame = av_frame_alloc();
    bool got, changed = true;
    struct bl_error e = {0};
    for (;;) {
        ck_assert_msg(bl_deinterlace_take(d, frame, &got, &e) == BL_OK, "%s", e.text);
        if (!got)
            return changed;
        ck_assert_int_eq(frame->pts, 1000 + 7 * *next);
        ck_assert_int_eq(frame->pkt_dts, 900 + 7 * *next);
        ck_assert_int_eq(frame->best_effort_timestamp, 1001 + 7 * *next);
        ck_assert_int_eq(bl_compat_duration(frame), 7 + *next);
        ++*next;
        changed = changed && frame->data[0][(ptrdiff_t)5 * frame->linesize[0]] < 200;
        av_frame_unref(frame);
    }
}

/* Pushes so many frames like this one, and takes what comes. */
static bool push(struct bl_deinterlace *d, enum AVPixelFormat format, int height, bool interlaced, int count,
                 int *pushed, int *next)
{
    bool changed = true;
    struct bl_error e = {0};
    for (int i = 0; i < count; i++) {
        OWNED(av_frame_free) AVFrame *frame = comb(format, height, (*pushed)++, interlaced);
        ck_assert_msg(bl_deinterlace_push(d, frame, &e) == BL_OK, "%s", e.text);
        changed = take_all(d, next) && changed;
    }
    return changed;
}

UNIT_TEST(each_frame_comes_back_once)
{
    struct bl_deinterlace *d;
    if (!filter_is_there())
        return;
    for (int count = 0; count < 5; count++) {
        int pushed = 0, next = 0;
        ck_assert_int_eq(bl_deinterlace_open(&d, BL_DEINTERLACE_INTERLACED, &e), BL_OK);
        bool changed = push(d, AV_PIX_FMT_YUV420P, 32, true, count, &pushed, &next);
        ck_assert_int_eq(next, count ? count - 1 : 0); /* the last one waits for its neighbour */
        ck_assert(!bl_deinterlace_ended(d));
        ck_assert_int_eq(bl_deinterlace_push(d, NULL, &e), BL_OK);
        changed = take_all(d, &next) && changed;
        ck_assert(next == count && bl_deinterlace_ended(d));
        ck_assert(changed || count == 1); /* nothing moves in one frame */
        bl_deinterlace_close(d);
    }
    bl_deinterlace_close(NULL);
    ck_assert_uint_ne(bl_deinterlace_version(), 0);
}

UNIT_TEST(pictures_that_change)
{
    struct bl_deinterlace *d;
    int pushed = 0, next = 0;
    if (!filter_is_there())
        return;
    ck_assert_int_eq(bl_deinterlace_open(&d, BL_DEINTERLACE_INTERLACED, &e), BL_OK);
    ck_assert(push(d, AV_PIX_FMT_YUV420P, 32, true, 3, &pushed, &next));
    ck_assert(push(d, AV_PIX_FMT_YUV420P, 48, true, 2, &pushed, &next));
    ck_assert_int_eq(next, 4);
    ck_assert(push(d, AV_PIX_FMT_YUV422P, 48, true, 2, &pushed, &next));
    /* bwdif does not take these, which pass unless they are interlaced. */
    ck_assert(!push(d, AV_PIX_FMT_RGB24, 48, false, 3, &pushed, &next));
    ck_assert_int_eq(next, 10);
    ck_assert(push(d, AV_PIX_FMT_YUV420P, 32, true, 2, &pushed, &next));
    ck_assert(!push(d, AV_PIX_FMT_YUV420P, 32, false, 2, &pushed, &next)); /* as it is */
    /* Going on elsewhere forgets the frame that waits. */
    bl_deinterlace_reset(d);
    next = pushed;
    ck_assert(push(d, AV_PIX_FMT_YUV420P, 32, true, 2, &pushed, &next));
    ck_assert_int_eq(bl_deinterlace_push(d, NULL, &e), BL_OK);
    ck_assert(take_all(d, &next) && next == pushed);
    bl_deinterlace_close(d);
}

UNIT_TEST(pictures_that_cannot_be_deinterlaced)
{
    static const struct {
        enum bl_deinterlace_mode mode;
        enum AVPixelFormat format;
        int height;
        bool interlaced;
        const char *text;
    } bad[] = {
        {BL_DEINTERLACE_INTERLACED, AV_PIX_FMT_RGB24, 32, true, "frames of 16x32 in the pixel format rgb24 cannot"},
        {BL_DEINTERLACE_ALL, AV_PIX_FMT_UYVY422, 32, false, "frames of 16x32 in the pixel format uyvy422 cannot"},
        {BL_DEINTERLACE_ALL, AV_PIX_FMT_YUV444P, 2, true, "frames of 16x2 in the pixel format yuv444p cannot"}};
    struct bl_deinterlace *d;
    if (!filter_is_there())
        return;
    for (size_t i = 0; i < COUNT(bad); i++) {
        ck_assert_int_eq(bl_deinterlace_open(&d, bad[i].mode, &e), BL_OK);
        OWNED(av_frame_free) AVFrame *frame = comb(bad[i].format, bad[i].height, 0, bad[i].interlaced);
        FAILS_WITH(bl_deinterlace_push(d, frame, &e), BL_EDATA, bad[i].text);
        bl_deinterlace_close(d);
        e = (struct bl_error){0};
    }
}
