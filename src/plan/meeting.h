/* Meetings: two blocks of a draft exchange sequences.
 *
 * Blocks change in size, and are scattered in memory where there are many, so that a list of single pieces would cost a
 * cache miss for each. They are lists of cards, one cache line with several pieces each. */
#ifndef BL_MEETING_H
#define BL_MEETING_H

#include "plan/cost.h"
#include "plan/draft.h"
#include "plan/exchange.h"

struct bl_meeting_block {
    uint32_t card, size; /* the first card; pieces */
    int64_t cost;
    int64_t room;    /* free units */
    int64_t dearest; /* of its pieces */
    int64_t target;  /* this and what follows is the caller's */
    uint8_t idle;
    bool is_raised, is_in_row;
};

enum { BL_CARD_PIECES = 7 };

struct bl_meeting_card {
    uint32_t next, pieces;
    struct {
        uint32_t id, length;
    } piece[BL_CARD_PIECES];
};

/* One of two blocks, with its pieces as they can be exchanged. */
struct bl_meeting_hand {
    uint32_t block;
    struct bl_meeting_item {
        uint32_t id, length, parcel;
        int64_t units, cost;
    } * item;
    size_t capacity, size;
    struct bl_exchange_side side;
};

struct bl_meeting {
    struct bl_draft *draft;
    const struct bl_cost *cost;
    const struct bl_limits *limits;
    const struct bl_needs *needs;   /* columns with a maximum */
    struct bl_meeting_block *block; /* [draft->blocks] */
    struct bl_meeting_card *card;
    uint32_t unused; /* the first card of no block */
    struct bl_meeting_hand own, other;
    struct bl_exchange exchange;
    struct bl_random random;
    int64_t keep; /* free units that both blocks should have after an exchange */
};

/* Free it in any case. Errors here and below: BL_EFAIL, out of memory. */
int bl_meeting_make(struct bl_meeting *m, struct bl_draft *d, const struct bl_cost *cost,
                    const struct bl_limits *limits, const struct bl_needs *needs, uint64_t seed, struct bl_error *e);
void bl_meeting_free(struct bl_meeting *m);

/* Chooses the block that meets others. */
int bl_meeting_begin(struct bl_meeting *m, uint32_t block, struct bl_error *e);

/* Looks for an exchange with another block that brings about `wish` to it (bl_exchange_find). */
int bl_meeting_find(struct bl_meeting *m, uint32_t other, int choices, int64_t wish, int64_t tolerance, uint32_t set[2],
                    int64_t *moved, bool *found, struct bl_error *e);

/* Makes the exchange that was found. The next meeting must begin anew. */
void bl_meeting_exchange(struct bl_meeting *m, const uint32_t set[2], int64_t moved);

/* Writes the blocks back, each in a random order. */
void bl_meeting_write(struct bl_meeting *m);

#endif
