/* A timeline: when each frame of an undamaged video is shown, and where decoding may start. Made from the packets
 * alone, it lets a piece of a long sequence be read from a keyframe instead of from the first frame.
 *
 * Only streams are accepted where this gives the same bytes for certain: QuickTime, Matroska or, in part, MPEG
 * transport streams, at most one frame per packet, all times known and distinct, nothing discarded by edit lists,
 * nothing suspicious. And of their keyframes only those before which all earlier packets are shown, and of whose later
 * packets none needs an earlier one, unless it is shown before the keyframe, too (leading pictures of open GOPs). In
 * H.265, MPEG-1 and MPEG-2 the references of all pictures are followed; in other codecs keyframes must fully reset the
 * decoder, and have no leading pictures. */
#ifndef BL_TIMELINE_H
#define BL_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/media/demux.h"
#include "kind/video/pick.h"
#include "kind/video/timestamps.h"

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

#endif
