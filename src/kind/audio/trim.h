/* A window: the frames of a recording's sound that belong to a cut, one cut after the other.
 *
 * They are always those of the whole recording: it is decoded from its beginning, or on from where the last cut ended.
 * Where decoding may begin anywhere with the same samples (bl_audio_decoder_seek), what lies before is not decoded. */
#ifndef BL_TRIM_H
#define BL_TRIM_H

#include "kind/audio/cut.h"
#include "kind/audio/decoder.h"

struct bl_trim {
    struct bl_audio_decoder sound;
    const char *path; /* the caller's; with bytes, stream and cancel what the sound is opened with */
    int64_t bytes;
    int stream;
    const struct bl_cancel *cancel;

    AVFrame *ahead;   /* decoded, and not given away wholly */
    int used;         /* samples of it */
    int64_t position; /* in the recording: of the next sample */
    bool seeked;      /* the position was come to by seeking */

    struct bl_cut cut;
    bool no_seek;       /* no seeking for this cut */
    bool located;       /* begin and end are known */
    int64_t begin, end; /* samples */
};

/* Arguments and errors as bl_audio_decoder_open's. path outlives the window. */
int bl_trim_open(struct bl_trim *w, const char *path, int64_t bytes, int stream, const struct bl_cancel *cancel,
                 struct bl_error *e);
void bl_trim_close(struct bl_trim *w);

/* Frames are those of this cut from now on. damaged: something before its end does not decode, so that places in the
 * file and in the sound are not the same. */
void bl_trim_set(struct bl_trim *w, const struct bl_cut *cut, bool damaged);

/* The cut's next frame: as bl_audio_decoder_next; BL_EDATA also for a channel that is not there. */
int bl_trim_next(struct bl_trim *w, AVFrame *frame, struct bl_error *e);

#endif
