/* Levelling: exchanges sequences between the blocks of a draft, so that all blocks cost alike, as far as their longest
 * sequences allow. */
#ifndef BL_LEVEL_H
#define BL_LEVEL_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/draft.h"
#include "plan/needs.h"
#include "plan/random.h"

/* --- levelling ---------------------------------------------------------------------------------------------------- */

struct bl_level {
    const struct bl_cost *cost;
    const struct bl_limits *limits;
    const struct bl_needs *needs;
    size_t
        row; /* blocks that are worked on at the same time: those that cost more than others come in rows of equals */
    uint64_t seed;
};

/* The number of blocks stays, and so do the empty blocks at the end. Sequences of different groups meet no more than
 * before. Memory: 9 bytes a piece and 128 a block. BL_EFAIL: out of memory. */
int bl_level_blocks(struct bl_draft *d, const struct bl_level *level, struct bl_error *e);

#endif
