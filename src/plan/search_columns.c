/* Makes integer solutions from the columns of the linear relaxation, by rounding and by fixing.
 *
 * The relaxation says, for example, 2.5 blocks of {6 4} and 1.5 of {6 2 2}. Rounding takes 2 and 1 of them and packs
 * the remaining lengths separately. Where that costs a block, columns are fixed step by step, and the relaxation is
 * solved again after each step. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/histogram.h"
#include "plan/colgen.h"
#include "plan/search.h"

/* --- columns ------------------------------------------------------------------------------------------------------ */

/* The relaxation uses fractions of patterns. First all columns are rounded at once, and the remaining lengths are
 * packed separately. If more blocks than the bound remain, columns are fixed one after the other, and the relaxation is
 * solved again for the remaining lengths, which can correct earlier rounding. */

/* --- rounding --------------------------------------------------------------------------------------------------- */

/* Adds up to `wanted` blocks of the basic column of a row. The fraction of `wanted` is cut off, and numbers outside
 * uint32_t are limited, since rounding errors can make them negative. */
static int column_use_basic(const struct bl_colgen *g, uint32_t row, double wanted, const uint32_t *as, uint32_t *left,
                            struct bl_patterns *patterns, struct bl_error *e)
{
    const struct bl_master *m = &g->master;
    uint32_t use = wanted < 0 ? 0 : wanted > (double)UINT32_MAX ? UINT32_MAX : (uint32_t)wanted;
    return bl_master_use(m, &m->column[m->basis[row]], use, as, left, patterns, e);
}

/* Adds the integer part of every column first, then one more block of those whose fraction is at least `up`; packs the
 * remaining lengths separately. left: [distinct], overwritten. BL_EFAIL: out of memory; the caller frees *patterns. */
static int columns_round(const struct bl_colgen *g, double up, uint32_t *left, struct bl_patterns *patterns,
                         struct bl_error *e)
{
    const struct bl_master *m = &g->master;
    int code = BL_OK;
    for (size_t b = 0; b < g->h->distinct; b++)
        left[b] = bl_histogram_count(g->h, b);
    for (int more = 0; more < 2; more++)
        for (uint32_t r = 0; !code && r < m->rows; r++) {
            /* 2.9999999 is 3 with a rounding error. */
            double whole = floor(m->amount[r] + 1e-6), fraction = m->amount[r] - whole;
            if (m->basis[r] < BL_SURPLUS && (!more || fraction >= up))
                code = column_use_basic(g, r, more ? 1 : whole, NULL, left, patterns, e);
        }
    if (code)
        return code;
    const struct bl_limits rest = bl_limits_share(g->limits, 1, g->limits->used);
    return bl_search_residual(patterns, g->h, left, &rest, bl_search_greedy, e);
}

/* Rounds with several thresholds and keeps the fewest blocks: a high threshold leaves more to the greedy search, a low
 * one takes blocks that lengths may be missing for. */
static int columns_round_best(struct bl_colgen *g, struct bl_patterns *best, struct bl_error *e)
{
    static const double up[] = {1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2};
    uint32_t *left = malloc((g->h->distinct + 1) * sizeof *left);
    int code = left ? BL_OK : bl_error_memory(e);
    for (size_t i = 0; !code && i < sizeof up / sizeof *up; i++) {
        struct bl_patterns tried = {0};
        code = columns_round(g, up[i], left, &tried, e);
        if (code)
            bl_patterns_free(&tried);
        bl_patterns_keep_fewer(best, &tried);
        if ((int64_t)best->blocks == g->bound)
            break;
    }
    free(left);
    return code;
}

/* --- fixing one by one ------------------------------------------------------------------------------------------ */

enum { FIXING_SHARE = 4 }; /* fixing has a fourth of the work */
#define NEARLY 0.8         /* a fraction of a block from which it is fixed as a whole */

/* Adds the columns of one relaxation to the next if all their lengths remain. bucket: buckets in the full histogram, by
 * bucket of *from. A column of one length is left out, since a relaxation begins with these. */
static int fixing_reuse_columns(struct bl_colgen *to, const struct bl_remaining *r, const struct bl_master *from,
                                const uint32_t *bucket, struct bl_error *e)
{
    int code = BL_OK;
    for (size_t i = 0; !code && i < from->columns; i++) {
        const struct bl_master_column *c = &from->column[i];
        size_t n = 0;
        bool possible = true;
        for (uint32_t k = c->first; k < c->first + c->count; k++)
            possible &= r->at[bucket[from->bucket[k]]] != BL_REMAINDER_NONE;
        for (uint32_t k = c->first; possible && k < c->first + c->count; k++)
            for (int times = (int)from->times[k]; times > 0 && n < to->item_capacity; times--)
                to->item[n++] = r->at[bucket[from->bucket[k]]];
        if (possible && c->count > 1)
            code = bl_master_add(&to->master, to->item, n, e);
    }
    return code;
}

/* Fixes the columns with nearly integer values, at least one: adds them to patterns and takes them from left[], both by
 * the buckets of the full histogram. The second round, if the first fixed nothing, fixes the column with the highest
 * fraction. */
static int fixing_use_columns(const struct bl_colgen *g, const uint32_t *bucket, uint32_t *left,
                              struct bl_patterns *patterns, struct bl_error *e)
{
    const struct bl_master *m = &g->master;
    size_t before = patterns->blocks;
    double up = NEARLY, most = 0;
    int code = BL_OK;
    for (int again = 0; !code && again < 2 && patterns->blocks == before; again++, up = most)
        for (uint32_t r = 0; !code && r < m->rows && (again == 0 || patterns->blocks == before); r++) {
            double fraction = m->amount[r] - floor(m->amount[r] + 1e-6);
            if (m->basis[r] >= BL_SURPLUS)
                continue;
            most = fraction > most ? fraction : most;
            code = column_use_basic(g, r, floor(m->amount[r] + 1e-6) + (fraction >= up), bucket, left, patterns, e);
        }
    return code;
}

/* The state of fixing columns. It owns the arrays and the remainder. */
struct fixing {
    const struct bl_histogram *h;
    struct bl_remaining rest;
    uint32_t *left;   /* [distinct of h] */
    uint32_t *bucket; /* [distinct] buckets of h, for the last relaxation */
    struct bl_limits limits;
};

/* Solves the relaxation for the remaining lengths, starting with the columns of the last one, and replaces *g. enough:
 * blocks from which a bound ends the search. BL_EFAIL: out of memory; *g must still be freed. */
static int fixing_solve(struct fixing *d, struct bl_colgen *g, int64_t enough, struct bl_error *e)
{
    struct bl_colgen next;
    bl_remainder_set(&d->rest, d->h, d->left);
    int code = bl_colgen_make(&next, &d->rest.h, &d->limits, false, 0, e);
    next.work = d->limits.work;
    next.enough = enough;
    if (!code)
        code = fixing_reuse_columns(&next, &d->rest, &g->master, d->bucket, e);
    if (!code)
        code = bl_colgen_run(&next, e);
    d->limits.work = next.work;
    memcpy(d->bucket, d->rest.bucket, d->rest.h.distinct * sizeof *d->bucket);
    bl_colgen_free(g);
    *g = next;
    return code;
}

/* Fixes columns and solves the relaxation again, until no length remains, the remainder provably takes too many blocks,
 * or the work ends. most: blocks that a solution must stay below. */
static int fixing_repeat(struct fixing *d, struct bl_colgen *g, size_t most, struct bl_patterns *tried,
                         struct bl_error *e)
{
    int code = BL_OK;
    for (;;) {
        size_t before = tried->blocks;
        code = fixing_use_columns(g, d->bucket, d->left, tried, e);
        bl_remainder_set(&d->rest, d->h, d->left);
        if (code || d->rest.h.distinct == 0 || tried->blocks == before || tried->blocks >= most)
            return code;
        code = fixing_solve(d, g, (int64_t)(most - tried->blocks), e);
        if (code || g->bound >= (int64_t)(most - tried->blocks) || d->limits.work <= 0)
            return code;
    }
}

/* Fixes columns step by step, and stores the solution in *best if it has fewer blocks. Changes *g to the last
 * relaxation. */
static int fixing_run(struct bl_colgen *g, struct bl_patterns *best, size_t known, struct bl_error *e)
{
    size_t n = g->h->distinct, most = best->count && best->blocks < known ? best->blocks : known;
    const struct bl_limits *limits = g->limits;
    struct fixing d = {.h = g->h, .limits = bl_limits_share(limits, FIXING_SHARE, limits->used)};
    struct bl_patterns tried = {0};
    const int64_t given = d.limits.work;
    d.left = malloc((n + 1) * sizeof *d.left);
    d.bucket = malloc((n + 1) * sizeof *d.bucket);
    int code = d.left && d.bucket ? bl_remainder_make(&d.rest, d.h, e) : bl_error_memory(e);
    if (code)
        goto out;
    for (size_t b = 0; b < n; b++) {
        d.left[b] = bl_histogram_count(d.h, b);
        d.bucket[b] = (uint32_t)b;
    }
    code = fixing_repeat(&d, g, most, &tried, e);
    bl_limits_use(&d.limits, given - d.limits.work);
    if (code)
        goto out;
    d.limits = bl_limits_share(limits, 1, limits->used);
    code = bl_search_residual(&tried, d.h, d.left, &d.limits, bl_search_greedy, e);
    if (code)
        goto out;
    if (tried.blocks < most) {
        bl_patterns_free(best);
        *best = tried;
        tried = (struct bl_patterns){0};
    }
out:
    bl_patterns_free(&tried);
    bl_remainder_free(&d.rest);
    free(d.left);
    free(d.bucket);
    return code;
}

/* ---------------------------------------------------------------------------------------------------------------- */

int bl_search_columns(struct bl_patterns *patterns, int64_t *bound, const struct bl_histogram *h,
                      const struct bl_patterns *known, const struct bl_limits *limits, double *price,
                      struct bl_error *e)
{
    struct bl_colgen g;
    *patterns = (struct bl_patterns){0};
    if (price)
        memset(price, 0, h->distinct * sizeof *price);
    if (limits->without & BL_SEARCH_COLUMNS || !bl_colgen_is_affordable(h, limits, false))
        return BL_OK;
    int64_t used = 0;
    const struct bl_limits own = bl_limits_share(limits, 1, &used);
    const bool is_fixing = !price && !(limits->without & BL_SEARCH_FIXING);
    const int64_t work = limits->work - (is_fixing ? limits->work / FIXING_SHARE : 0);
    int code = bl_colgen_make(&g, h, &own, false, 0, e);
    g.bound = *bound;
    g.enough = (int64_t)known->blocks;
    g.work = work;
    for (size_t p = 0; p < known->count && !code; p++)
        code = bl_colgen_offer(&g, known->bucket + known->first[p], known->first[p + 1] - known->first[p], e);
    if (code)
        goto out;
    code = bl_colgen_run(&g, e);
    used = work - g.work;
    if (code)
        goto out;
    for (size_t b = 0; price && b < h->distinct; b++)
        price[b] = g.master.dual[b];
    *bound = g.bound;
    if (g.bound < g.enough)
        code = columns_round_best(&g, patterns, e);
    if (!code && is_fixing && patterns->count > 0 && (int64_t)patterns->blocks > *bound)
        code = fixing_run(&g, patterns, known->blocks, e);
out:
    bl_limits_use(limits, used);
    bl_colgen_free(&g);
    if (code)
        bl_patterns_free(patterns);
    return code;
}

/* --- bounds by dual prices ---------------------------------------------------------------------------------------- */

/* The dual prices of classes of lengths give a bound on the lengths. */

__extension__ typedef unsigned __int128 u128;

enum {
    PLACES = 16384, /* places of a block: lengths are rounded down to them, which keeps the bound valid */
    SHIFTS = 4,     /* prices of lengths that are 0, 1, 2 and 3 SHIFTs shorter are tried */
};

#define SHIFT 0.3                      /* places of the classes */
#define WORTH_EXACT 9007199254740992.0 /* 2^53: integers up to it are exact in a double */

/* Makes the histogram of the lengths in places, rounded down; lengths that round to 0 are left out. The caller frees
 * *to. */
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

/* Returns the bound that the prices in *k prove, by the formula above. h: all lengths in places; the buckets of k->h
 * are the short ones. If the worth is 0 or not exact, only the long lengths count. The sums need 128 bits. */
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
        /* The price of a length is interpolated between those of its neighbouring classes, and rounded down to an
         * integer, since the knapsack adds integers exactly. */
        double low = 0, low_price = 0, scale = (double)places / capacity;
        size_t c = 0;
        for (size_t b = 0; b < half.distinct; b++) {
            double at = fmax(half.length[b] * scale - s * SHIFT, 0), worth;
            for (; c < classes->distinct && classes->length[c] <= at; c++) {
                low = classes->length[c];
                low_price = price[c] > low_price ? price[c] : low_price;
            }
            worth = low_price;
            if (c < classes->distinct && price[c] > low_price)
                worth += (price[c] - low_price) * (at - low) / (classes->length[c] - low);
            k.price[b] = worth <= 0 ? 0 : floor((worth < 1 ? worth : 1) * BL_PRICE_ONE);
        }
        bl_knapsack_solve(&k);
        *used += bl_knapsack_work(&half, capacity, UINT32_MAX, false);
        int64_t proven = dual_bound_value(&rounded, &k);
        *bound = proven > *bound ? proven : *bound;
    }
    bl_knapsack_free(&k);
    bl_histogram_free(&rounded);
    return code;
}
