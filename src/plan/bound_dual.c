/* A bound on lengths from the dual prices of their classes.
 *
 * Prices between two classes are interpolated. That is slightly too high where the true prices bend, so lengths that
 * are slightly shorter are tried too. Only lengths up to T / 2 need prices: let W be the worth of the best block of
 * them, and w(r) that of the best within r. A longer length, of which a block has at most one, may cost
 * W - w(T - length). Then no block is worth more than W (Farley), and
 *     blocks >= sum of all prices / W = longs + (sum of the short prices - sum over the longs of w(T - length)) / W. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/bound.h"
#include "plan/knapsack.h"

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
