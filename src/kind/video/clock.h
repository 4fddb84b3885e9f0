/* A clock: when frames are shown, in seconds from the first of their sequence. */
#ifndef BL_CLOCK_H
#define BL_CLOCK_H

#include <libavutil/frame.h>
#include <libavutil/rational.h>
#include <stdint.h>

struct bl_clock {
    AVRational tick; /* seconds */
    int64_t origin;  /* when the first frame is shown, in ticks, or AV_NOPTS_VALUE: not known yet */
};

/* Notes a decoded frame, before which others were decoded. Some containers do not say when the first frames are shown:
 * then as long before the first that has a time as they last. */
void bl_clock_note(struct bl_clock *clock, const AVFrame *frame, int64_t before);

/* A time in ticks; 0 where it is not known. */
double bl_clock_seconds(const struct bl_clock *clock, int64_t time);

#endif
