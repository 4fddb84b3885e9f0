/* Quantiles of many numbers, such as the lengths of sequences, without sorting or copying them. */
#ifndef BL_QUANTILE_H
#define BL_QUANTILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum bl_quantile { BL_P1, BL_P10, BL_P50, BL_P90, BL_P99, BL_MAX, BL_QUANTILES };

/* The names of the quantiles: "p1", "p10", "p50", "p90", "p99", "max". */
extern const char *const bl_quantile_names[BL_QUANTILES];

/* Sets out to the quantiles of the positive values, by nearest rank: p90 is the smallest value such that at least 90 %
 * of the values are not larger, as numpy's method "inverted_cdf" has it. Values below 1 do not count. Without positive
 * values all are 0. Takes one pass over the values, up to five more if the largest exceeds 65,536, and at most 1 MiB of
 * memory. BL_EFAIL: out of memory. */
int bl_quantiles(const int64_t *value, size_t count, int64_t out[BL_QUANTILES], struct bl_error *e);

#endif
