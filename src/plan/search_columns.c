/* Integer solutions from columns. The relaxation uses fractions of patterns. First all are rounded at once, and the
 * remaining lengths are packed separately. If that is not good enough, columns are fixed one after the other, and the
 * relaxation is solved again for the remaining lengths, which can correct earlier rounding. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/colgen.h"
#include "plan/remainder.h"

/* --- rounding --------------------------------------------------------------------------------------------------- */

/* Adds up to `wanted` blocks of a basic column, as far as the lengths last. as: maps its buckets to those of left[] and
 * the patterns, or NULL. */
static int column_use(const struct bl_colgen *g, uint32_t row, double wanted, const uint32_t *as, uint32_t *left,
                      struct bl_patterns *patterns, struct bl_error *e)
{
    const struct bl_master *m = &g->master;
    const struct bl_master_column *c = &m->column[m->basis[row]];
    uint32_t use = wanted < 0 ? 0 : wanted > (double)UINT32_MAX ? UINT32_MAX : (uint32_t)wanted;
    for (uint32_t k = c->first; k < c->first + c->count; k++) {
        uint32_t possible = left[as ? as[m->bucket[k]] : m->bucket[k]] / (uint32_t)m->times[k];
        use = possible < use ? possible : use;
    }
    int code = BL_OK;
    for (uint32_t k = c->first; !code && use > 0 && k < c->first + c->count; k++) {
        uint32_t bucket = as ? as[m->bucket[k]] : m->bucket[k];
        left[bucket] -= use * (uint32_t)m->times[k];
        for (uint32_t i = 0; !code && i < (uint32_t)m->times[k]; i++)
            code = bl_patterns_push(patterns, bucket, e);
    }
    return !code && use > 0 ? bl_patterns_close(patterns, use, e) : code;
}

/* Adds the integer part of every column first, then one more block of those whose fraction is at least `up`; packs the
 * remaining lengths separately. */
static int columns_round(const struct bl_colgen *g, double up, uint32_t *left, struct bl_patterns *patterns,
                         struct bl_error *e)
{
    const struct bl_master *m = &g->master;
    int code = BL_OK;
    for (size_t b = 0; b < g->h->distinct; b++)
        left[b] = bl_histogram_count(g->h, b);
    for (int more = 0; more < 2; more++)
        for (uint32_t r = 0; !code && r < m->rows; r++) {
            double whole = floor(m->amount[r] + 1e-6), fraction = m->amount[r] - whole;
            if (m->basis[r] < BL_SURPLUS && (!more || fraction >= up))
                code = column_use(g, r, more ? 1 : whole, NULL, left, patterns, e);
        }
    if (code)
        return code;
    const struct bl_limits rest = bl_limits_share(g->limits, 1, g->limits->used);
    return bl_search_residual(patterns, g->h, left, &rest, bl_search_greedy, e);
}

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

enum { FIXING_SHARE = 4 }; /* of the work */
#define NEARLY 0.8         /* a fraction of a block from which it is fixed as a whole */

/* Reuses the columns of one relaxation in the next, if all their lengths remain. */
static int fixing_reuse_columns(struct bl_colgen *to, const struct bl_remainder *r, const struct bl_master *from,
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
 * the buckets of the full histogram. */
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
            code = column_use(g, r, floor(m->amount[r] + 1e-6) + (fraction >= up), bucket, left, patterns, e);
        }
    return code;
}

struct fixing {
    const struct bl_histogram *h;
    struct bl_remainder rest;
    uint32_t *left;   /* [distinct of h] */
    uint32_t *bucket; /* [distinct] buckets of h, for the last relaxation */
    struct bl_limits limits;
};

/* Solves the relaxation for the remaining lengths, starts from the columns of the last one, and replaces it. */
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

/* Repeats until no length remains, the remainder provably takes too many blocks, or the work ends. */
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

/* Stores the result in *best if it is better. Consumes the relaxation. */
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
    if (code)
        goto out;
    if (is_fixing && patterns->count > 0 && (int64_t)patterns->blocks > *bound)
        code = fixing_run(&g, patterns, known->blocks, e);
out:
    bl_limits_use(limits, used);
    bl_colgen_free(&g);
    if (code)
        bl_patterns_free(patterns);
    return code;
}
