/* The master problem of column generation: the fewest blocks that cover the counts, as fractions, over the columns
 * known so far. Revised simplex, with the inverse of the basis in product form; D rows.
 *
 * Rounding errors may cost time or a block, but never correctness: exact prices prove the bounds (see knapsack.h), and
 * counting checks the plans. */
#ifndef BL_MASTER_H
#define BL_MASTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/histogram.h"
#include "plan/inverse.h"

/* A way of filling a block: bucket[i] is used times[i] times. */
struct bl_master_column {
    uint32_t count;
    uint32_t first; /* first entry in the pool */
};

struct bl_master {
    size_t rows;
    struct bl_inverse inverse; /* of the basis */
    size_t fresh;              /* steps of the inverse when it was last factorised */
    size_t fresh_entries;
    double *demand;  /* [rows] the counts */
    double *amount;  /* [rows] blocks of the basic columns */
    double *dual;    /* [rows] price of each length, in blocks */
    uint32_t *basis; /* [rows] basic columns; BL_SURPLUS and up: the surplus of a bucket */
    double *step;    /* [rows] scratch: change of the amounts per unit of the entering column */
    size_t next;     /* pool column where the search for a saving resumes */
    /* The pool of columns. */
    struct bl_master_column *column;
    size_t columns, column_capacity;
    uint32_t *bucket;
    double *times;
    size_t entries, entry_capacity;
};

#define BL_SURPLUS UINT32_C(0x80000000)
#define BL_SAVING_MIN 1e-7 /* blocks per block; a smaller saving counts as none */

/* Starts with blocks of a single length each; bounded: with no more of it than there are. salt: selects a perturbation
 * of the counts. BL_EFAIL: out of memory; then *m is empty. */
int bl_master_make(struct bl_master *m, const struct bl_histogram *h, int64_t T, uint32_t sequences, bool is_bounded,
                   uint32_t salt, struct bl_error *e);
void bl_master_free(struct bl_master *m);

/* Adds a column. item: n buckets, repeated if a length is used several times; they are sorted in place. */
int bl_master_add(struct bl_master *m, uint32_t *item, size_t n, struct bl_error *e);

/* Partial pricing: returns the best of some columns of the pool, or a surplus. *saving: its reduced cost in blocks per
 * block; 0 or less if no column saves anything. Reduces *work. */
uint32_t bl_master_price(struct bl_master *m, double *saving, int64_t *work);

/* A pivot: the column enters the basis. Reduces *work by its cost. *entered: false if there is no stable pivot, since
 * the numbers have lost their precision. */
int bl_master_pivot(struct bl_master *m, uint32_t column, int64_t *work, bool *entered, struct bl_error *e);

/* Returns the sum of the amounts of real columns: the value of the relaxation. */
double bl_master_objective(const struct bl_master *m);

#endif
