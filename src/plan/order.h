/* Turns a draft into a plan: adapts the number of blocks to the ranks, decides which blocks the ranks work on at the
 * same time, and orders the blocks.
 *
 * A draft of 10 blocks for 4 ranks with batches of 1 becomes 12 blocks by spreading or padding, or 8 by dropping. Block
 * b is then for rank b mod 4, in step b / 4. */
#ifndef BL_ORDER_H
#define BL_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/balance.h"
#include "plan/cost.h"
#include "plan/draft.h"
#include "plan/plan.h"
#include "base/error.h"
#include "plan/limits.h"
#include "plan/strategy.h"

/* --- ranks -------------------------------------------------------------------------------------------------------- */

/* Every rank must have the same number of whole batches, so the number of blocks is a multiple of those of one step. */

/* The number of blocks that is wanted, where fewer would be enough. */
struct bl_wanted {
    size_t multiple, least; /* a multiple of `multiple`, at least 1, and at least `least` */
    double spare;           /* this share more than the fewest, rounded down to a multiple: 0.01 is 1 % */
};

/* Returns the number of blocks that is wanted for `pieces` pieces, of which `fewest` blocks would be enough. It is
 * never more than the pieces. */
size_t bl_wanted_blocks(const struct bl_wanted *wanted, size_t fewest, size_t pieces);

/* Splits the blocks with the most sequences into halves until there are `blocks` in all. Only blocks from `first` on
 * are split, and they must have at least as many sequences as blocks are wanted. BL_EFAIL: out of memory. */
int bl_ranks_split(struct bl_draft *d, size_t first, size_t blocks, struct bl_error *e);

/* Makes the number of blocks a multiple of `multiple`, and at least min_blocks: splits the blocks with the most
 * sequences, so that none is empty. BL_EUSAGE: too few sequences. */
int bl_ranks_spread(struct bl_draft *d, size_t multiple, size_t min_blocks, struct bl_error *e);

/* Makes the same number of blocks by adding empty blocks at the end. BL_EFAIL: out of memory. */
int bl_ranks_pad(struct bl_draft *d, size_t multiple, size_t min_blocks, struct bl_error *e);

/* Makes the number of blocks a multiple by removing the blocks with the fewest steps. length: steps by piece.
 * BL_EUSAGE: no block would be left. */
int bl_ranks_drop(struct bl_draft *d, size_t multiple, const int64_t *length, struct bl_error *e);

/* --- order -------------------------------------------------------------------------------------------------------- */

/* The order of the blocks is the last step from a draft to the tables of a plan. */

struct bl_order {
    enum bl_order_kind { BL_ORDER_SHUFFLED, BL_ORDER_AS_DRAFTED, BL_ORDER_LEVEL } kind;
    struct bl_ranks ranks;
    uint64_t seed;
    const struct bl_cost *cost; /* the caller's; read for more than one rank, and for BL_ORDER_LEVEL */
};

/* Takes over the tables of the draft: sets plan->sequence, block_ptr, blocks, pieces, max_sequences and, for more than
 * one rank, the members of the balance that depend on the order. Empty blocks stay at the end. With BL_ORDER_LEVEL, the
 * ranks cost as much alike between synchronization points as the blocks allow. The caller frees plan and draft, also
 * after errors. BL_EFAIL: out of memory. */
int bl_order_apply(struct bl_plan *plan, struct bl_draft *d, const struct bl_order *order, struct bl_error *e);

/* Sets balance->lost_before, and that of each point, to the imbalance of the draft's blocks in random order. The draft
 * stays unchanged. BL_EFAIL: out of memory. */
int bl_order_lost(struct bl_plan_balance *balance, const struct bl_draft *d, const struct bl_order *order,
                  struct bl_error *e);

#endif
