/* Proven lower bounds on the number of blocks. */
#ifndef BL_BOUND_H
#define BL_BOUND_H

#include <stdint.h>

#include "base/error.h"
#include "plan/histogram.h"

/* L1: the steps, divided by T and rounded up. */
int64_t bl_bound_steps(const struct bl_histogram *h, int64_t T);

/* L2 of Martello and Toth ("Knapsack Problems", 1990, section 8.3.2), never less than L1. No length exceeds T.
 * For a threshold K: lengths over T - K stand alone; those over T/2 need a block each, and what is at
 * least K and at most T/2 must go into the room beside these, or into blocks of its own. The best K is one of the
 * lengths. And the lengths over T/3 by themselves, exactly, by matching (Labbe, Laporte, Mercure, 1991). O(D), no
 * memory.
 */
int64_t bl_bound_blocks(const struct bl_histogram *h, int64_t T);

/* Raises *bound to what prices prove that some classes of the lengths have, in blocks: price[] of every class, and a
 * block holds `places` of the units that the classes are counted in. Whatever the prices, what is proven is true.
 * Errors: BL_EFAIL, no memory. */
int bl_bound_dual(int64_t *bound, const struct bl_histogram *h, int64_t T, const struct bl_histogram *classes,
                  uint32_t places, const double *price, struct bl_error *e);

#endif
