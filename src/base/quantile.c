/* Quantiles of lengths without sorting a copy: values are counted in 65,536 buckets, and a bucket that holds a quantile
 * is counted again in finer ones. For values up to 10^9 that takes one pass over the values, one more for each
 * quantile, and 1 MiB. Example: the values 1, 2, 3 and 10 have p50 2, p90 10 and max 10. */
#include "base/quantile.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS ((size_t)1 << 16)

const char *const bl_quantile_names[BL_QUANTILES] = {"p1", "p10", "p50", "p90", "p99", "max"};

/* The share of the values that are at most as large as the quantile, in percent. */
static const int64_t percent[BL_QUANTILES] = {1, 10, 50, 90, 99, 100};

/* Counts the values from `first` on by buckets of `width` consecutive values. Others are left out. */
static void buckets_count(const int64_t *value, size_t count, int64_t first, int64_t width, int64_t bucket[BUCKETS])
{
    memset(bucket, 0, BUCKETS * sizeof *bucket);
    for (size_t i = 0; i < count; i++) {
        int64_t at = value[i] < first ? -1 : (value[i] - first) / width;
        if (at >= 0 && at < (int64_t)BUCKETS)
            bucket[at]++;
    }
}

/* Returns the bucket that holds the value of this rank, from 1, among those counted. *rank becomes the rank in the
 * bucket. */
static int64_t quantile_find(const int64_t bucket[BUCKETS], int64_t *rank)
{
    int64_t at = 0;
    for (; *rank > bucket[at]; at++)
        *rank -= bucket[at];
    return at;
}

int bl_quantiles(const int64_t *value, size_t count, int64_t out[BL_QUANTILES], struct bl_error *e)
{
    int64_t positive = 0, largest = 0;
    memset(out, 0, BL_QUANTILES * sizeof *out);
    for (size_t i = 0; i < count; i++) {
        positive += value[i] > 0;
        largest = value[i] > largest ? value[i] : largest;
    }
    if (!positive)
        return BL_OK;
    int64_t *coarse = malloc(2 * BUCKETS * sizeof *coarse);
    if (!coarse)
        return bl_error_memory(e);
    /* Two arrays in one allocation: the coarse buckets stay for all quantiles. */
    int64_t *fine = coarse + BUCKETS, width = (largest - 1) / (int64_t)BUCKETS + 1;
    buckets_count(value, count, 1, width, coarse);
    for (int q = 0; q < BL_QUANTILES; q++) {
        /* The rank is the share of the values, rounded up. Whole hundreds first: the product cannot overflow. */
        int64_t rank = positive / 100 * percent[q] + (positive % 100 * percent[q] + 99) / 100;
        int64_t first = 1, step = width;
        const int64_t *counts = coarse;
        /* Each turn narrows the range to one bucket, until a bucket is one value. */
        for (;;) {
            first += quantile_find(counts, &rank) * step;
            if (step == 1)
                break;
            step = (step - 1) / (int64_t)BUCKETS + 1;
            buckets_count(value, count, first, step, fine);
            counts = fine;
        }
        out[q] = first;
    }
    free(coarse);
    return BL_OK;
}
