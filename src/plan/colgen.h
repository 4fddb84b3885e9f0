/* Column generation (Gilmore and Gomory, 1961): the linear relaxation over all patterns, of which only those that save
 * something are ever made. The prices of the master are rounded down to whole numbers before the knapsack is solved, so
 * the bound sum(count * price) / worth is one of exact arithmetic, whatever the simplex has lost (Farley: prices
 * divided by the worth of the best block make no block worth more than one). */
#ifndef BL_COLGEN_H
#define BL_COLGEN_H

#include "plan/fill.h"
#include "plan/knapsack.h"
#include "plan/master.h"

struct bl_colgen {
    const struct bl_histogram *h;
    const struct bl_fill_limits *limits;
    struct bl_master master;
    struct bl_knapsack knapsack;
    uint32_t *item; /* [item_capacity] a block in the making: buckets */
    size_t item_capacity;
    int64_t bound;  /* proven so far */
    int64_t enough; /* blocks of a known solution: a bound that reaches them ends the search */
    int64_t work;   /* that is left */
};

/* Whether an optimum is likely to be found within the limits. */
int bl_colgen_is_affordable(const struct bl_histogram *h, const struct bl_fill_limits *limits);

/* The histogram and the limits are needed as long as *g is; its numbers are to be set by the caller. Errors here and
 * below: BL_EFAIL, no memory; then it is still to be freed. */
int bl_colgen_make(struct bl_colgen *g, const struct bl_histogram *h, const struct bl_fill_limits *limits,
                   struct bl_error *e);
void bl_colgen_free(struct bl_colgen *g);

/* Offers a block from the beginning: n buckets, at most item_capacity. */
int bl_colgen_offer(struct bl_colgen *g, const uint32_t *bucket, size_t n, struct bl_error *e);

/* Until the optimum, or the bound that is enough, or the end of the work. */
int bl_colgen_run(struct bl_colgen *g, struct bl_error *e);

#endif
