/* Works on decoded frames of sound: cuts them, finds gaps by their timestamps, and finds where decoding may begin. */
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

/* Drops the frame's first samples, which must be fewer than the frame has. */
void bl_frame_drop_first(AVFrame *frame, int samples);

/* Makes a frame of so many samples of silence, with the rate, channels and format of another frame. BL_EFAIL: out of
 * memory. */
int bl_frame_silence(AVFrame *frame, const AVFrame *like, int samples, struct bl_error *e);

/* --- gaps in timestamps ------------------------------------------------------------------------------------------- */

/* Some recordings pause, or repeat a part, and only their timestamps show it. If a frame comes later or earlier than
 * the samples before it by more than a limit, the gap is filled with zeros, or the overlap is cut, so that the next
 * samples lie at their times. Timestamps are compared with the number of all samples since the first one: so rounding,
 * to 1 ms in Matroska, does not add up. */

/* If timestamps jump by more than these seconds, the jump is not followed: a broadcast stream whose clock begins anew
 * would be cut entirely. */
#define BL_GAPS_AHEAD 3600
#define BL_GAPS_BACK 10

struct bl_gaps {
    struct bl_rational limit; /* seconds; num 0: timestamps do not count */
    AVRational base;          /* seconds per tick */
    int64_t anchor;           /* the timestamp from which samples are counted, or AV_NOPTS_VALUE */
    int64_t counted;          /* samples since the anchor, at the rate */
    int rate;                 /* Hz, of the previous frame; 0: there was none */
    int64_t last;             /* the previous frame's timestamp */
    int64_t cutting;          /* samples of an overlap that are still to be cut */

    int64_t gaps, overlaps, jumps; /* the numbers of those that were filled, cut, and not followed */
    double filled, cut;            /* seconds */
};

/* Prepares for the frames of a stream. limit is in seconds, base in seconds per tick. */
void bl_gaps_begin(struct bl_gaps *t, struct bl_rational limit, AVRational base);

/* Finds the place of a frame, which is not empty. Returns the number of samples that are missing before it. A negative
 * result is the number of its first samples that are too many, which may be all. The caller fills or cuts as many, and
 * then hands out the frame. */
int64_t bl_gaps_place(struct bl_gaps *t, const AVFrame *frame);

/* Goes on after a seek. first is the timestamp of the recording's first sample, samples the number of samples from
 * there to the next frame; gaps between the two are not known, and count as none. */
void bl_gaps_seek(struct bl_gaps *t, int64_t first, int64_t samples);

/* Returns the number of gaps, overlaps and jumps. */
int64_t bl_gaps_events(const struct bl_gaps *t);

/* --- marks -------------------------------------------------------------------------------------------------------- */

/* A mark is a frame of a recording at which decoding may begin, with a checksum of the samples from there to the next
 * mark.
 *
 * In most codecs a frame depends on frames before it: mp3 on up to ten frames of main data, AAC and Vorbis on the
 * overlap of windows, Opus on all of them. So decoding begins some marks earlier, and the checksums show whether the
 * samples from the wanted mark on are exact. If they are not, the recording is decoded from its beginning. */

struct bl_mark {
    int64_t position; /* of the packet in the file, in bytes */
    int64_t time;     /* of the packet, in ticks of the stream */
    int64_t sample;   /* the number of the frame's first sample in the recording */
    uint64_t hash;    /* XXH3 of the samples from here up to the next mark */
};

/* The marks of a recording, two a second at most. Initialize it with zeros. */
struct bl_marks {
    struct bl_mark *mark; /* [count], owned */
    size_t count, capacity;
    int64_t end;         /* the number of the next frame's first sample; a caller may start from another one than 0 */
    int64_t position;    /* of the last frame's packet; in Ogg all packets of a page have the page's position */
    XXH3_state_t *state; /* the hash of the last span so far */
};

/* Adds the next frame; no decoded frame may be left out. BL_EFAIL: out of memory. */
int bl_marks_add(struct bl_marks *marks, const AVFrame *frame, struct bl_error *e);

/* Sets the hash of the last span. Call it after the last frame. */
void bl_marks_end(struct bl_marks *marks);
void bl_marks_free(struct bl_marks *marks);

/* A point tells where to begin to decode for a cut, and how to verify the samples. The column clip_seek has it as
 * "POSITION TIME MARK SAMPLE END HASH", for example "40960 229376 49152 96000 192000 6d1f0c55e37a90b2": decode from
 * byte 40960, whose packet has the timestamp 229376; the frame of the packet at byte 49152 begins with sample 96000;
 * the samples from there up to 192000 have the hash. */
struct bl_sound_point {
    int64_t position, time; /* of the packet at which decoding begins: bytes, ticks */
    int64_t mark;           /* position of the first packet whose frame is verified */
    int64_t sample;         /* the number of that frame's first sample */
    int64_t end;   /* samples [sample, end) are verified; 0: there is no point, and decoding begins with the file */
    uint64_t hash; /* of these samples: the hash of the hashes of their spans */
};

/* Makes the point for samples [begin, end); no point if that is too near to the beginning to save anything. */
void bl_sound_point_make(struct bl_sound_point *point, const struct bl_marks *marks, int64_t begin, int64_t end);

/* Appends the column's text; nothing if there is no point. */
void bl_sound_point_format(const struct bl_sound_point *point, struct bl_buffer *out);

/* Parses the column's text; "" and NULL give no point. Returns false if the text is invalid. */
bool bl_sound_point_parse(struct bl_sound_point *point, const char *text);

/* Returns whether frames are the point's. They were added to marks whose `end` started with the point's sample. */
bool bl_sound_point_matches(const struct bl_sound_point *point, struct bl_marks *marks);

#endif
