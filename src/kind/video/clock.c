#include "kind/video/clock.h"

#include <libavutil/avutil.h>
#include <libavutil/common.h>

#include "kind/media/compat.h"
#include "kind/video/decode.h"

void bl_clock_note(struct bl_clock *clock, const AVFrame *frame, int64_t before)
{
    int64_t time = bl_decode_time(frame);
    if (clock->origin != AV_NOPTS_VALUE || time == AV_NOPTS_VALUE)
        return;
    int64_t past; /* a damaged file may claim any time */
    if (__builtin_mul_overflow(before, FFMAX(bl_compat_duration(frame), 0), &past) ||
        __builtin_sub_overflow(time, past, &clock->origin))
        clock->origin = time;
}

double bl_clock_seconds(const struct bl_clock *clock, int64_t time)
{
    if (time == AV_NOPTS_VALUE || clock->origin == AV_NOPTS_VALUE)
        return 0;
    int64_t since;
    if (__builtin_sub_overflow(time, clock->origin, &since))
        return 0;
    return (double)since * av_q2d(clock->tick);
}
