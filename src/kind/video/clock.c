#include "kind/video/clock.h"

#include <libavutil/avutil.h>
#include <libavutil/common.h>

#include "kind/video/decode.h"

void bl_clock_note(struct bl_clock *clock, const AVFrame *frame, int64_t before)
{
    int64_t time = bl_decode_time(frame);
    if (clock->origin == AV_NOPTS_VALUE && time != AV_NOPTS_VALUE)
        clock->origin = time - before * FFMAX(frame->pkt_duration, 0);
}

double bl_clock_seconds(const struct bl_clock *clock, int64_t time)
{
    if (time == AV_NOPTS_VALUE || clock->origin == AV_NOPTS_VALUE)
        return 0;
    return (double)(time - clock->origin) * av_q2d(clock->tick);
}
