/* Which frames are wanted: every one, every N-th, or those that FFmpeg's fps filter gives. Pure arithmetic on
 * timestamps.
 *
 * Frames are pushed in the order of display. A frame's fate is known only once the next one's time is, so that the
 * answer to a push is how often the frame *before* it is taken; bl_pick_end tells that of the last. scan pushes the
 * packets' sorted timestamps, reading those of the decoded frames: both get the same answers.
 *
 * fps follows vf_fps of FFmpeg 5.1 with its defaults (round=near, eof_action=round) on timestamps shifted to begin at
 * 0: output n is shown at n / fps; a frame's time is rounded to the nearest of these instants (halves away from 0), and
 * a frame fills the outputs from there to the next frame's, so that frames are dropped and repeated. */
#ifndef BL_PICK_H
#define BL_PICK_H

#include <stdbool.h>
#include <stdint.h>

struct bl_pick {
    int64_t stride;     /* every stride-th; 0: by time */
    int64_t num, den;   /* a tick in outputs is num / den */
    int64_t first_time; /* of the first frame */
    int64_t next;       /* by time: the output to be filled next */
    int64_t pushed;     /* frames so far */
    int64_t taken;      /* outputs so far */
};

/* A timestamp that is not known. */
#define BL_PICK_UNKNOWN INT64_MIN

/* fps_den 0: every stride-th frame. The time base (seconds a tick) counts with fps only. False for a time base or rate
 * out of bounds (both are at most 2^31 in FFmpeg). */
bool bl_pick_init(struct bl_pick *pick, int64_t fps_num, int64_t fps_den, int64_t stride, int64_t time_num,
                  int64_t time_den);

/* The next frame, at time in ticks, or BL_PICK_UNKNOWN (by time: it takes no output). Returns how often the frame
 * before it is taken. */
int64_t bl_pick_push(struct bl_pick *pick, int64_t time);

/* The end, at the time when the last frame's duration is over. Returns how often the last frame is taken. */
int64_t bl_pick_end(struct bl_pick *pick, int64_t time);

#endif
