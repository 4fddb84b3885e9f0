/* The master problem of column generation: as few blocks as cover the counts, fractions allowed, over the columns that
 * are known so far. Revised simplex with the inverse of the basis in product form, D rows.
 *
 * Rounding errors here can cost time or a block, never truth: bounds are proven by exact prices (see knapsack.h), plans
 * by counting. */
#ifndef BL_MASTER_H
#define BL_MASTER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/histogram.h"
#include "plan/inverse.h"

/* A way of filling a block: bucket[i] taken times[i] times. */
struct bl_master_column {
    uint32_t count;
    uint32_t first; /* in the pool */
};

struct bl_master {
    size_t rows;
    struct bl_inverse inverse; /* of the basis */
    size_t fresh;              /* its steps when it was last made anew */
    size_t fresh_entries;
    double *demand;  /* [rows] the counts */
    double *amount;  /* [rows] of the basic columns: blocks */
    double *dual;    /* [rows] price of each length in blocks */
    uint32_t *basis; /* [rows] the basic columns; BL_SURPLUS and more: too much of a bucket */
    double *step;    /* [rows] scratch: how the entering column changes the amounts */
    size_t next;     /* column of the pool: where the search for one that saves goes on */
    /* The pool of columns. */
    struct bl_master_column *column;
    size_t columns, column_capacity;
    uint32_t *bucket;
    double *times;
    size_t entries, entry_capacity;
};

#define BL_SURPLUS UINT32_C(0x80000000)
#define BL_SAVING_MIN 1e-7 /* blocks per block: less is none */

/* Begins with blocks of one length each. Errors: BL_EFAIL, no memory; then *m is empty. */
int bl_master_make(struct bl_master *m, const struct bl_histogram *h, int64_t T, uint32_t sequences,
                   struct bl_error *e);
void bl_master_free(struct bl_master *m);

/* Adds a column; item[] are n buckets, repeated where a length is taken again. They are sorted in place. */
int bl_master_add(struct bl_master *m, uint32_t *item, size_t n, struct bl_error *e);

/* Partial pricing: the best of some columns of the pool, or a surplus. *saving: its reduced cost in blocks per block; 0
 * or less when no column saves anything. Reduces *work. */
uint32_t bl_master_price(struct bl_master *m, double *saving, int64_t *work);

/* A pivot: the column enters the basis. *work is reduced by what it took. *entered: 0 where no stable pivot exists, as
 * the numbers have lost their precision. */
int bl_master_pivot(struct bl_master *m, uint32_t column, int64_t *work, int *entered, struct bl_error *e);

/* Sum of the amounts of real columns: the value of the relaxation. */
double bl_master_objective(const struct bl_master *m);

#endif
