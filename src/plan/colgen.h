/* Column generation (Gilmore and Gomory, 1961): the linear relaxation over all patterns, which makes only patterns with
 * negative reduced cost. The master's prices are rounded down to integers before the knapsack is solved. So the bound
 * sum(count * price) / worth is exact, whatever precision the simplex has lost (Farley: prices divided by the worth of
 * the best block make no block worth more than one). */
#ifndef BL_COLGEN_H
#define BL_COLGEN_H

#include <stdbool.h>

#include "plan/search.h"
#include "plan/knapsack.h"
#include "plan/master.h"

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

/* Whether the optimum is likely to be found within the limits. is_bounded: of patterns that hold no length more often
 * than the histogram has it, of which fewer fractions are needed, and which prove more. */
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

#endif
