/* Exchanges of sequences between the blocks of a draft: exchanges of sets for a wished cost, swaps, and trades. */
#ifndef BL_BLOCK_EXCHANGE_H
#define BL_BLOCK_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/cost.h"
#include "plan/draft.h"
#include "plan/needs.h"
#include "plan/random.h"

/* --- exchanges ---------------------------------------------------------------------------------------------------- */

/* An exchange between two blocks: a set of sequences goes over and another set comes back, so that a wished cost moves
 * while both blocks keep within their limits. */

enum { BL_PARCELS_MAX = 24, BL_CHOICES_MAX = 256 };

/* Sequences that move together: one, or, where a block has many, a run of them. */
struct bl_parcel {
    int64_t cost[BL_COST_POINTS];
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
    int64_t cost[BL_COST_POINTS];
    int32_t units, sequences;
    uint32_t set;
};

/* Tables for searches with one side. */
struct bl_exchange {
    const struct bl_exchange_side *own;
    struct bl_choice choice[2][BL_CHOICES_MAX]; /* of the own and of the other side */
    uint16_t begin[1025], by_units[BL_CHOICES_MAX];
    int shift, points; /* points: of the costs */
    int64_t work;      /* sets made so far */
};

/* Makes the sets of one side: all, or BL_CHOICES_MAX drawn at random. */
void bl_exchange_begin(struct bl_exchange *x, const struct bl_exchange_side *own, struct bl_random *random);

/* Looks for parcels of the other side that, exchanged for parcels of the own side, bring the costs wish[points] to the
 * own side (below 0: take them away). From up to `choices` sets it takes the pair that comes nearest, or the first
 * within `tolerance`; the distance is the sum over the points. Returns false if no pair fits. set: the parcels that
 * leave the own side and the other side; moved[points]: the costs that they bring to the own side. */
bool bl_exchange_find(struct bl_exchange *x, const struct bl_exchange_side *other, int choices, const int64_t *wish,
                      int64_t tolerance, struct bl_random *random, uint32_t set[2], int64_t *moved);

/* --- swaps -------------------------------------------------------------------------------------------------------- */

/* Swaps: parcels of nearly equal length, of one or two sequences, change places. The pairs that share a block change,
 * and no block exceeds its limit. */

/* Swaps sequences of the blocks from `first` on, and shuffles those of each block. lengths: all sequences that they
 * have, in blocks of at most T units, and of what columns limit; needs may be NULL. is_drawn: they were drawn at
 * random, which leaves less to do. BL_EFAIL: out of memory. */
int bl_swap_sequences(struct bl_draft *d, size_t first, const struct bl_lengths *lengths, int64_t T,
                      const struct bl_needs *needs, bool is_drawn, uint64_t seed, struct bl_error *e);

/* --- trades ------------------------------------------------------------------------------------------------------- */

/* Trades: two blocks exchange parcels of up to two sequences, under the maxima of all their loads. Neither block
 * becomes empty. */

/* Makes the trade that leaves the least excess in both blocks, if that is no more than their excess now. */
void bl_trade_relieve(struct bl_loads *l, struct bl_load_block *a, struct bl_load_block *b);

/* Makes any trade of sequences for sequences after which neither block exceeds a maximum. Returns whether there was
 * one. */
bool bl_trade_any(struct bl_loads *l, struct bl_load_block *a, struct bl_load_block *b);

/* --- exchanges of sets -------------------------------------------------------------------------------------------- */

/* Two blocks exchange sequences so that a wished cost moves from one to the other.
 *
 * Blocks change in size and are scattered in memory, so a list of single pieces would cost a cache miss for each
 * piece. Blocks are lists of nodes; a node is one cache line with up to 7 pieces.
 *
 *     bl_block_exchange_make
 *     for each block: begin(own), then find(other) until one is found, then apply
 *     bl_block_exchange_write */

struct bl_exchange_block {
    uint32_t node, size; /* the first node; pieces */
    int64_t room;        /* free units */
};

/* The cost of a block at one point. */
struct bl_exchange_cost {
    int64_t cost;
    int64_t max_cost; /* of its most expensive piece */
    int64_t target;   /* this and the members below belong to the caller */
    uint8_t idle;
    bool is_above_target, is_in_row;
};

enum { BL_NODE_PIECES = 7 };

struct bl_exchange_node {
    uint32_t next, pieces;
    struct {
        uint32_t id, length;
    } piece[BL_NODE_PIECES];
};

/* One of two blocks, with its pieces and their parcels. */
struct bl_exchange_partner {
    uint32_t block;
    struct bl_exchange_item {
        uint32_t id, length, parcel;
        int64_t units, cost[BL_COST_POINTS];
    } * item;
    size_t capacity, size;
    struct bl_exchange_side side;
};

struct bl_block_exchange {
    struct bl_draft *draft;
    const struct bl_cost *cost;
    const struct bl_limits *limits;
    const struct bl_needs *needs;    /* columns with a maximum */
    struct bl_exchange_block *block; /* [draft->blocks] */
    struct bl_exchange_cost *at;     /* [draft->blocks][cost->points]: see bl_block_exchange_at */
    struct bl_exchange_node *node;
    uint32_t unused; /* the first node of no block */
    struct bl_exchange_partner own, other;
    struct bl_exchange exchange;
    struct bl_random random;
    int64_t keep; /* free units that both blocks should have after an exchange */
};

/* Returns what block b costs at point p. */
static inline struct bl_exchange_cost *bl_block_exchange_at(const struct bl_block_exchange *m, size_t b, int p)
{
    return &m->at[b * (size_t)m->cost->points + (size_t)p];
}

/* Free it in any case. Errors here and below: BL_EFAIL, out of memory. */
int bl_block_exchange_make(struct bl_block_exchange *m, struct bl_draft *d, const struct bl_cost *cost,
                           const struct bl_limits *limits, const struct bl_needs *needs, uint64_t seed,
                           struct bl_error *e);
void bl_block_exchange_free(struct bl_block_exchange *m);

/* Chooses the own block of the next searches, and makes its sets. */
int bl_block_exchange_begin(struct bl_block_exchange *m, uint32_t block, struct bl_error *e);

/* Looks for an exchange with another block that brings about wish[points] to the own block (bl_exchange_find). *found:
 * whether there is one within all limits. */
int bl_block_exchange_find(struct bl_block_exchange *m, uint32_t other, int choices, const int64_t *wish,
                           int64_t tolerance, uint32_t set[2], int64_t *moved, bool *found, struct bl_error *e);

/* Makes the exchange that was found. The sets of the own block are then out of date: call bl_block_exchange_begin
 * before the next search. */
void bl_block_exchange_apply(struct bl_block_exchange *m, const uint32_t set[2], const int64_t *moved);

/* Writes the blocks back to the draft, the sequences of each in a random order. */
void bl_block_exchange_write(struct bl_block_exchange *m);

#endif
