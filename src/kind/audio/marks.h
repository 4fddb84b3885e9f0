/* Frames of decoded sound: cutting them, finding gaps by their timestamps, and finding where decoding may begin. */
#ifndef BL_MARKS_H
#define BL_MARKS_H

#include <libavutil/frame.h>
#include <stdbool.h>
#include <stdint.h>
#include <xxhash.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/option.h"

/* --- frames ------------------------------------------------------------------------------------------------------- */

/* Drops the frame's first samples, fewer than it has. */
void bl_frame_drop_first(AVFrame *frame, int samples);

/* Makes a frame of so many samples of silence, of the rate, channels and format of another. */
int bl_frame_silence(AVFrame *frame, const AVFrame *like, int samples, struct bl_error *e);

/* --- gaps in timestamps ------------------------------------------------------------------------------------------- */

/* Sound by its timestamps: where a frame comes later or earlier than the samples before it say, by more than a limit,
 * the gap is filled or the overlap cut, so that what follows lies at its time. Timestamps are compared with the count
 * of all samples since the first one, so that those that are rounded neither add up nor count. */

/* Seconds by which timestamps may jump and are still followed: of a stream of broadcast that begins anew, all would be
 * cut.
 */
#define BL_GAPS_AHEAD 3600
#define BL_GAPS_BACK 10

struct bl_gaps {
    struct bl_rational limit; /* seconds; num 0: timestamps do not count */
    AVRational base;          /* of timestamps */
    int64_t anchor;           /* the timestamp that is counted from, or AV_NOPTS_VALUE */
    int64_t counted;          /* samples since then, at the rate */
    int rate;                 /* of the frame before */
    int64_t last;             /* its timestamp */
    int64_t cutting;          /* samples of an overlap that are still to be cut */

    int64_t gaps, overlaps, jumps; /* filled, cut, not followed */
    double filled, cut;            /* seconds */
};

void bl_gaps_begin(struct bl_gaps *t, struct bl_rational limit, AVRational base);

/* Finds the place of a frame, which is not empty. Returns how many samples are missing before it; or, negative, how
 * many of its first ones are too many, which may be all. The caller fills or cuts so many, and then hands out the
 * frame. */
int64_t bl_gaps_place(struct bl_gaps *t, const AVFrame *frame);

/* Goes on behind so many samples from the first one, whose timestamp is this, without faults until there. */
void bl_gaps_seek(struct bl_gaps *t, int64_t first, int64_t samples);

/* How many times it was not as the samples said. */
int64_t bl_gaps_events(const struct bl_gaps *t);

/* --- marks -------------------------------------------------------------------------------------------------------- */

/* Frames of a recording at which decoding may begin, with checksums of what is decoded from each to the next.
 *
 * Most codecs need what lies before a frame: mp3 up to its ten frames of main data, AAC and Vorbis the overlap of
 * windows, Opus all of it. So decoding begins some marks earlier, and what comes from the wanted mark on is compared
 * with the checksums. Where it differs, the recording is decoded from its beginning: the samples are exact in any case.
 */

struct bl_mark {
    int64_t position; /* of the packet in the file, in bytes */
    int64_t time;     /* of the packet, in ticks of the stream */
    int64_t sample;   /* of the recording: the first that the frame gives */
    uint64_t hash;    /* of the frames from here up to the next mark */
};

/* Start from {0}. */
struct bl_marks {
    struct bl_mark *mark;
    size_t count, capacity;
    int64_t end;      /* where the next frame begins; may start from another sample than 0 */
    int64_t position; /* of the last frame's packet: in Ogg a page's packets have the page's */
    XXH3_state_t *state;
};

/* Adds the next frame, of all that are decoded. BL_EFAIL: out of memory. */
int bl_marks_add(struct bl_marks *marks, const AVFrame *frame, struct bl_error *e);

/* To be called after the last frame, and at the end. */
void bl_marks_end(struct bl_marks *marks);
void bl_marks_free(struct bl_marks *marks);

/* Where to begin to decode for a cut, in the column clip_seek: "POSITION TIME MARK SAMPLE END HASH". */
struct bl_sound_point {
    int64_t position, time; /* of the packet at which decoding begins */
    int64_t mark;           /* position of the packet whose frame has */
    int64_t sample;         /* this as its first sample; up to */
    int64_t end;            /* this one the frames have the */
    uint64_t hash;          /* checksum. end 0: there is no such point, and decoding begins with the file */
};

/* The point for samples [begin, end). */
void bl_sound_point_make(struct bl_sound_point *point, const struct bl_marks *marks, int64_t begin, int64_t end);
void bl_sound_point_format(const struct bl_sound_point *point, struct bl_buffer *out);

/* Parses the column; "" or NULL: there is none. False: it is no point. */
bool bl_sound_point_parse(struct bl_sound_point *point, const char *text);

/* Whether frames that were added from the point's on, to marks that began with its sample, are those of the point. */
bool bl_sound_point_is_met(const struct bl_sound_point *point, struct bl_marks *marks);

#endif
