/* A timeline: when each frame of an undamaged video is shown, and where decoding may begin afresh. Made from the
 * packets alone, it lets a piece of a long sequence be read from a keyframe instead of from the first frame.
 *
 * Only streams are taken in which that gives the same bytes for certain: QuickTime or Matroska, one packet for each
 * frame or fewer (hidden ones), every time known and no two alike, nothing discarded by edit lists, nothing suspicious;
 * and of their keyframes those that reset the decoder wholly (IDR and the like), with no frame shown across them. */
#ifndef BL_TIMELINE_H
#define BL_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/media/demux.h"
#include "kind/video/pick.h"

/* A keyframe from which decoding gives the same frames as from the beginning. */
struct bl_restart {
    int64_t time;     /* when it is shown */
    int64_t position; /* of its packet in the file */
    size_t frame;     /* frames shown before it */
};

struct bl_timeline {
    AVRational tick; /* seconds */
    int64_t *time;   /* of the frames, in order of display, in ticks */
    size_t frames, time_capacity;
    struct bl_restart *restart; /* in order; empty where only the beginning will do */
    size_t restarts, restart_capacity;
};

/* Goes through the packets of an opened file, to its end. Errors: BL_EFAIL, BL_ECANCEL. */
int bl_timeline_make(struct bl_timeline *t, struct bl_demux *d, struct bl_error *e);
void bl_timeline_free(struct bl_timeline *t);

/* The last restart from which output step can still be picked, or NULL: the beginning. pick comes fresh, and is left as
 * after the frames before the restart. */
const struct bl_restart *bl_timeline_find(const struct bl_timeline *t, struct bl_pick *pick, int64_t step);

#endif
