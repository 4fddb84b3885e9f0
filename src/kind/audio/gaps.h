/* Sound by its timestamps: where a frame comes later or earlier than the samples before it say, by more than a limit,
 * the gap is filled or the overlap cut, so that what follows lies at its time. Timestamps are compared with the count
 * of all samples since the first one, so that those that are rounded neither add up nor count. */
#ifndef BL_GAPS_H
#define BL_GAPS_H

#include <libavutil/frame.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/option.h"

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

#endif
