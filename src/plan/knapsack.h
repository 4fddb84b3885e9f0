/* The knapsack problem in every step of column generation: the block of the greatest worth, given a price per length.
 *
 * Prices are integers below 2^45 in doubles. Their sums are exact below 2^53 (checked: a block worth more ends the
 * pricing), so the maximum is exact, and a bound based on it is proven. */
#ifndef BL_KNAPSACK_H
#define BL_KNAPSACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/histogram.h"

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

/* Entries of the table. */
int64_t bl_knapsack_entries(const struct bl_histogram *h, uint32_t T, uint32_t sequences, bool is_bounded);

/* sequences: as in struct bl_limits. BL_EFAIL: out of memory; then *k is empty. */
int bl_knapsack_make(struct bl_knapsack *k, const struct bl_histogram *h, uint32_t T, uint32_t sequences,
                     bool is_bounded, struct bl_error *e);
void bl_knapsack_free(struct bl_knapsack *k);

/* Returns the worth of the best block; a length may repeat, unless the knapsack is bounded. */
double bl_knapsack_solve(struct bl_knapsack *k);

/* Returns the worth of the best block that begins with this bucket; bounded: of shorter lengths beside it. */
double bl_knapsack_with(const struct bl_knapsack *k, uint32_t bucket);

/* Writes a best block after `bucket`, or the best of all for BL_KNAPSACK_ANY, as buckets to item, which has room for
 * `capacity`. Returns their number, or 0 if there are more. */
#define BL_KNAPSACK_ANY UINT32_MAX
size_t bl_knapsack_block(const struct bl_knapsack *k, uint32_t bucket, uint32_t *item, size_t capacity);

#endif
