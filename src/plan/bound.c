#include "plan/bound.h"

int64_t bl_bound_steps(const struct bl_histogram *h, int64_t T)
{
    int64_t steps = bl_histogram_steps(h);
    return steps / T + (steps % T > 0);
}

/* Of the lengths over T/3 no block holds more than two, and only one of those over T/2. As many of the others as can be
 * go beside these: the longest have the least room, which is offered to the shortest first. */
static int64_t bound_by_matching(const struct bl_histogram *h, int64_t T)
{
    size_t third = bl_histogram_below(h, T / 3), half = bl_histogram_below(h, T / 2), shorter = third;
    int64_t large = h->start[h->distinct] - h->start[half], single = h->start[half] - h->start[third];
    int64_t fitting = 0; /* not yet beside one, among those that have room beside the length in turn */
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
    int64_t room = 0;                                       /* beside those of them that are at most T - K */
    int64_t small = 0;                                      /* steps in lengths from K to T/2 */
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
