/* The frames of a recording that belong to a cut, for one cut after the other.
 *
 * They are always frames of the whole recording: it is decoded from its beginning, or on from where the last cut ended.
 * Where decoding may begin anywhere with the same samples (bl_audio_decoder_can_seek), what lies before is skipped; and
 * where a point (marks.h) says so, but then it is to be verified in the end. */
#ifndef BL_TRIM_H
#define BL_TRIM_H

#include "kind/audio/decoder.h"
#include "kind/audio/manifest_lines.h"

struct bl_trim {
    struct bl_audio_decoder decoder;
    const char *path; /* the caller's; with bytes, stream, gap and env what the decoder is opened with */
    int64_t bytes;
    int stream;
    struct bl_rational gap;
    const struct bl_kind_env *env;

    AVFrame *frame;   /* decoded, and not all of it handed out */
    int used;         /* samples of it that were */
    int64_t position; /* of the next sample, in the recording */
    bool seeked;      /* the position was reached by seeking */

    struct bl_sound_point point; /* of this cut */
    struct bl_marks check;       /* of the frames since the point */
    bool resumed;                /* the position was reached by a point: the frames are to be checked */

    struct bl_cut cut;
    bool no_seek;       /* for this cut */
    bool located;       /* begin and end are known */
    int64_t begin, end; /* samples */
};

/* Arguments and errors as bl_audio_decoder_open's. path outlives the trim. The cut is all of the recording. */
int bl_trim_open(struct bl_trim *t, const char *path, int64_t bytes, int stream, struct bl_rational gap,
                 const struct bl_kind_env *env, struct bl_error *e);
void bl_trim_close(struct bl_trim *t);

/* From now on frames are those of this cut. damaged: something before its end does not decode, so that places in the
 * file and in the sound differ. */
void bl_trim_set(struct bl_trim *t, const struct bl_cut *cut, bool damaged);

/* Where decoding may begin for this cut; point NULL: only where bl_audio_decoder_can_seek says. */
void bl_trim_set_point(struct bl_trim *t, const struct bl_sound_point *point);

/* After all of the cut was read: whether its frames are those of the whole recording. */
int bl_trim_verify(struct bl_trim *t, bool *exact, struct bl_error *e);

/* The cut's next frame, as bl_audio_decoder_next; BL_EDATA also for a channel that the recording does not have. */
int bl_trim_next(struct bl_trim *t, AVFrame *frame, bool *got, struct bl_error *e);

#endif
