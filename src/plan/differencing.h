/* The largest differencing method (Karmarkar and Karp, 1982): divides items into parts whose costs are nearly equal. */
#ifndef BL_DIFFERENCING_H
#define BL_DIFFERENCING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Writes the part of each item, 0 to parts - 1, to part[count]. Part 0 costs most. Costs are not negative, and their
 * sum is below 2^62. is_even: the numbers of items of any two parts differ by at most 1 for each part of a row, and are
 * equal if `parts` divides `count`. The result depends on the arguments alone. Time: O(count * parts) at most; memory:
 * O(count). BL_EFAIL: out of memory. */
int bl_differencing(uint32_t *part, const int64_t *cost, size_t count, size_t parts, bool is_even, struct bl_error *e);

#endif
