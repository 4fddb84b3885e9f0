/* Needed packets: those that must be decoded for the frames that a piece takes. What nothing refers to (B-pictures,
 * most of them) is left out unless it is taken itself, and so is what follows the last frame that is taken before a
 * restart. The frames that are decoded are the same to the byte: a decoder never needed the others. */
#ifndef BL_NEEDED_H
#define BL_NEEDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/video/pick.h"
#include "kind/video/timeline.h"

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
