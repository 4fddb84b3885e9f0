/* A packet index: what going through a video's packets tells of its frames, without decoding. */
#ifndef BL_PACKET_INDEX_H
#define BL_PACKET_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/media/demux.h"

struct bl_packet_index {
    int64_t frames;    /* shown by packets that are not discarded */
    int64_t listed;    /* packets, by the header; 0 where it does not say */
    int64_t last, end; /* when the last frame is shown, and when it is over, in ticks */
    bool midway;       /* the first packet is no keyframe */
    bool suspicious;   /* only decoding tells how many frames there are, or when they are shown */
    bool cut;          /* the file ends before what the header lists */
    bool late;         /* the header says declared seconds, and all streams end after present seconds */
    double declared, present;
    int64_t *time; /* of the frames, in order of display, when asked for (and not suspicious) */
    size_t times, time_capacity;
};

/* Goes through the packets of an opened file, to its end. Errors: BL_EFAIL, BL_ECANCEL. */
int bl_packet_index_make(struct bl_packet_index *t, struct bl_demux *d, bool want_times, struct bl_error *e);
void bl_packet_index_free(struct bl_packet_index *t);

#endif
