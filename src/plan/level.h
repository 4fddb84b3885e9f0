/* Levels the costs of blocks: exchanges sequences between the blocks of a draft, so that all blocks cost alike, as far
 * as their most expensive sequences allow. */
#ifndef BL_LEVEL_H
#define BL_LEVEL_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/cost.h"
#include "plan/draft.h"
#include "plan/needs.h"
#include "plan/random.h"

/* --- levelling ---------------------------------------------------------------------------------------------------- */

struct bl_level {
    const struct bl_cost *cost;
    const struct bl_limits *limits;
    const struct bl_needs *needs;
    size_t
        row; /* blocks of one step: blocks above the level come in rows of so many that cost alike; up to 1: no rows */
    uint64_t seed;
};

/* Levels the blocks of *d in place. The number of blocks stays, and so do the empty blocks at the end. Sequences of
 * different groups share no block unless they did before. The result depends on the seed and the draft alone. Memory:
 * 9 bytes a piece and 128 a block. BL_EFAIL: out of memory. */
int bl_level_blocks(struct bl_draft *d, const struct bl_level *level, struct bl_error *e);

#endif
