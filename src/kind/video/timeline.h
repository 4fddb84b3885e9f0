/* When the frames of a video are shown, and where decoding may begin, as its packets say, without decoding. */
#ifndef BL_TIMELINE_H
#define BL_TIMELINE_H

#include <libavcodec/avcodec.h>
#include <libavutil/frame.h>
#include <libavutil/rational.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/media/demux.h"
#include "kind/video/options.h"

/* --- timestamps --------------------------------------------------------------------------------------------------- */

/* The times at which frames are shown, in ticks of the stream's time base. */

struct bl_timestamps {
    int64_t *time; /* [count] */
    size_t count, capacity;
};

/* --- clock -------------------------------------------------------------------------------------------------------- */

/* When frames are shown, in seconds from the first frame of their sequence. */

struct bl_clock {
    AVRational tick; /* seconds */
    int64_t origin;  /* when the first frame is shown, in ticks; AV_NOPTS_VALUE: not known yet */
};

/* When a decoded frame is shown, in ticks of the stream's time base, or AV_NOPTS_VALUE. As in the ffmpeg command, a
 * frame without a time follows the previous one, one without a duration lasts 1 / rate, and in transport streams and
 * the like discontinuities (backwards, or of more than 10 s) are removed (decode.h). */
int64_t bl_frame_time(const AVFrame *frame);

/* Sets the origin from a decoded frame; before: frames decoded so far. If the first frames have no time, the origin is
 * that of the first frame with a time, less the duration of those before it. */
void bl_clock_note(struct bl_clock *clock, const AVFrame *frame, int64_t before);

/* time: in ticks. 0 if it is not known. */
double bl_clock_seconds(const struct bl_clock *clock, int64_t time);

/* --- packet index ------------------------------------------------------------------------------------------------- */

/* What a video's packets say of its frames, without decoding. */

struct bl_packet_index {
    int64_t frames;               /* shown by packets that are not discarded */
    int64_t listed;               /* packets by the header, or 0 if it does not say */
    int64_t last, end;            /* when the last frame is shown and when it ends, in ticks */
    int64_t gaps;                 /* places where the numbers of pictures show that some are missing */
    int64_t incomplete;           /* packets that lack parts, by the container, and not because of a splice */
    int64_t resets;               /* places where they begin anew: pictures are missing, or the encoder wanted it */
    uint32_t transfers, matrices; /* that the stream's own headers say, as bits by their numbers of H.273 */
    bool midway;                  /* the first packet is not a keyframe */
    bool unsure;                  /* and what the decoder makes of it may be garbage */
    int64_t second;               /* the byte where another file's header stands that is not read, or 0 */
    bool joined;                  /* headers of another stream come in its midst */
    bool suspicious;              /* only decoding can tell the number of frames, or their times */
    bool truncated;               /* the file ends before what the header lists */
    bool too_short;               /* all streams end at `present` seconds, well before the `declared` ones */
    double declared, present;
    int marked;                 /* a packet lacks parts, unless a splice follows within so many others */
    struct bl_timestamps shown; /* of the frames, in display order, if asked for and not suspicious */
};

/* Reads the packets of an opened file to its end. Errors: BL_EFAIL, BL_ECANCEL. */
int bl_packet_index_make(struct bl_packet_index *index, struct bl_demux *d, bool want_times, struct bl_error *e);
void bl_packet_index_free(struct bl_packet_index *index);

/* --- timeline ----------------------------------------------------------------------------------------------------- */

/* A timeline: when each frame of an undamaged video is shown, and where decoding may start. Made from the packets
 * alone, it lets a piece of a long sequence be read from a keyframe instead of from the first frame.
 *
 * Only streams are accepted where this gives the same bytes for certain: QuickTime, Matroska or, in part, MPEG
 * transport streams, at most one frame per packet, all times known and distinct, nothing discarded by edit lists,
 * nothing suspicious. And of their keyframes only those before which all earlier packets are shown, and of whose later
 * packets none needs an earlier one, unless it is shown before the keyframe, too (leading pictures of open GOPs). In
 * H.265, MPEG-1 and MPEG-2 the references of all pictures are followed; in other codecs keyframes must fully reset the
 * decoder, and have no leading pictures. */

/* A keyframe from which decoding gives the same frames as from the beginning, but for those that come before it. */
struct bl_restart {
    int64_t time;     /* when it is shown, in ticks */
    int64_t position; /* of its packet in the file, in bytes */
    size_t frame;     /* its number, in display order */
};

/* A packet, in decoding order. */
struct bl_coded {
    size_t frame;    /* its frame's number, in display order */
    int layer;       /* as of struct bl_peek */
    bool disposable; /* no other frame refers to it */
    int64_t packet;  /* its number; packets without a frame count, too */
    int64_t needs;   /* as of struct bl_peek */
};

struct bl_timeline {
    AVRational tick;            /* seconds */
    int64_t start;              /* of the file, in ticks, if it was opened with BL_DEMUX_START */
    bool exact;                 /* the stream is accepted: decoding gives these frames at these times, */
    bool derived;               /* if they are also those that decoding gave: the container does not keep all of them */
    struct bl_timestamps shown; /* of the frames, in display order */
    struct bl_restart *restart; /* in order; none if only the beginning is safe */
    size_t restarts, restart_capacity;
    struct bl_coded *coded; /* [shown.count], of an exact timeline, if asked for */
    size_t coded_count, coded_capacity;
};

/* Reads the packets of an opened file to its end, and of a transport stream each keyframe once more, after a seek;
 * coded: keeps the packets. Errors: BL_EFAIL, BL_ECANCEL. */
int bl_timeline_make(struct bl_timeline *t, struct bl_demux *d, bool coded, struct bl_error *e);
void bl_timeline_free(struct bl_timeline *t);

/* The last restart from which step can still be picked, or NULL: the beginning. pick must be fresh; it is advanced over
 * the frames before the restart. */
const struct bl_restart *bl_timeline_find(const struct bl_timeline *t, struct bl_pick *pick, int64_t step);

/* The last restart at the frame or before it, or NULL: the beginning. */
const struct bl_restart *bl_timeline_find_frame(const struct bl_timeline *t, int64_t frame);

/* --- needed packets ----------------------------------------------------------------------------------------------- */

/* The packets that must be decoded for the frames that a piece takes. What nothing refers to (B-pictures,
 * most of them) is left out unless it is taken itself, and so is what follows the last frame that is taken before a
 * restart. The frames that are decoded are the same to the byte: a decoder never needed the others. */

struct bl_needed {
    const struct bl_timeline *timeline;
    bool *frame; /* [timeline->shown.count], in display order: its packet is to be decoded */
    size_t left_out;
    size_t last;   /* of the needed frames, in display order: it shows whether what was decoded for others is damaged */
    int64_t final; /* the time of the last needed packet, in decoding order */
};

/* For steps [first, first + steps) of a sequence by a fresh picker; to_end: the last frame is needed, too. The timeline
 * is exact, and outlives this. BL_EFAIL: out of memory. */
int bl_needed_make(struct bl_needed *needed, const struct bl_timeline *timeline, struct bl_pick pick, int64_t first,
                   int64_t steps, bool to_end, struct bl_error *e);
void bl_needed_free(struct bl_needed *needed);

/* Whether the packet whose frame is shown at that time is needed. One that the timeline does not have is. */
bool bl_needed_has(const struct bl_needed *needed, int64_t time);

#endif
