/* Drawing: replaces the blocks of a draft by blocks whose sequences are drawn at random, so that every seed puts other
 * sequences together. */
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

/* The result. BL_DRAWN_NOT: the draft is as before. BL_DRAWN_SPOILT: the sequences are all there, in another order;
 * the caller must make the blocks again. */
enum bl_drawn { BL_DRAWN, BL_DRAWN_NOT, BL_DRAWN_SPOILT };

/* Draws the blocks from `first` on again, which must be in random order. The new blocks are at most as many as are
 * wanted, in no particular order. Memory: 4 bytes a block and 1 MiB. BL_EFAIL: out of memory. */
int bl_drawing_make(struct bl_draft *d, size_t first, const struct bl_drawing *g, enum bl_drawn *drawn,
                    struct bl_error *e);

#endif
