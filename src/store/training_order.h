/* The order in which a training run reads the blocks of an epoch: the order of BlockSampler in the Python package
 * (python/bload/sampler.py) and of its epochs of windows (python/bload/epochs.py); both must give the same result. The
 * order depends only on struct bl_training and the number of blocks. */
#ifndef BL_TRAINING_ORDER_H
#define BL_TRAINING_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "store/view.h"

/* The treatment of blocks at the end of an epoch that do not fill a step of all ranks: an error, repeated blocks that
 * fill the step, or no step for them. */
enum bl_order_remainder { BL_ORDER_ERROR, BL_ORDER_PAD, BL_ORDER_DROP };

/* How the blocks of a step are divided among W ranks. BL_DEAL_BLOCKS: the sampler of each rank takes every W-th block.
 * BL_DEAL_BATCHES: Accelerate gives each rank a batch of consecutive blocks. */
enum bl_order_deal { BL_DEAL_BLOCKS, BL_DEAL_BATCHES };

struct bl_training {
    int64_t epoch; /* from 0 */
    int64_t world_size, batch_size;
    uint64_t seed;
    bool is_shuffled;
    int remainder;    /* enum bl_order_remainder */
    int deal;         /* enum bl_order_deal */
    int64_t consumed; /* blocks of the epoch that were read before a restart; steps count from there */
    int64_t window;   /* blocks whose pieces are exchanged with each other; 0: the epoch has a plan, and no windows */
    uint64_t window_seed;
};

struct bl_training_order {
    const struct bl_training *training; /* not owned */
    int64_t blocks;
    int64_t *block; /* [blocks] in the order of the epoch; the first training->consumed of them are not read again */
    int64_t *place; /* [blocks] inverse of block: the position of each block in the order */
    int64_t count;  /* blocks that are read from consumed on; a block that fills the last step counts again */
    int64_t steps;
};

/* Makes the order for a dataset of that many blocks. training must outlive the order. Free with bl_training_order_free.
 * BL_EUSAGE: the blocks are not a multiple of a step and remainder is BL_ORDER_ERROR, or consumed exceeds the blocks.
 */
int bl_training_order_make(struct bl_training_order *order, const struct bl_training *training, int64_t blocks,
                           struct bl_error *e);
void bl_training_order_free(struct bl_training_order *order);

/* One reading of a block: the step, the rank that reads it, and the place in the batch of that rank. */
struct bl_reading {
    int64_t step, rank, place;
};

/* Finds the n-th reading of a block, counted from 0. Returns false if the block is read at most n times. */
bool bl_training_order_find(const struct bl_training_order *order, int64_t block, int64_t n,
                            struct bl_reading *reading);

/* Returns the block of a reading. The step must be less than order->steps, the rank less than world_size, and the place
 * less than batch_size. */
int64_t bl_training_order_block(const struct bl_training_order *order, const struct bl_reading *reading);

/* --- windows ------------------------------------------------------------------------------------------------------ */

/* An epoch of windows needs no plan: within each window of consecutive blocks, pieces of the same length exchange their
 * places, and the pieces of each block change their order. */

/* Computes the groups of all rows, [rows]: only pieces of rows of one group may exchange places, so that --group-by,
 * --max-column and --together of the dataset stay satisfied. *group is NULL if the dataset has none of these options.
 * *bundle: the bundles of all rows, BL_ALONE for none, or NULL without --together. The caller frees both.
 */
int bl_window_groups(struct bl_view *view, uint32_t **group, uint32_t **bundle, struct bl_error *e);

/* The stored pieces of a window. Piece i has the number first + i in the index. */
struct bl_window {
    int64_t first;
    size_t count;
    const uint32_t *sequence; /* [count] */
    const int64_t *length;    /* [count] */
};

/* Draws the piece that takes the place of each piece of a window. drawn: [count], indices from 0. group: from
 * bl_window_groups, may be NULL. */
int bl_window_draw(const struct bl_window *window, const struct bl_training *training, const uint32_t *group,
                   int64_t *drawn, struct bl_error *e);

/* Draws the order of the pieces of a block. first: the number of its first piece in the index. bundle: [count] of the
 * pieces, or NULL: those of a bundle, which are neighbours, stay in their order. order: [count], indices from 0. */
int bl_window_order(int64_t block, int64_t first, size_t count, const uint32_t *bundle,
                    const struct bl_training *training, int64_t *order, struct bl_error *e);

#endif
