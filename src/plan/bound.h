/* Proven lower bounds on the number of blocks. */
#ifndef BL_BOUND_H
#define BL_BOUND_H

#include <stdint.h>

#include "base/error.h"
#include "plan/histogram.h"

/* L1: the steps, divided by T and rounded up. */
int64_t bl_bound_steps(const struct bl_histogram *h, int64_t T);

/* L2 of Martello and Toth ("Knapsack Problems", 1990, section 8.3.2), never less than L1. No length may exceed T. For a
 * threshold K: lengths over T - K stand alone; those over T/2 need a block each, and lengths from K to T/2 must go into
 * the room beside these, or into further blocks. The best K is one of the lengths. Also the exact bound of the lengths
 * over T/3 alone, by matching (Labbe, Laporte, Mercure, 1991). O(D), no memory. */
int64_t bl_bound_blocks(const struct bl_histogram *h, int64_t T);

/* The bound of a list of lengths and its histogram, in blocks of T steps with at most max_sequences each. A block holds
 * whole units, and at its end part of another one, which patterns leave empty but a bound must count: if units do not
 * divide T, a bound on the steps may be higher. BL_EFAIL: out of memory. */
int bl_bound_lengths(int64_t *bound, const struct bl_lengths *lengths, const struct bl_histogram *h, int64_t T,
                     int64_t max_sequences, struct bl_error *e);

#endif
