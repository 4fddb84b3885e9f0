/* Picks frames: every one, every N-th, or those that FFmpeg's fps filter gives. Pure arithmetic on timestamps.
 *
 * Frames are pushed in display order. Whether a frame is taken is known only with the time of the next one, so a push
 * returns how often the *previous* frame is taken; bl_pick_end returns it for the last frame. The scan pushes the
 * sorted timestamps of packets, reading those of decoded frames; both get the same results.
 *
 * fps follows vf_fps of FFmpeg 5.1 with its defaults (round=near, eof_action=round). Output n is shown n / fps after
 * the origin: the first frame's time, or another one. A frame's time is rounded to the nearest output (halves away from
 * 0), and the frame fills the outputs from there to the next frame's, so frames are dropped and repeated. The first
 * frame taken fills those before it, too, as the ffmpeg command has it for image files, whose numbers count from the
 * origin.
 */
#ifndef BL_PICK_H
#define BL_PICK_H

#include <stdbool.h>
#include <stdint.h>

struct bl_pick {
    int64_t stride;    /* every stride-th; 0: by time */
    int64_t num, den;  /* a tick in outputs is num / den */
    int64_t origin;    /* the time of output 0 */
    bool origin_known; /* otherwise it is the first frame's */
    int64_t next;      /* by time: the output to be filled next */
    int64_t lead;      /* outputs before the first frame, until one is taken */
    int64_t pushed;    /* frames so far */
    int64_t taken;     /* outputs so far */
};

/* An unknown timestamp. */
#define BL_PICK_UNKNOWN INT64_MIN

/* fps_den 0: every stride-th frame. The time base (seconds per tick) matters with fps only. False: time base or rate
 * out of bounds (FFmpeg's are at most 2^31). */
bool bl_pick_init(struct bl_pick *pick, int64_t fps_num, int64_t fps_den, int64_t stride, int64_t time_num,
                  int64_t time_den);

/* Sets the origin of a fresh picker, in ticks; with fps only. */
void bl_pick_set_origin(struct bl_pick *pick, int64_t origin);

/* Pushes the next frame, at time in ticks or BL_PICK_UNKNOWN (with fps, such a frame fills no output). Returns how
 * often the previous frame is taken. */
int64_t bl_pick_push(struct bl_pick *pick, int64_t time);

/* Ends the sequence, at the time when the last frame ends. Returns how often the last frame is taken. */
int64_t bl_pick_end(struct bl_pick *pick, int64_t time);

#endif
