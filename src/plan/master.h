/* The master problem of column generation: as few blocks as cover the counts, fractions allowed, over the columns that
 * are known so far. Revised simplex with an explicit inverse of the basis, D rows.
 *
 * Rounding errors here can cost time or a block, never truth: bounds are proven by exact prices (see knapsack.h), plans
 * by counting. */
#ifndef BL_MASTER_H
#define BL_MASTER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/histogram.h"

/* A way of filling a block: bucket[i] taken times[i] times. */
struct bl_column {
    uint32_t count;
    uint32_t first; /* in the pool */
};

struct bl_master {
    size_t rows;
    double *inverse; /* [rows][rows] of the basis, column by column: both uses of it then go through memory in order */
    double *amount;  /* [rows] of the basic columns: blocks */
    double *dual;    /* [rows] price of each length in blocks */
    uint32_t *basis; /* [rows] the basic columns; BL_SURPLUS and more: too much of a bucket */
    double *step;    /* [rows] scratch: how the entering column changes the amounts */
    double *pivot;   /* [rows] scratch: the row that leaves */
    /* The pool of columns. */
    struct bl_column *column;
    size_t columns, column_capacity;
    uint32_t *bucket;
    double *times;
    size_t entries, entry_capacity;
};

#define BL_SURPLUS UINT32_C(0x80000000)

/* Begins with blocks of one length each. Errors: BL_EFAIL, no memory; then *m is empty. */
int bl_master_make(struct bl_master *m, const struct bl_histogram *h, int64_t T, uint32_t sequences,
                   struct bl_error *e);
void bl_master_free(struct bl_master *m);

/* Adds a column; item[] are n buckets, repeated where a length is taken again. They are sorted in place. */
int bl_master_add(struct bl_master *m, uint32_t *item, size_t n, struct bl_error *e);

/* The column of the pool that saves most at the present prices, or the surplus; tells by *saving (blocks per block). */
uint32_t bl_master_price(const struct bl_master *m, double *saving);

/* Takes a column into the basis. The work that it took, or 0 when it cannot be done well: the numbers have lost their
 * precision. */
int64_t bl_master_enter(struct bl_master *m, uint32_t column);

/* Sum of the amounts of real columns: the value of the relaxation. */
double bl_master_blocks(const struct bl_master *m);

#endif
