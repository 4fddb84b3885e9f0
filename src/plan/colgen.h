/* Column generation (Gilmore and Gomory, 1961): the linear relaxation over all patterns, which makes only patterns with
 * negative reduced cost.
 *
 * The master problem gives a price for each length; the knapsack problem finds the pattern of the greatest worth at
 * these prices. The prices are rounded down to integers before the knapsack is solved. So the bound sum(count * price)
 * / worth is exact, whatever precision the simplex has lost (Farley: prices divided by the worth of the best block make
 * no block worth more than one). */
#ifndef BL_COLGEN_H
#define BL_COLGEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/histogram.h"
#include "plan/inverse.h"
#include "plan/search.h"

/* --- knapsack problem --------------------------------------------------------------------------------------------- */

/* The knapsack problem in every step of column generation: finds the block of the greatest worth for a given price of
 * each length. */

#define BL_PRICE_ONE 1099511627776.0 /* 2^40: a price of 1 block */

struct bl_knapsack {
    const struct bl_histogram *h;
    uint32_t T;
    uint32_t sequences; /* maximum per block, or 0 if T is the only limit */
    bool is_bounded;    /* a block holds no length more often than the histogram has it */
    double *price;      /* [D] set by the caller: integers, 0 .. 2^45 */
    double *worth; /* [T+1] greatest worth by room; with a limit [sequences+1][T+1]. Bounded: D+1 such tables; table
                      b has the lengths below bucket b */
};

/* Operations of one solution: one for two entries of the table, which are computed at once. */
int64_t bl_knapsack_work(const struct bl_histogram *h, uint32_t T, uint32_t sequences, bool is_bounded);

/* sequences: as in struct bl_limits. BL_EFAIL: out of memory; then *k is empty. */
int bl_knapsack_make(struct bl_knapsack *k, const struct bl_histogram *h, uint32_t T, uint32_t sequences,
                     bool is_bounded, struct bl_error *e);
void bl_knapsack_free(struct bl_knapsack *k);

/* Returns the worth of the best block; a length may repeat, unless the knapsack is bounded. */
double bl_knapsack_solve(struct bl_knapsack *k);

/* Writes a best block after `bucket`, or the best of all for BL_KNAPSACK_ANY, as buckets to item, which has room for
 * `capacity`. Returns their number, or 0 if there are more. */
#define BL_KNAPSACK_ANY UINT32_MAX
size_t bl_knapsack_block(const struct bl_knapsack *k, uint32_t bucket, uint32_t *item, size_t capacity);

/* --- master problem ----------------------------------------------------------------------------------------------- */

/* The master problem of column generation: the fewest blocks that cover the counts, as fractions, over the columns
 * known so far. Revised simplex, with the inverse of the basis in product form; D rows.
 *
 * Rounding errors may cost time or a block, but never correctness: exact prices prove the bounds, and counting checks
 * the plans. */

/* A way of filling a block: bucket[i] is used times[i] times. */
struct bl_master_column {
    uint32_t count;
    uint32_t first; /* first entry in the pool */
};

/* The state of the simplex: the basis, its inverse, and all columns that were made. */
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
    size_t entries, bucket_capacity, times_capacity;
};

#define BL_SURPLUS UINT32_C(0x80000000)
#define BL_SAVING_MIN 1e-7 /* blocks per block; a smaller saving counts as none */

/* Adds a column. item: n buckets, repeated if a length is used several times; they are sorted in place. */
int bl_master_add(struct bl_master *m, uint32_t *item, size_t n, struct bl_error *e);

/* Adds up to `use` blocks of a column, as many as the remaining lengths allow, and takes their lengths from left[]. as:
 * maps the buckets of the column to those of left[] and the patterns; NULL: they are the same. BL_EFAIL: out of
 * memory. */
int bl_master_use(const struct bl_master *m, const struct bl_master_column *c, uint32_t use, const uint32_t *as,
                  uint32_t *left, struct bl_patterns *patterns, struct bl_error *e);

/* --- column generation -------------------------------------------------------------------------------------------- */

/* A run of column generation over one histogram. */
struct bl_colgen {
    const struct bl_histogram *h;
    const struct bl_limits *limits;
    struct bl_master master;
    struct bl_knapsack knapsack;
    uint32_t *item; /* [item_capacity] buckets of the block being built */
    size_t item_capacity;
    int64_t bound;  /* proven so far */
    int64_t enough; /* blocks of a known solution; the search ends when the bound reaches them */
    int64_t work;   /* operations left */
};

/* Returns whether the optimum is likely to be found within the limits. is_bounded: patterns hold no length more often
 * than the histogram has it; such relaxations have fewer fractions and prove more. */
bool bl_colgen_is_affordable(const struct bl_histogram *h, const struct bl_limits *limits, bool is_bounded);

/* The histogram and the limits must outlive *g. The caller sets bound, enough and work. salt: which of the optima is
 * found, if there are several. Errors here and below: BL_EFAIL, out of memory; *g must still be freed. */
int bl_colgen_make(struct bl_colgen *g, const struct bl_histogram *h, const struct bl_limits *limits, bool is_bounded,
                   uint32_t salt, struct bl_error *e);
void bl_colgen_free(struct bl_colgen *g);

/* Adds an initial block: n buckets, at most item_capacity. */
int bl_colgen_offer(struct bl_colgen *g, const uint32_t *bucket, size_t n, struct bl_error *e);

/* Runs until the optimum, a sufficient bound, or the end of the work. */
int bl_colgen_run(struct bl_colgen *g, struct bl_error *e);

/* --- column pool -------------------------------------------------------------------------------------------------- */

/* The pool keeps columns of one relaxation, from which the next ones start, although their remaining lengths differ.
 */

/* Adds to the pool, which has the buckets of the full histogram, the columns of a relaxation of `rest` from number
 * `from` on. The oldest are dropped if there are too many. Errors here and below: BL_EFAIL, out of memory. */
int bl_column_pool_keep(struct bl_patterns *pool, const struct bl_remaining *rest, const struct bl_master *m,
                        size_t from, struct bl_error *e);

/* Offers to a relaxation of `rest` all columns of the pool that are still possible with left[], the remaining counts of
 * the full histogram. */
int bl_column_pool_offer(const struct bl_patterns *pool, const struct bl_remaining *rest, const uint32_t *left,
                         struct bl_colgen *g, struct bl_error *e);

#endif
