/* Hands out the frames of a recording that belong to a cut, for one cut after the other.
 *
 * The frames are always those that decoding the recording from its beginning gives. So the decoder begins there, or
 * goes on where the last cut ended. Where decoding may begin anywhere with the same samples
 * (bl_audio_decoder_can_seek), it seeks. It also seeks where the cut has a point (marks.h): then bl_trim_verify must
 * compare the frames in the end. */
#ifndef BL_TRIM_H
#define BL_TRIM_H

#include "kind/audio/decoder.h"
#include "kind/audio/manifest_lines.h"

struct bl_trim {
    struct bl_audio_decoder decoder;
    const char *path; /* the caller's; this and the next four are the arguments that open the decoder */
    int64_t bytes;
    int stream;
    struct bl_rational gap;
    const struct bl_kind_env *env;

    AVFrame *frame;   /* the decoded frame that was not handed out entirely; owned */
    int used;         /* samples of the frame that were handed out or skipped */
    int64_t position; /* the number of the next sample in the recording */
    bool seeked;      /* the decoder has sought the position, so it must be reopened to count from the beginning */

    struct bl_sound_point point; /* where decoding for this cut may begin; end 0: there is none */
    struct bl_marks check;       /* checksums of the frames since the point */
    bool resumed;                /* decoding began at the point: the frames must be verified */

    struct bl_cut cut;
    bool no_seek;       /* seeking is not safe for this cut */
    bool located;       /* begin and end are known, and the decoder is at the cut or before it */
    int64_t begin, end; /* the cut: samples [begin, end) of the recording; end INT64_MAX: to its end */
};

/* Opens a recording; the cut is all of it. The arguments and errors are those of bl_audio_decoder_open. path must
 * outlive the trim. A failed open needs no close. */
int bl_trim_open(struct bl_trim *t, const char *path, int64_t bytes, int stream, struct bl_rational gap,
                 const struct bl_kind_env *env, struct bl_error *e);
void bl_trim_close(struct bl_trim *t);

/* Sets the cut, without a point, whose frames bl_trim_next returns from now on. damaged: something in the recording
 * does not decode, so that places in the file and in the sound differ, and nothing is sought. */
void bl_trim_set(struct bl_trim *t, const struct bl_cut *cut, bool damaged);

/* Sets the point at which decoding for this cut may begin; NULL: the cut has none. */
void bl_trim_set_point(struct bl_trim *t, const struct bl_sound_point *point);

/* Finds whether the frames of the cut, all of which were read, are those of the recording. It decodes up to the end of
 * the point's last span. Errors as bl_trim_next. */
int bl_trim_verify(struct bl_trim *t, bool *exact, struct bl_error *e);

/* Returns the cut's next frame as bl_audio_decoder_next does. BL_EDATA also if the recording does not have the
 * channels of the cut. */
int bl_trim_next(struct bl_trim *t, AVFrame *frame, bool *got, struct bl_error *e);

#endif
