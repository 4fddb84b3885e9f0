#include "plan/bound.h"

int64_t bl_bound_steps(const struct bl_histogram *h, int64_t T)
{
    int64_t steps = bl_histogram_steps(h);
    return steps / T + (steps % T > 0);
}

int64_t bl_bound_blocks(const struct bl_histogram *h, int64_t T)
{
    int64_t best = bl_bound_steps(h, T);
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
    return best;
}
