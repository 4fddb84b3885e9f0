/* Levelling: exchanges sequences between the blocks of a draft, so that all blocks cost alike, as far as their longest
 * sequences allow. */
#ifndef BL_LEVEL_H
#define BL_LEVEL_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/draft.h"
#include "plan/needs.h"
#include "plan/random.h"

/* --- exchanges ---------------------------------------------------------------------------------------------------- */

/* An exchange between two blocks: which sequences go over, and which come back, so that a wished cost moves while both
 * blocks keep within their limits. */

enum { BL_PARCELS_MAX = 24, BL_CHOICES_MAX = 256 };

/* Sequences that move together: one, or, where a block has many, a run of them. */
struct bl_parcel {
    int64_t cost;
    int32_t units, sequences; /* sums are at most those of a block, which has up to BL_T_MAX steps */
};

struct bl_exchange_side {
    struct bl_parcel parcel[BL_PARCELS_MAX];
    int parcels;
    int64_t room;   /* free units of the block */
    int64_t places; /* sequences that may still be added */
    int64_t spare;  /* sequences that may be taken away: no block becomes empty */
    int64_t keep;   /* free units to have afterwards: room for later exchanges */
};

/* Parcels of one side, as a set of bits, and what they amount to. */
struct bl_choice {
    int64_t cost;
    int32_t units, sequences;
    uint32_t set;
};

/* Tables for searches with one side. */
struct bl_exchange {
    const struct bl_exchange_side *own;
    struct bl_choice choice[2][BL_CHOICES_MAX]; /* of the own and of the other side */
    uint16_t begin[1025], by_units[BL_CHOICES_MAX];
    int shift;
    int64_t work; /* sets made so far */
};

/* Makes the sets of one side: all, or BL_CHOICES_MAX drawn at random. */
void bl_exchange_begin(struct bl_exchange *x, const struct bl_exchange_side *own, struct bl_random *random);

/* Looks for parcels of another side that, exchanged for parcels of the own one, bring cost `wish` (below 0: take) to
 * the own side: of up to `choices` sets it takes those that come nearest, or the first within `tolerance`. False: no
 * two fit. set: those that leave the own and the other side; *moved: the cost that they bring. */
bool bl_exchange_find(struct bl_exchange *x, const struct bl_exchange_side *other, int choices, int64_t wish,
                      int64_t tolerance, struct bl_random *random, uint32_t set[2], int64_t *moved);

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
