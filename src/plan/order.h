/* From a draft to a plan: the number of blocks that suits the ranks, which blocks the ranks work on at the same time,
 * and the order of the blocks. */
#ifndef BL_ORDER_H
#define BL_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/draft.h"
#include "plan/needs.h"
#include "plan/plan.h"
#include "base/error.h"
#include "plan/limits.h"
#include "plan/strategy.h"

/* --- ranks -------------------------------------------------------------------------------------------------------- */

/* The ranks, and the number of blocks: every rank must get the same number of whole batches. */

/* A step has world_size * batch_size blocks: rank r has its block r and every world_size-th after it. The ranks wait
 * for each other after `steps` steps, when each has worked on batch_size * steps blocks. */
struct bl_ranks {
    size_t world_size, batch_size, steps;
};

/* Returns the blocks of a rank between two waits. */
static inline size_t bl_ranks_turn(const struct bl_ranks *r)
{
    return r->batch_size * r->steps;
}

/* Returns the blocks of all ranks between two waits. */
static inline size_t bl_ranks_wait(const struct bl_ranks *r)
{
    return r->world_size * bl_ranks_turn(r);
}

/* How many blocks are wanted, where fewer would do. */
struct bl_wanted {
    size_t multiple, least;
    double spare; /* this part more than the fewest, as far as it makes a multiple */
};

/* Returns the number of blocks that is wanted for so many pieces. */
size_t bl_wanted_blocks(const struct bl_wanted *wanted, size_t fewest, size_t pieces);

/* Splits the blocks with the most sequences, of those from `first` on, until there are so many in all. They have at
 * least as many sequences. BL_EFAIL: out of memory. */
int bl_ranks_split(struct bl_draft *d, size_t first, size_t blocks, struct bl_error *e);

/* Makes the number of blocks a multiple of `multiple`, and at least min_blocks: splits the blocks with the most
 * sequences, so that none is empty. BL_EUSAGE: too few sequences. */
int bl_ranks_spread(struct bl_draft *d, size_t multiple, size_t min_blocks, struct bl_error *e);

/* The same by adding empty blocks at the end. */
int bl_ranks_pad(struct bl_draft *d, size_t multiple, size_t min_blocks, struct bl_error *e);

/* The same by removing the blocks with the fewest steps. BL_EUSAGE: none would be left. */
int bl_ranks_drop(struct bl_draft *d, size_t multiple, const int64_t *length, struct bl_error *e);

/* --- balance ------------------------------------------------------------------------------------------------------ */

/* The balance of the ranks: which blocks they work on at the same time. */

/* A block in a table that is ordered. entry: as of bl_draft_entry. */
struct bl_costed {
    int64_t cost, entry;
};

/* --- order -------------------------------------------------------------------------------------------------------- */

/* The order of the blocks turns a draft into the tables of a plan. */

struct bl_order {
    enum bl_order_kind { BL_ORDER_SHUFFLED, BL_ORDER_AS_DRAFTED, BL_ORDER_LEVEL } kind;
    struct bl_ranks ranks;
    uint64_t seed;
    const struct bl_cost *cost;
};

/* Takes over the draft's tables: sets plan->sequence, block_ptr, blocks, pieces, max_sequences and, for more than one
 * rank, the members of the balance that depend on the order. Empty blocks stay at the end. BL_ORDER_LEVEL: wherever the
 * ranks wait they cost as much as the blocks allow. BL_EFAIL: out of memory. */
int bl_order_apply(struct bl_plan *plan, struct bl_draft *d, const struct bl_order *order, struct bl_error *e);

/* Returns in *lost what the ranks would lose with the draft's blocks in random order. BL_EFAIL: out of memory. */
int bl_order_lost(double *lost, const struct bl_draft *d, const struct bl_order *order, struct bl_error *e);

/* --- mix of costs ------------------------------------------------------------------------------------------------- */

/* How far the waits of a plan are from fair samples of all blocks: a plan that puts like blocks together loses little,
 * but teaches long sequences at one time and short ones at another. */

/* Sets highest, apart, apart_drawn and neighbours. sequence: the pieces that the entries refer to. BL_EFAIL: out of
 * memory. */
int bl_mix_measure(struct bl_plan_balance *balance, const struct bl_costed *block, size_t blocks,
                   const uint32_t *sequence, const struct bl_cost *cost, const struct bl_ranks *ranks, uint64_t seed,
                   struct bl_error *e);

#endif
