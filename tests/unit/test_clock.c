/* Times of frames in seconds; files that are damaged claim any. */
#include "kind/video/timeline.h"

#include <libavcodec/avcodec.h>

#include "kind/media/compat.h"
#include "kind/video/decode.h"
#include "unit.h"

/* Seconds that a clock of ticks of a quarter gives for `time`, where the first frame with a time comes after `before`
 * others. */
static double seconds_at(int64_t time, int64_t first, int64_t duration, int64_t before)
{
    struct bl_clock clock = {{1, 4}, AV_NOPTS_VALUE};
    OWNED(av_frame_free) AVFrame *frame = av_frame_alloc();
    ck_assert_ptr_nonnull(frame);
    frame->best_effort_timestamp = first;
    bl_compat_set_duration(frame, duration);
    bl_clock_note(&clock, frame, before);
    return bl_clock_seconds(&clock, time);
}

UNIT_TEST(seconds_count_from_the_first_frame)
{
    ck_assert_double_eq(seconds_at(110, 100, 4, 0), 2.5);
    ck_assert_double_eq(seconds_at(110, 100, 4, 3), 5.5);
    ck_assert_double_eq(seconds_at(-7, -9, -4, 3), 0.5);
    ck_assert_double_eq(seconds_at(AV_NOPTS_VALUE, 100, 4, 0), 0);
    ck_assert_double_eq(seconds_at(110, AV_NOPTS_VALUE, 4, 0), 0);
}

/* They are wrong anyway, but they are numbers. */
UNIT_TEST(times_that_no_number_holds)
{
    ck_assert_double_eq(seconds_at(110, 100, INT64_MAX, 3), 2.5);
    ck_assert_double_eq(seconds_at(INT64_MIN + 9, INT64_MIN + 5, INT64_MAX / 2, 2), 1);
    ck_assert_double_eq(seconds_at(INT64_MAX, -9, 4, 0), 0);
}

UNIT_TEST(ends_of_frames)
{
    static const struct {
        int64_t start, duration, end;
    } frames[] = {{100, 4, 104},
                  {100, -4, 100},
                  {-4000000000000000000, 5, -3999999999999999995},
                  {-4000000000000000000, INT64_MAX, INT64_MAX - 4000000000000000000},
                  {INT64_MAX - 3, 4, INT64_MAX - 3},
                  {AV_NOPTS_VALUE, 4, AV_NOPTS_VALUE}};
    struct bl_decode d = {.codec = avcodec_alloc_context3(NULL)};
    AVFrame *frame = av_frame_alloc();
    ck_assert(d.codec && frame);
    for (size_t i = 0; i < COUNT(frames); i++) {
        frame->best_effort_timestamp = frames[i].start;
        bl_compat_set_duration(frame, frames[i].duration);
        ck_assert_int_eq(bl_decode_time_end(&d, frame), frames[i].end);
    }
    av_frame_free(&frame);
    avcodec_free_context(&d.codec);
}
