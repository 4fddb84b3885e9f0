/* The knapsack behind every step of column generation: the block that is worth most when each length has a price.
 *
 * Prices are whole numbers below 2^45 kept in doubles: sums of them are exact below 2^53 (checked: a block worth more
 * ends the pricing), so what is found to be the most is the most, and a bound that rests on it is proven. */
#ifndef BL_KNAPSACK_H
#define BL_KNAPSACK_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/histogram.h"

#define BL_PRICE_ONE 1099511627776.0 /* 2^40: a price of 1 block */

struct bl_knapsack {
    const struct bl_histogram *h;
    uint32_t T;
    uint32_t sequences; /* the most in a block, or 0 where T is the only limit */
    double *price;      /* [D] to be set: whole, 0 .. 2^45 */
    double *worth;      /* [T+1] by room, the most; with a limit [sequences+1][T+1] */
};

/* Operations of one solution. */
int64_t bl_knapsack_work(const struct bl_histogram *h, uint32_t T, uint32_t sequences);

/* sequences: as in struct bl_fill_limits. Errors: BL_EFAIL, no memory; then *k is empty. */
int bl_knapsack_make(struct bl_knapsack *k, const struct bl_histogram *h, uint32_t T, uint32_t sequences,
                     struct bl_error *e);
void bl_knapsack_free(struct bl_knapsack *k);

/* The worth of the best block, any length as often as wanted. */
double bl_knapsack_solve(struct bl_knapsack *k);

/* The worth of the best block that begins with this bucket. */
double bl_knapsack_with(const struct bl_knapsack *k, uint32_t bucket);

/* A best block after `bucket`, or the best of all for bucket BL_KNAPSACK_ANY: buckets into item, which holds
 * `capacity`. How many there are, or 0 if there are more than that. */
#define BL_KNAPSACK_ANY UINT32_MAX
size_t bl_knapsack_block(const struct bl_knapsack *k, uint32_t bucket, uint32_t *item, size_t capacity);

#endif
