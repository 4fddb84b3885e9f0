/* A pool: pieces without a block, and a search for the piece that suits a room best. */
#ifndef BL_POOL_H
#define BL_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/draft.h"

/* The pieces have an order, in which the halves, quarters and so on are the nodes of a tree (a k-d tree: Bentley,
 * 1975): the pieces of one half have less of one kind of load than those of the other half. A node knows the least and
 * the most of each kind that its pieces have, so that a search leaves out nodes without a suitable piece.
 *
 *     bl_pool_add for some pieces, bl_pool_index, then bl_pool_find and bl_pool_take; and again */

#define BL_POOL_NONE UINT32_MAX

struct bl_pool {
    int kinds;         /* of load */
    size_t capacity;   /* pieces */
    size_t count;      /* places: pieces since the last index, those that were taken included */
    size_t left;       /* pieces that were not taken */
    uint32_t *row;     /* [count][1 + kinds] the id of a piece, and what it has of each kind */
    uint32_t *leaf;    /* [count] its lowest node; 0: it was taken */
    uint32_t *members; /* [nodes] pieces of a node that were not taken */
    uint32_t *span;    /* [nodes][2 * kinds] the least of each kind, then the most */
    int64_t work;      /* operations done */
};

/* What a search looks for: a piece that fits, with the highest sum of its loads, each multiplied by a weight. */
struct bl_pool_query {
    struct bl_load room;
    double weight[BL_LOADS_MAX];
    double value;     /* only a piece with a higher sum is found; then its sum */
    uint32_t without; /* a place that does not count, or BL_POOL_NONE */
};

/* Makes an empty pool. Free it in any case. BL_EFAIL: out of memory. */
int bl_pool_make(struct bl_pool *p, int kinds, size_t capacity, struct bl_error *e);
void bl_pool_free(struct bl_pool *p);

/* Returns the row of a place. */
static inline const uint32_t *bl_pool_row(const struct bl_pool *p, size_t place)
{
    return p->row + place * (size_t)(1 + p->kinds);
}

/* Adds a piece and returns its row, of which the caller writes all members. There must be room for it. */
uint32_t *bl_pool_add(struct bl_pool *p);

/* Drops the pieces that were taken. All places change. */
void bl_pool_drop_taken(struct bl_pool *p);

/* Makes the tree, after the pieces that were taken were dropped. All places change. weight: of the kinds; the tree
 * divides the pieces most finely by the kinds with the highest ones. */
void bl_pool_index(struct bl_pool *p, const double *weight);

/* Returns the place of the piece that a query finds, or BL_POOL_NONE. */
uint32_t bl_pool_find(struct bl_pool *p, struct bl_pool_query *query);

/* Takes a piece out of the pool; its place stays empty until the next index. */
void bl_pool_take(struct bl_pool *p, uint32_t place);

/* How the kinds of load are weighed while blocks are filled. */
struct bl_pool_weighting {
    int sharpness; /* how much more the scarcest kind counts than the others; a power of two */
    bool adapts;   /* the weights follow the pieces that are left in the pool, each time half of them is taken */
};

/* Adds blocks for all the pieces to a draft, under all maxima, in a time that grows with their number alone
 * (pool_fill.c). bound: about how many blocks there will be. d: has room for the pieces. *work: increased by the
 * operations. BL_EFAIL: out of memory. */
int bl_pool_fill(struct bl_draft *d, const struct bl_lengths *lengths, const struct bl_needs *needs,
                 const struct bl_limits *limits, int64_t bound, struct bl_pool_weighting weighting, uint64_t seed,
                 int64_t *work, struct bl_error *e);

#endif
