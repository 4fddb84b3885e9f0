/* A bound on the blocks by two maxima together. */
#ifndef BL_BOUND_VECTOR_H
#define BL_BOUND_VECTOR_H

#include "plan/loads.h"

/* Raises *bound, in blocks, if that of the sums of two kinds of load is higher: each as its share of what a block has,
 * so that a block holds sums up to 2. Of the kinds, these are the two that need the most blocks. It sees what no
 * maximum alone shows: sequences that have much of one where they have little of the other. l: the load of every piece;
 * the blocks do not count. BL_EFAIL: out of memory. */
int bl_bound_vector(int64_t *bound, const struct bl_loads *l, const struct bl_limits *limits, struct bl_error *e);

#endif
