/* Drawing: which sequences share a block is drawn at random, so that every seed puts others together. */
#ifndef BL_DRAWING_H
#define BL_DRAWING_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/draft.h"
#include "plan/histogram.h"
#include "plan/random.h"

struct bl_drawing {
    const struct bl_lengths *lengths; /* all sequences of the draft */
    const struct bl_limits *limits;   /* work: of all searches */
    size_t blocks;                    /* wanted */
    int64_t longest;                  /* units; blocks with a longer sequence are kept */
    uint64_t seed;
};

/* Whether it succeeded. If not, the draft is as before, or, if that was seen late, its sequences are. */
enum bl_drawn { BL_DRAWN, BL_DRAWN_NOT, BL_DRAWN_SPOILT };

/* Draws the blocks from `first` on, which are in random order, anew: into as many as are wanted, in no particular
 * order; it may be fewer. Memory: 4 bytes a block and 1 MiB. BL_EFAIL: out of memory. */
int bl_drawing_make(struct bl_draft *d, size_t first, const struct bl_drawing *g, enum bl_drawn *drawn,
                    struct bl_error *e);

#endif
