/* A packet index: what a video's packets say of its frames, without decoding. */
#ifndef BL_PACKET_INDEX_H
#define BL_PACKET_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/media/demux.h"
#include "kind/video/timestamps.h"

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

#endif
