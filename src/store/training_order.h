/* The order in which a training run reads the blocks of an epoch: that of BlockSampler in the Python package
 * (python/bload/sampler.py), and the epochs of windows (python/bload/epochs.py). They depend on what is given here
 * alone. */
#ifndef BL_TRAINING_ORDER_H
#define BL_TRAINING_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "store/view.h"

/* What to do with the blocks at the end that do not fill a step of all ranks. */
enum bl_order_remainder { BL_ORDER_ERROR, BL_ORDER_PAD, BL_ORDER_DROP };

/* Who divides the blocks of a step among the ranks: a sampler of each rank takes every W-th block; Accelerate gives
 * each rank a batch of consecutive ones. */
enum bl_order_deal { BL_DEAL_BLOCKS, BL_DEAL_BATCHES };

struct bl_training {
    int64_t epoch; /* from 0 */
    int64_t world_size, batch_size;
    uint64_t seed;
    bool is_shuffled;
    int remainder;    /* enum bl_order_remainder */
    int deal;         /* enum bl_order_deal */
    int64_t consumed; /* blocks of the epoch that were consumed before: steps count from there */
    int64_t window;   /* blocks; 0: the epoch follows a plan */
    uint64_t window_seed;
};

struct bl_training_order {
    const struct bl_training *training; /* not owned */
    int64_t blocks;
    int64_t *block; /* [blocks] in the order of the epoch; those before consumed were read before */
    int64_t *place; /* [blocks] the inverse */
    int64_t count;  /* blocks that are read from consumed on, some of them repeatedly */
    int64_t steps;
};

/* BL_EUSAGE: the blocks do not divide, or fewer were there to be consumed. Free with bl_training_order_free. */
int bl_training_order_make(struct bl_training_order *order, const struct bl_training *training, int64_t blocks,
                           struct bl_error *e);
void bl_training_order_free(struct bl_training_order *order);

/* When a block is read: by a rank in a step, at a place of its batch. */
struct bl_reading {
    int64_t step, rank, place;
};

/* The n-th reading of a block, from 0. False: it is read less often. */
bool bl_training_order_find(const struct bl_training_order *order, int64_t block, int64_t n,
                            struct bl_reading *reading);

/* The block that is read there; the step must be below order->steps, rank and place below those of the run. */
int64_t bl_training_order_block(const struct bl_training_order *order, const struct bl_reading *reading);

/* --- windows ---------------------------------------------------------------------------------------------------- */

/* The groups of the rows whose pieces may take each other's places: [rows], or NULL, where all of them may. They follow
 * from --group-by and --max-column of the dataset. free(*group). */
int bl_window_groups(struct bl_view *view, uint32_t **group, struct bl_error *e);

/* Stored pieces that are numbered from first on. */
struct bl_window {
    int64_t first;
    size_t count;
    const uint32_t *sequence; /* [count] */
    const int64_t *length;    /* [count] */
};

/* Draws which of the pieces of a window takes the place of each: drawn [count], indices of its pieces. */
int bl_window_draw(const struct bl_window *window, const struct bl_training *training, const uint32_t *group,
                   int64_t *drawn, struct bl_error *e);

/* Orders the pieces of a block whose stored pieces are numbered from first on: order [count], indices from 0. */
int bl_window_order(int64_t block, int64_t first, size_t count, const struct bl_training *training, int64_t *order,
                    struct bl_error *e);

#endif
