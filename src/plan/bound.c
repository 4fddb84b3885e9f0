#include "plan/bound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/colgen.h"

/* --- bounds by lengths -------------------------------------------------------------------------------------------- */

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

/* --- bounds by dual prices ---------------------------------------------------------------------------------------- */

/* A bound on lengths from the dual prices of their classes.
 *
 * Prices between two classes are interpolated. That is slightly too high where the true prices bend, so lengths that
 * are slightly shorter are tried too. Only lengths up to T / 2 need prices: let W be the worth of the best block of
 * them, and w(r) that of the best within r. A longer length, of which a block has at most one, may cost
 * W - w(T - length). Then no block is worth more than W (Farley), and
 *     blocks >= sum of all prices / W = longs + (sum of the short prices - sum over the longs of w(T - length)) / W. */

__extension__ typedef unsigned __int128 u128;

enum {
    PLACES = 16384, /* per T, for lengths rounded down */
    SHIFTS = 4,
};

#define SHIFT 0.3 /* in places of the classes */
#define WORTH_EXACT 9007199254740992.0

/* Converts lengths to places; lengths that round to 0 are left out. */
static int lengths_round_down(struct bl_histogram *to, const struct bl_histogram *h, int64_t T, uint32_t places,
                              struct bl_error *e)
{
    int code = bl_histogram_reserve(to, places, e);
    for (size_t b = 0; !code && b < h->distinct; b++) {
        uint32_t length = (uint32_t)((uint64_t)h->length[b] * places / (uint64_t)T);
        if (length > 0)
            bl_histogram_add(to, length, bl_histogram_count(h, b));
    }
    return code;
}

/* Computes integer prices for all lengths of the histogram, whose places are `scale` places of the classes. */
static void prices_interpolate(double *price, const struct bl_histogram *h, double scale, double shift,
                               const struct bl_histogram *classes, const double *known)
{
    double low = 0, low_price = 0;
    size_t c = 0;
    for (size_t b = 0; b < h->distinct; b++) {
        double at = fmax(h->length[b] * scale - shift, 0), worth;
        for (; c < classes->distinct && classes->length[c] <= at; c++) {
            low = classes->length[c];
            low_price = known[c] > low_price ? known[c] : low_price;
        }
        worth = low_price;
        if (c < classes->distinct && known[c] > low_price)
            worth += (known[c] - low_price) * (at - low) / (classes->length[c] - low);
        price[b] = worth <= 0 ? 0 : floor((worth < 1 ? worth : 1) * BL_PRICE_ONE);
    }
}

static int64_t dual_bound_value(const struct bl_histogram *h, const struct bl_knapsack *k)
{
    double most = k->worth[k->T];
    u128 shorts = 0, taken = 0;
    int64_t longs = (int64_t)h->start[h->distinct] - h->start[k->h->distinct];
    if (!(most > 0 && most < WORTH_EXACT))
        return longs;
    for (size_t b = 0; b < h->distinct; b++) {
        if (b < k->h->distinct)
            shorts += (u128)bl_histogram_count(h, b) * (uint64_t)k->price[b];
        else
            taken += (u128)bl_histogram_count(h, b) * (uint64_t)k->worth[k->T - h->length[b]];
    }
    return shorts <= taken ? longs : longs + (int64_t)((shorts - taken + (uint64_t)most - 1) / (uint64_t)most);
}

int bl_bound_dual(int64_t *bound, const struct bl_histogram *h, int64_t T, const struct bl_histogram *classes,
                  uint32_t places, const double *price, int64_t *used, struct bl_error *e)
{
    uint32_t capacity = T < PLACES ? (uint32_t)T : PLACES;
    struct bl_histogram rounded, half;
    struct bl_knapsack k = {0};
    int code = lengths_round_down(&rounded, h, T, capacity, e);
    half = rounded;
    if (!code)
        half.distinct = bl_histogram_below(&rounded, capacity / 2);
    if (!code && half.distinct > 0)
        code = bl_knapsack_make(&k, &half, capacity, UINT32_MAX, false, e);
    for (int s = 0; !code && half.distinct > 0 && s < SHIFTS; s++) {
        prices_interpolate(k.price, &half, (double)places / capacity, s * SHIFT, classes, price);
        bl_knapsack_solve(&k);
        *used += bl_knapsack_work(&half, capacity, UINT32_MAX, false);
        int64_t proven = dual_bound_value(&rounded, &k);
        *bound = proven > *bound ? proven : *bound;
    }
    bl_knapsack_free(&k);
    bl_histogram_free(&rounded);
    return code;
}
