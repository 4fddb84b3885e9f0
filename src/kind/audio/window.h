/* A window: the frames of a recording's sound that belong to a cut, one cut after the other.
 *
 * They are always those of the whole recording: it is decoded from its beginning, or on from where the last cut ended.
 * Where decoding may begin anywhere with the same samples (bl_sound_seek), what lies before is not decoded. */
#ifndef BL_WINDOW_H
#define BL_WINDOW_H

#include "kind/audio/cut.h"
#include "kind/audio/sound.h"

struct bl_window {
    struct bl_sound sound;
    const char *path; /* the caller's; with bytes, stream and cancel what the sound is opened with */
    int64_t bytes;
    int stream;
    const struct bl_cancel *cancel;

    AVFrame *ahead;   /* decoded, and not given away wholly */
    int used;         /* samples of it */
    int64_t position; /* in the recording: of the next sample */
    bool sought;      /* the position was come to by seeking */

    struct bl_cut cut;
    bool whole_way;     /* no seeking for this cut */
    bool placed;        /* begin and end are known */
    int64_t begin, end; /* samples */
};

/* Arguments and errors as bl_sound_open's. path outlives the window. */
int bl_window_open(struct bl_window *w, const char *path, int64_t bytes, int stream, const struct bl_cancel *cancel,
                   struct bl_error *e);
void bl_window_close(struct bl_window *w);

/* Frames are those of this cut from now on. damaged: something before its end does not decode, so that places in the
 * file and in the sound are not the same. */
void bl_window_set(struct bl_window *w, const struct bl_cut *cut, bool damaged);

/* The cut's next frame: as bl_sound_next; BL_EDATA also for a channel that is not there. */
int bl_window_next(struct bl_window *w, AVFrame *frame, struct bl_error *e);

#endif
