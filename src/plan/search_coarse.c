/* Rounds lengths to units and expands the patterns. A pattern in units becomes patterns of lengths: each unit takes the
 * lengths that were rounded to it, in order. Blocks that remain badly filled are dissolved, and their lengths are
 * packed again without rounding. */
#include <stdlib.h>

#include "plan/search.h"

enum { UNITS = 2048 };

struct coarse {
    struct bl_histogram h; /* lengths in units */
    uint32_t *begin;       /* [distinct+1] first bucket of the fine histogram for each unit */
    uint32_t T;            /* units */
};

static int coarse_make(struct coarse *c, const struct bl_histogram *fine, uint32_t T, uint32_t unit, struct bl_error *e)
{
    *c = (struct coarse){.T = T / unit};
    c->begin = malloc((c->T + 2) * sizeof *c->begin);
    int code = c->begin ? bl_histogram_reserve(&c->h, c->T, e) : bl_error_memory(e);
    if (code)
        return code;
    for (size_t b = 0; b < fine->distinct; b++) {
        uint32_t units = (uint32_t)(((uint64_t)fine->length[b] + unit - 1) / unit);
        size_t before = c->h.distinct;
        if (bl_histogram_count(fine, b) == 0)
            continue;
        /* A length that exceeds T when rounded up gets a block alone. */
        bl_histogram_add(&c->h, units < c->T ? units : c->T, bl_histogram_count(fine, b));
        if (c->h.distinct > before)
            c->begin[before] = (uint32_t)b;
    }
    c->begin[c->h.distinct] = (uint32_t)fine->distinct;
    return BL_OK;
}

struct expansion {
    const struct coarse *coarse;
    uint32_t *left;   /* [fine buckets] */
    uint32_t *cursor; /* [coarse buckets] the fine bucket to take next */
};

/* Adds the pattern, as often as each of its lengths lasts; only once if two lengths come from the same unit. */
static int expansion_add_pattern(struct expansion *x, const struct bl_patterns *units, size_t p, uint32_t *use,
                                 struct bl_patterns *patterns, struct bl_error *e)
{
    uint32_t times = *use;
    size_t first = patterns->entries;
    int code = BL_OK;
    for (uint32_t k = units->first[p]; k < units->first[p + 1]; k++)
        if (k > units->first[p] && units->bucket[k] == units->bucket[k - 1])
            times = 1;
    for (uint32_t k = units->first[p]; !code && k < units->first[p + 1]; k++) {
        uint32_t b = units->bucket[k];
        while (x->left[x->cursor[b]] == 0)
            x->cursor[b]++;
        uint32_t fine = x->cursor[b];
        x->left[fine]--; /* the first of `times`, so that a repeated unit continues with the next length */
        code = bl_patterns_push(patterns, fine, e);
    }
    for (size_t k = first; !code && k < patterns->entries; k++) {
        uint32_t more = x->left[patterns->bucket[k]] + 1;
        times = more < times ? more : times;
    }
    for (size_t k = first; !code && k < patterns->entries; k++)
        x->left[patterns->bucket[k]] -= times - 1;
    *use -= times;
    if (code)
        return code;
    return bl_patterns_close(patterns, times, e);
}

/* Expands the patterns. Blocks with more than `slack` units left are packed again. */
static int coarse_expand(const struct coarse *c, const struct bl_patterns *units, uint32_t slack,
                         const struct bl_histogram *h, const struct bl_limits *limits, struct bl_patterns *patterns,
                         struct bl_error *e)
{
    struct expansion x = {c, malloc((h->distinct + 1) * sizeof *x.left), malloc((c->T + 2) * sizeof *x.cursor)};
    int code = x.left && x.cursor ? BL_OK : bl_error_memory(e);
    for (size_t b = 0; !code && b < h->distinct; b++)
        x.left[b] = bl_histogram_count(h, b);
    for (size_t b = 0; !code && b < c->h.distinct; b++)
        x.cursor[b] = c->begin[b];
    for (size_t p = 0; !code && p < units->count; p++) {
        uint32_t filled = 0;
        for (uint32_t k = units->first[p]; k < units->first[p + 1]; k++)
            filled += c->h.length[units->bucket[k]];
        uint32_t use = filled + slack >= c->T ? units->use[p] : 0;
        while (!code && use > 0)
            code = expansion_add_pattern(&x, units, p, &use, patterns, e);
    }
    if (!code)
        code = bl_search_residual(patterns, h, x.left, limits, bl_search_greedy, e);
    free(x.left);
    free(x.cursor);
    return code;
}

static int coarse_expand_best(const struct coarse *c, const struct bl_patterns *units, const struct bl_histogram *h,
                              const struct bl_limits *limits, struct bl_patterns *best, struct bl_error *e)
{
    int code = BL_OK;
    for (uint32_t part = UNITS; !code && part > 0; part /= 8) {
        struct bl_patterns tried = {0};
        code = coarse_expand(c, units, c->T / part, h, limits, &tried, e);
        if (code)
            bl_patterns_free(&tried);
        bl_patterns_keep_fewer(best, &tried);
    }
    return code;
}

int bl_search_coarse(struct bl_patterns *patterns, const struct bl_histogram *h, const struct bl_limits *limits,
                     struct bl_error *e)
{
    *patterns = (struct bl_patterns){0};
    uint32_t unit = (uint32_t)(limits->T / UNITS);
    if (limits->without & BL_SEARCH_COARSE || unit < 2)
        return BL_OK;
    struct coarse c;
    struct bl_patterns units = {0}, known = {0};
    int code = coarse_make(&c, h, (uint32_t)limits->T, unit, e);
    int64_t used = 0;
    struct bl_limits in_units = bl_limits_share(limits, 1, &used), rest;
    in_units.T = c.T;
    int64_t bound = 0; /* of the lengths in units: unused */
    if (code)
        goto out;
    code = bl_search_bestfit(&known, &c.h, &in_units, e);
    if (code)
        goto out;
    code = bl_search_columns(&units, &bound, &c.h, &known, &in_units, NULL, e);
    if (code)
        goto out;
    rest = bl_limits_share(limits, 1, &used);
    if (units.count > 0)
        code = coarse_expand_best(&c, &units, h, &rest, patterns, e);
out:
    bl_limits_use(limits, used);
    bl_patterns_free(&units);
    bl_patterns_free(&known);
    bl_histogram_free(&c.h);
    free(c.begin);
    if (code)
        bl_patterns_free(patterns);
    return code;
}
