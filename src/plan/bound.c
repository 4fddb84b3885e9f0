#include "plan/bound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int64_t bl_bound_steps(const struct bl_histogram *h, int64_t T)
{
    int64_t steps = bl_histogram_steps(h);
    return steps / T + (steps % T > 0);
}

/* A block holds at most two lengths over T/3, and only one over T/2. Counts how many of the others can share a block
 * with those over T/2: the longest have the least room, so they choose first, among the shortest. */
static int64_t bound_by_matching(const struct bl_histogram *h, int64_t T)
{
    size_t third = bl_histogram_below(h, T / 3), half = bl_histogram_below(h, T / 2), shorter = third;
    int64_t large = h->start[h->distinct] - h->start[half], single = h->start[half] - h->start[third];
    int64_t fitting = 0; /* unmatched lengths that fit beside the present length */
    for (size_t b = h->distinct; b-- > half;) {
        int64_t count = bl_histogram_count(h, b);
        for (; shorter < half && h->length[shorter] <= T - h->length[b]; shorter++)
            fitting += bl_histogram_count(h, shorter);
        int64_t pairs = fitting < count ? fitting : count;
        fitting -= pairs;
        single -= pairs;
    }
    return large + (single + 1) / 2;
}

int64_t bl_bound_blocks(const struct bl_histogram *h, int64_t T)
{
    int64_t best = bl_bound_steps(h, T), pairs = bound_by_matching(h, T);
    size_t half = bl_histogram_below(h, T / 2);
    int64_t large = h->start[h->distinct] - h->start[half]; /* lengths over T/2 */
    int64_t room = 0;                                       /* beside the large lengths of at most T - K */
    int64_t small = 0;                                      /* steps of the lengths from K to T/2 */
    size_t beside = half;
    if (large > best)
        best = large;
    for (size_t b = half; b-- > 0;) {
        int64_t K = h->length[b];
        small += K * bl_histogram_count(h, b);
        for (; beside < h->distinct && h->length[beside] <= T - K; beside++)
            room += (T - h->length[beside]) * bl_histogram_count(h, beside);
        int64_t over = small > room ? small - room : 0;
        int64_t blocks = large + over / T + (over % T > 0);
        if (blocks > best)
            best = blocks;
    }
    return pairs > best ? pairs : best;
}

int bl_bound_lengths(int64_t *bound, const struct bl_lengths *lengths, const struct bl_histogram *h, int64_t T,
                     int64_t max_sequences, struct bl_error *e)
{
    int64_t by_number = ((int64_t)h->start[h->distinct] + max_sequences - 1) / max_sequences;
    int64_t by_units = bl_bound_blocks(h, (T + lengths->unit - 1) / lengths->unit);
    *bound = by_number > by_units ? by_number : by_units;
    if (T % lengths->unit == 0)
        return BL_OK;
    struct bl_lengths steps = *lengths;
    struct bl_histogram of_steps;
    steps.unit = 1;
    steps.cap = T;
    int code = bl_histogram_make(&of_steps, &steps, e);
    if (code)
        return code;
    int64_t by_steps = bl_bound_blocks(&of_steps, T);
    *bound = by_steps > *bound ? by_steps : *bound;
    bl_histogram_free(&of_steps);
    return BL_OK;
}
