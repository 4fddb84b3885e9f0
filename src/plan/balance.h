/* Deals blocks to the ranks so that ranks that wait for each other cost the same, and measures what waiting loses. */
#ifndef BL_BALANCE_H
#define BL_BALANCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/cost.h"
#include "plan/draft.h"
#include "plan/plan.h"

/* The ranks of a training. A step has world_size * batch_size blocks: rank r has its block r and every world_size-th
 * after it. The ranks wait for each other after `steps` steps, when each has worked on batch_size * steps blocks. */
struct bl_ranks {
    size_t world_size, batch_size, steps; /* each at least 1 */
};

/* Returns the number of blocks of one rank between two synchronization points. */
static inline size_t bl_ranks_turn(const struct bl_ranks *r)
{
    return r->batch_size * r->steps;
}

/* Returns the number of blocks of all ranks between two synchronization points, which are called a wait. */
static inline size_t bl_ranks_wait(const struct bl_ranks *r)
{
    return r->world_size * bl_ranks_turn(r);
}

/* --- costs -------------------------------------------------------------------------------------------------------- */

/* A block in a table that is ordered. cost: in units of struct bl_cost, the sum over all points; entry: as
 * bl_draft_entry makes it. */
struct bl_costed {
    int64_t cost, entry;
};

/* The costs of blocks at each point. With one point, struct bl_costed has the cost. */
struct bl_block_costs {
    int points;
    int64_t *at;   /* [blocks][points]; NULL: one point */
    uint32_t *row; /* [pieces + 1] of a block, by its first piece: the place in `at` */
};

/* Sets the cost of every block, the sum over the points, and its entry. block: [blocks]. The caller frees *costs, also
 * after errors. BL_EFAIL: out of memory. */
int bl_block_costs_set(struct bl_block_costs *costs, struct bl_costed *block, const int64_t *entry, size_t blocks,
                       const struct bl_draft *d, const struct bl_cost *cost, struct bl_error *e);
/* Frees the tables; {0} is accepted. */
void bl_block_costs_free(struct bl_block_costs *costs);

/* Returns what a block costs at point p. */
static inline int64_t bl_block_cost(const struct bl_block_costs *c, const struct bl_costed *block, int p)
{
    return c->at ? c->at[(size_t)c->row[bl_entry_first(block->entry)] * (size_t)c->points + (size_t)p] : block->cost;
}

/* Returns the imbalance, as `lost` of struct bl_plan_balance: the sum of the highest costs by the sum of the mean
 * costs, less 1. blocks: a multiple of bl_ranks_wait. lost: [points] the imbalance at each point; NULL: not wanted. */
double bl_balance_lost(const struct bl_block_costs *costs, const struct bl_costed *block, size_t blocks,
                       const struct bl_ranks *ranks, double *lost);

/* Deals blocks, which are in random order, to waits and ranks. The first `full` of them are not empty; the others stay
 * last. Waits stay as random as they can be while little is lost; expensive ones are spread over the epoch. With
 * several points, the costs in `block` are undefined afterwards. BL_EFAIL: out of memory. */
int bl_balance_deal(struct bl_costed *block, size_t blocks, size_t full, const struct bl_block_costs *costs,
                    const struct bl_ranks *ranks, uint64_t seed, struct bl_error *e);

/* --- mix of costs ------------------------------------------------------------------------------------------------- */

/* Measures the distance between the waits of a plan and fair samples of all blocks. An order that puts blocks of equal
 * cost together loses little, and the training then sees long sequences at one time and short ones at another. */

/* Sets highest, apart, apart_drawn and neighbours of *balance. block: in the order of the plan; sequence: the pieces
 * that the entries refer to; seed: of the order that is compared. BL_EFAIL: out of memory. */
int bl_mix_measure(struct bl_plan_balance *balance, const struct bl_costed *block, size_t blocks,
                   const uint32_t *sequence, const struct bl_cost *cost, const struct bl_ranks *ranks, uint64_t seed,
                   struct bl_error *e);

#endif
