#include "base/quantile.h"

#include <stdlib.h>

#include "unit.h"

static int value_compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* The definition: the smallest value such that at least so many percent are not larger. */
static int64_t nearest_rank(const int64_t *sorted, size_t count, int percent)
{
    for (size_t i = 0; i < count; i++) {
        if ((int64_t)(i + 1) * 100 >= (int64_t)count * percent)
            return sorted[i];
    }
    return 0;
}

UNIT_TEST(they_are_the_values_of_their_ranks)
{
    static const int64_t limits[] = {1, 9, 65536, 65537, 1000000, INT64_C(1) << 31, INT64_C(1) << 40, INT64_MAX};
    static const int percent[BL_QUANTILES] = {1, 10, 50, 90, 99, 100};
    int64_t value[700], sorted[700], out[BL_QUANTILES];
    uint64_t state = 1;
    for (size_t l = 0; l < COUNT(limits); l++) {
        for (size_t count = 1; count <= COUNT(value); count += count < 110 ? 1 : 97) {
            size_t positive = 0;
            for (size_t i = 0; i < count; i++) {
                state = state * 6364136223846793005U + 1442695040888963407U;
                value[i] = (int64_t)((state >> 1) % (uint64_t)limits[l]) + (i % 5 != 4);
                if (value[i] > 0)
                    sorted[positive++] = value[i];
            }
            qsort(sorted, positive, sizeof *sorted, value_compare);
            ck_assert_int_eq(bl_quantiles(value, count, out, &e), BL_OK);
            for (int q = 0; q < BL_QUANTILES; q++)
                ck_assert_int_eq(out[q], nearest_rank(sorted, positive, percent[q]));
        }
    }
}

UNIT_TEST(without_values_they_are_0)
{
    static const int64_t value[] = {0, -1, 0};
    int64_t out[BL_QUANTILES] = {7, 7, 7, 7, 7, 7};
    ck_assert_int_eq(bl_quantiles(value, 3, out, &e), BL_OK);
    for (int q = 0; q < BL_QUANTILES; q++)
        ck_assert_int_eq(out[q], 0);
}
