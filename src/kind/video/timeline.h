/* Finds when the frames of a video are shown, and where decoding can begin, from the packets alone.
 *
 * A long video is read in pieces by several workers. Without this file each worker would decode from the first frame to
 * its piece. With it, a worker seeks to the last random access point before its piece, and skips packets that no frame
 * of the piece refers to. */
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

struct bl_timestamps {
    int64_t *time; /* [count] when each frame is shown, in ticks of the stream's time base */
    size_t count, capacity;
};

/* --- clock -------------------------------------------------------------------------------------------------------- */

/* Converts ticks to seconds from the first frame of a sequence. */
struct bl_clock {
    AVRational tick; /* the time base, in seconds */
    int64_t origin;  /* when the first frame is shown, in ticks; AV_NOPTS_VALUE: not known yet */
};

/* Returns when a decoded frame is shown, in ticks of the stream's time base, or AV_NOPTS_VALUE. bl_decode_next follows
 * the ffmpeg command: a frame without a time begins where the previous one ends, a frame without a duration lasts
 * 1 / rate, and discontinuities are removed in containers whose clock may be reset, such as transport streams. */
int64_t bl_frame_time(const AVFrame *frame);

/* Sets the origin, if it is not known yet, from a decoded frame. `before` is the number of frames decoded before it. If
 * these have no time, the origin is the time of this frame minus `before` times its duration. */
void bl_clock_note(struct bl_clock *clock, const AVFrame *frame, int64_t before);

/* Returns the seconds from the origin to `time`, in ticks; 0 if the time or the origin is unknown. */
double bl_clock_seconds(const struct bl_clock *clock, int64_t time);

/* --- packet index ------------------------------------------------------------------------------------------------- */

/* A packet index sums up the packets of a video: the number and times of its frames, and any doubt about them. */

struct bl_packet_index {
    int64_t frames;               /* shown by packets that are not discarded */
    int64_t listed;               /* packets that the header announces; 0: it announces no number */
    int64_t last, end;            /* when the last frame is shown and when it ends, in ticks */
    int64_t gaps;                 /* places where the numbers of pictures show that some are missing */
    int64_t incomplete;           /* packets that the container marks as incomplete, except before a splice */
    int64_t resets;               /* places where these numbers restart: pictures are missing, or the encoder did it */
    uint32_t transfers, matrices; /* bit sets of the H.273 code points in the stream's own headers */
    bool midway;                  /* the stream begins between keyframes */
    bool unsure;                  /* midway, and the first frames may be garbage */
    int64_t second;               /* the byte offset of a second file's header, which libav ignores, or 0 */
    bool joined;                  /* headers of another stream occur among the packets */
    bool suspicious;              /* the number of frames or their times are known only after decoding */
    bool truncated;               /* the file ends before the last packet that the header announces */
    bool too_short;               /* all streams end at `present`, well before `declared` */
    double declared, present;     /* the duration in the header, and the end of the data, in seconds */
    int marked;                   /* packets left for a splice to follow an incomplete packet; 0: none is pending */
    struct bl_timestamps shown;   /* of the frames in display order, if requested; not valid if suspicious */
};

/* Fills in *index by reading the packets of an opened file to its end. want_times also collects the timestamps.
 * bl_packet_index_free frees it. Errors: BL_EFAIL, BL_ECANCEL. */
int bl_packet_index_make(struct bl_packet_index *index, struct bl_demux *d, bool want_times, struct bl_error *e);
void bl_packet_index_free(struct bl_packet_index *index);

/* --- timeline ----------------------------------------------------------------------------------------------------- */

/* A timeline lists when each frame of an undamaged video is shown, and the random access points (restarts). A reader
 * can decode a piece from a random access point instead of from the first frame, and gets the same bytes.
 *
 * A timeline is exact only for streams where the bytes are sure to be the same: the container is QuickTime, Matroska or
 * (with a check) an MPEG transport stream; a packet has at most one frame; all times are known and distinct; no edit
 * list discards a packet; nothing is suspicious. A keyframe is a random access point if all packets before it are shown
 * before it, and no packet after it needs a packet before it, except for leading pictures of an open GOP, which are
 * shown before the keyframe. For H.265, MPEG-1 and MPEG-2 peek.h follows the references of all pictures. In other
 * codecs a keyframe must fully reset the decoder and have no leading pictures. */

/* A random access point: decoding from this keyframe gives the same frames as decoding from the beginning, except for
 * the frames that are shown before the keyframe. */
struct bl_access_point {
    int64_t time;     /* when the keyframe is shown, in ticks */
    int64_t position; /* byte offset of its packet in the file */
    size_t frame;     /* its number in display order, from 0 */
};

/* A packet that has a frame, in decoding order. */
struct bl_coded {
    size_t frame;    /* its frame's number in display order */
    int layer;       /* see struct bl_peek */
    bool disposable; /* no other frame refers to it */
    int64_t packet;  /* its number in decoding order; packets without a frame count, too */
    int64_t needs;   /* see struct bl_peek */
};

struct bl_timeline {
    AVRational tick;            /* the time base, in seconds */
    int64_t start;              /* of the file, in ticks, if it was opened with BL_DEMUX_START */
    bool exact;                 /* decoding gives exactly these frames at these times */
    bool derived;               /* libav derives some times from the data: the caller must compare decoded ones */
    struct bl_timestamps shown; /* of the frames in display order */
    struct bl_access_point *access_point; /* [restarts] in display order; none if decoding must begin with the file */
    size_t access_points, access_point_capacity;
    struct bl_coded
        *coded; /* [shown.count], if the timeline is exact and they were requested; otherwise NULL or partial */
    size_t coded_count, coded_capacity;
};

/* Fills in *t by reading the packets of an opened file to its end. In a transport stream it also seeks to each
 * keyframe, to prove that the seek finds the same packet. `coded` also keeps the packets, for bl_needed_make.
 * bl_timeline_free frees it; a failed call needs no free. Errors: BL_EFAIL, BL_ECANCEL. */
int bl_timeline_make(struct bl_timeline *t, struct bl_demux *d, bool coded, struct bl_error *e);
void bl_timeline_free(struct bl_timeline *t);

/* Returns the last random access point from which `step` can still be picked, or NULL if decoding must begin with the
 * file. The frame of the step has at least before_it decoded frames before it. pick is a fresh picker; the call
 * advances it over the frames before the random access point. */
const struct bl_access_point *bl_timeline_find(const struct bl_timeline *t, struct bl_pick *pick, int64_t step,
                                               size_t before_it);

/* Returns the last random access point at or before the frame, or NULL if decoding must begin with the file. */
const struct bl_access_point *bl_timeline_find_frame(const struct bl_timeline *t, int64_t frame);

/* --- needed packets ----------------------------------------------------------------------------------------------- */

/* The packets that must be decoded for the frames that a piece takes. A packet is skipped if its frame is not taken and
 * no needed frame refers to it, as with most B-pictures at a low --fps. The decoded frames are the same to the byte,
 * since a decoder never uses the skipped packets for them. */

struct bl_needed {
    const struct bl_timeline *timeline;
    bool *frame;     /* [timeline->shown.count] in display order: whether its packet must be decoded */
    size_t left_out; /* packets that are skipped */
    size_t last;     /* the last needed frame in display order: a piece decodes up to it, to detect damage */
    int64_t final;   /* when the frame of the last needed packet, in decoding order, is shown, in ticks */
};

/* Finds the packets for steps [first, first + steps) of a sequence. pick is a fresh picker. to_end: the last frame of
 * the file is needed in any case. The timeline must be exact, have its packets, and outlive *needed. BL_EFAIL: out of
 * memory.
 */
int bl_needed_make(struct bl_needed *needed, const struct bl_timeline *timeline, struct bl_pick pick, int64_t first,
                   int64_t steps, bool to_end, struct bl_error *e);
void bl_needed_free(struct bl_needed *needed);

/* Returns whether the packet whose frame is shown at `time` is needed. A packet that the timeline does not list is
 * always needed. */
bool bl_needed_has(const struct bl_needed *needed, int64_t time);

#endif
