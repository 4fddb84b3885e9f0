#include "kind/array/array.h"

#include "unit.h"

UNIT_TEST(times_become_the_nearest_rows)
{
    static const struct {
        double seconds;
        struct bl_rational rate;
        int64_t row;
    } known[] = {{0, {25, 1}, 0},
                 {0.019, {25, 1}, 0},
                 {0.02, {25, 1}, 1},
                 {0.1, {25, 1}, 3},
                 {0.5, {25, 1}, 13},
                 {0.7, {100, 1}, 70},
                 {0.29, {100, 1}, 29},
                 {1.005, {100, 1}, 101},
                 {10, {30000, 1001}, 300},
                 {1001, {30000, 1001}, 30000},
                 {1e9, {1000, 1}, (int64_t)1e12}};
    for (size_t i = 0; i < COUNT(known); i++)
        ck_assert_msg(bl_segment_row(known[i].seconds, known[i].rate) == known[i].row, "%zu", i);
}
