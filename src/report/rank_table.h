/* What each rank gets in the steps of training: sequences, steps of them, and what attention costs, the sum of the
 * squared lengths. Rank r has block r of a step's blocks, and every world_size-th after it. */
#ifndef BL_RANK_TABLE_H
#define BL_RANK_TABLE_H

#include <stdint.h>

#include "base/error.h"

/* Over the steps of training. */
struct bl_rank_range {
    int64_t least, most;
    double sum;
};

struct bl_rank {
    struct bl_rank_range sequences, steps, cost;
    int64_t present[3]; /* the same, of the present step of training */
};

/* Begin with bl_rank_table_open, end with bl_rank_table_free. */
struct bl_rank_table {
    int64_t world_size, batch_size;
    struct bl_rank *rank;  /* [world_size] */
    int64_t blocks;        /* added */
    int64_t steps;         /* of training, that all ranks have */
    double dearest, costs; /* sums over these: the cost of the dearest rank, and of the mean one */
};

int bl_rank_table_open(struct bl_rank_table *ranks, int64_t world_size, int64_t batch_size, struct bl_error *e);
void bl_rank_table_free(struct bl_rank_table *ranks);

/* Adds the next block: its sequences and their steps, and the sum of the squares. */
void bl_rank_table_add(struct bl_rank_table *ranks, int64_t sequences, int64_t steps, int64_t cost);

/* How much more the dearest rank of a step costs than the mean of the ranks, on average: 0.02 is 2 %. */
double bl_rank_table_imbalance(const struct bl_rank_table *ranks);

#endif
