/* Integer solutions from columns. The relaxation uses fractions of patterns. First all are rounded at once, and the
 * remaining lengths are packed separately. If that is not good enough, columns are fixed one after the other, and the
 * relaxation is solved again for the remaining lengths, which can correct earlier rounding. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/colgen.h"

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
    return bl_search_residual(patterns, g->h, left, g->limits, bl_search_greedy, e);
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

/* --- diving ----------------------------------------------------------------------------------------------------- */

/* The remaining lengths as a histogram. */
struct remainder {
    struct bl_histogram h;
    uint32_t *bucket; /* [distinct of h] bucket in the full histogram */
    uint32_t *at;     /* [distinct of the full histogram] the inverse; NONE if none is left */
};

#define NONE UINT32_MAX
#define NEARLY 0.8 /* a fraction of a block from which it is fixed as a whole */

static int remainder_make(struct remainder *r, const struct bl_histogram *h, struct bl_error *e)
{
    size_t n = h->distinct + 1;
    *r = (struct remainder){.bucket = malloc(n * sizeof *r->bucket), .at = malloc(n * sizeof *r->at)};
    if (!r->bucket || !r->at)
        return bl_error_memory(e);
    return bl_histogram_reserve(&r->h, h->distinct, e);
}

static void remainder_set(struct remainder *r, const struct bl_histogram *h, const uint32_t *left)
{
    r->h.distinct = 0;
    for (size_t b = 0; b < h->distinct; b++) {
        r->at[b] = left[b] ? (uint32_t)r->h.distinct : NONE;
        if (left[b] == 0)
            continue;
        r->bucket[r->h.distinct] = (uint32_t)b;
        bl_histogram_add(&r->h, h->length[b], left[b]);
    }
}

/* Reuses the columns of one relaxation in the next, if all their lengths remain. */
static int remainder_reuse_columns(struct bl_colgen *to, const struct remainder *r, const struct bl_master *from,
                                   const uint32_t *bucket, struct bl_error *e)
{
    int code = BL_OK;
    for (size_t i = 0; !code && i < from->columns; i++) {
        const struct bl_master_column *c = &from->column[i];
        size_t n = 0;
        bool possible = true;
        for (uint32_t k = c->first; k < c->first + c->count; k++)
            possible &= r->at[bucket[from->bucket[k]]] != NONE;
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
static int dive_fix_columns(const struct bl_colgen *g, const uint32_t *bucket, uint32_t *left,
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

struct dive_run {
    const struct bl_histogram *h;
    struct remainder rest;
    uint32_t *left;   /* [distinct of h] */
    uint32_t *bucket; /* [distinct] buckets of h, for the last relaxation */
    struct bl_limits limits;
};

/* Solves the relaxation for the remaining lengths, starts from the columns of the last one, and replaces it. */
static int dive_solve(struct dive_run *d, struct bl_colgen *g, int64_t enough, struct bl_error *e)
{
    struct bl_colgen next;
    remainder_set(&d->rest, d->h, d->left);
    int code = bl_colgen_make(&next, &d->rest.h, &d->limits, e);
    next.work = d->limits.work;
    next.enough = enough;
    if (!code)
        code = remainder_reuse_columns(&next, &d->rest, &g->master, d->bucket, e);
    if (!code)
        code = bl_colgen_run(&next, e);
    d->limits.work = next.work;
    memcpy(d->bucket, d->rest.bucket, d->rest.h.distinct * sizeof *d->bucket);
    bl_colgen_free(g);
    *g = next;
    return code;
}

/* Repeats until no length remains, the remainder provably takes too many blocks, or the work ends. */
static int dive_fix_all(struct dive_run *d, struct bl_colgen *g, size_t most, struct bl_patterns *tried,
                        struct bl_error *e)
{
    int code = BL_OK;
    for (;;) {
        size_t before = tried->blocks;
        code = dive_fix_columns(g, d->bucket, d->left, tried, e);
        remainder_set(&d->rest, d->h, d->left);
        if (code || d->rest.h.distinct == 0 || tried->blocks == before || tried->blocks >= most)
            return code;
        code = dive_solve(d, g, (int64_t)(most - tried->blocks), e);
        if (code || g->bound >= (int64_t)(most - tried->blocks) || d->limits.work <= 0)
            return code;
    }
}

/* Stores the result in *best if it is better. Consumes the relaxation. */
static int dive_run(struct bl_colgen *g, struct bl_patterns *best, size_t known, struct bl_error *e)
{
    size_t n = g->h->distinct, most = best->count && best->blocks < known ? best->blocks : known;
    struct dive_run d = {.h = g->h, .limits = *g->limits};
    struct bl_patterns tried = {0};
    const int64_t given = d.limits.work /= 4;
    d.left = malloc((n + 1) * sizeof *d.left);
    d.bucket = malloc((n + 1) * sizeof *d.bucket);
    int code = d.left && d.bucket ? remainder_make(&d.rest, d.h, e) : bl_error_memory(e);
    if (code)
        goto out;
    for (size_t b = 0; b < n; b++) {
        d.left[b] = bl_histogram_count(d.h, b);
        d.bucket[b] = (uint32_t)b;
    }
    code = dive_fix_all(&d, g, most, &tried, e);
    if (code)
        goto out;
    code = bl_search_residual(&tried, d.h, d.left, g->limits, bl_search_greedy, e);
    if (code)
        goto out;
    if (tried.blocks < most) {
        bl_patterns_free(best);
        *best = tried;
        tried = (struct bl_patterns){0};
    }
out:
    bl_limits_use(&d.limits, given - d.limits.work);
    bl_patterns_free(&tried);
    bl_histogram_free(&d.rest.h);
    free(d.rest.bucket);
    free(d.rest.at);
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
    if (!bl_colgen_is_affordable(h, limits))
        return BL_OK;
    int code = bl_colgen_make(&g, h, limits, e);
    g.bound = *bound;
    g.enough = (int64_t)known->blocks;
    g.work = limits->work;
    for (size_t p = 0; p < known->count && !code; p++)
        code = bl_colgen_offer(&g, known->bucket + known->first[p], known->first[p + 1] - known->first[p], e);
    if (code)
        goto out;
    code = bl_colgen_run(&g, e);
    bl_limits_use(limits, limits->work - g.work);
    if (code)
        goto out;
    for (size_t b = 0; price && b < h->distinct; b++)
        price[b] = g.master.dual[b];
    *bound = g.bound;
    if (g.bound < g.enough)
        code = columns_round_best(&g, patterns, e);
    if (code)
        goto out;
    if (!price && patterns->count > 0 && (int64_t)patterns->blocks > *bound)
        code = dive_run(&g, patterns, known->blocks, e);
out:
    bl_colgen_free(&g);
    if (code)
        bl_patterns_free(patterns);
    return code;
}
