/* A clock: when frames are shown, in seconds from the first frame of their sequence. */
#ifndef BL_CLOCK_H
#define BL_CLOCK_H

#include <libavutil/frame.h>
#include <libavutil/rational.h>
#include <stdint.h>

struct bl_clock {
    AVRational tick; /* seconds */
    int64_t origin;  /* when the first frame is shown, in ticks; AV_NOPTS_VALUE: not known yet */
};

/* Sets the origin from a decoded frame; before: frames decoded so far. If the first frames have no time, the origin is
 * that of the first frame with a time, less the duration of those before it. */
void bl_clock_note(struct bl_clock *clock, const AVFrame *frame, int64_t before);

/* time: in ticks. 0 if it is not known. */
double bl_clock_seconds(const struct bl_clock *clock, int64_t time);

#endif
