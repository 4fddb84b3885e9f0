/* --fill optimal: as few blocks as the search finds. The patterns that it finds make a draft; then the seed decides
 * anew which sequences share a block. */
#include <stdlib.h>

#include "plan/drawing.h"
#include "plan/fill.h"
#include "plan/search.h"
#include "plan/swap.h"

enum {
    EQUAL_ENOUGH = 1000, /* sequences of each length */
    DRAWING_SHARE = 16,  /* of the effort */
};

/* The share of pairs that may meet again, beyond that in a random partition. */
static const double FEW_AGAIN = 0.0005;

/* Keeps patterns for rounded lengths, unless best fit with the exact lengths takes fewer blocks. */
static int optimal_prepare_rounded(struct bl_subproblem *s, int64_t bound, const struct bl_limits *limits,
                                   struct bl_error *e)
{
    size_t blocks;
    int code = bl_search_bestfit_count(&blocks, &s->h, limits, e);
    if (code)
        return code;
    if ((int64_t)blocks > bound) {
        bl_histogram_coarsen(&s->h, BL_DISTINCT_MAX);
        code = bl_search_best(&s->patterns, &bound, &s->h, limits, e);
        if (code || s->patterns.blocks <= blocks)
            return code;
        bl_patterns_free(&s->patterns);
    }
    bl_histogram_free(&s->h);
    s->by_sequence = true;
    return BL_OK;
}

static int optimal_prepare(struct bl_subproblem *s, int64_t *bound, const struct bl_limits *limits, struct bl_error *e)
{
    if (s->h.distinct > BL_DISTINCT_MAX)
        return optimal_prepare_rounded(s, *bound, limits, e);
    return bl_search_best(&s->patterns, bound, &s->h, limits, e);
}

static int optimal_draft_kept(struct bl_draft *d, const struct bl_subproblem *s, const struct bl_limits *limits,
                              uint64_t seed, struct bl_error *e)
{
    return s->by_sequence ? bl_draft_bestfit(d, &s->lengths, limits, seed, e)
                          : bl_draft_patterns(d, &s->patterns, &s->h, &s->lengths, seed, e);
}

/* Counts the pairs in a block that are of equal length, by length. here: [distinct] zeros, and left so. */
static void patterns_count_equal_pairs(const struct bl_patterns *p, double *pairs, uint32_t *here)
{
    for (size_t i = 0; i < p->count; i++) {
        for (uint32_t k = p->first[i]; k < p->first[i + 1]; k++)
            pairs[p->bucket[k]] += (double)p->use[i] * here[p->bucket[k]]++;
        for (uint32_t k = p->first[i]; k < p->first[i + 1]; k++)
            here[p->bucket[k]] = 0;
    }
}

static double pairs_of(double n)
{
    return n * (n - 1) / 2;
}

/* Whether hardly a pair meets again, although the patterns stay: so many sequences are of equal length, and those of
 * one length are not together in few blocks. */
static int subproblem_find_mixed(const struct bl_subproblem *s, bool *is_mixed, struct bl_error *e)
{
    const struct bl_patterns *p = &s->patterns;
    const struct bl_histogram *h = &s->h;
    *is_mixed = false;
    if (s->by_sequence || h->start[h->distinct] / (h->distinct + 1) < EQUAL_ENOUGH)
        return BL_OK;
    double *pairs = calloc(h->distinct, sizeof *pairs), all = 0, again = 0;
    uint32_t *here = calloc(h->distinct, sizeof *here);
    int code = pairs && here ? BL_OK : bl_error_memory(e);
    if (!code)
        patterns_count_equal_pairs(p, pairs, here);
    for (size_t i = 0; i < p->count; i++)
        all += p->use[i] * pairs_of(p->first[i + 1] - p->first[i]);
    for (size_t b = 0; !code && b < h->distinct; b++)
        again += pairs[b] > 0 ? pairs[b] * pairs[b] / pairs_of(bl_histogram_count(h, b)) : 0;
    *is_mixed = again <= all * (all / pairs_of(h->start[h->distinct]) + FEW_AGAIN);
    free(pairs);
    free(here);
    return code;
}

/* Replaces the blocks from `first` on by drawn ones, or by others of the same patterns. */
static int optimal_draw(struct bl_draft *d, size_t first, const struct bl_subproblem *s, const struct bl_limits *limits,
                        size_t wanted, uint64_t seed, enum bl_drawn *drawn, struct bl_error *e)
{
    static const double longest[] = {1, 0.75};
    const struct bl_limits some = bl_limits_divide(limits, DRAWING_SHARE);
    struct bl_drawing g = {.lengths = &s->lengths, .limits = &some, .blocks = wanted, .seed = seed};
    int code = BL_OK;
    *drawn = BL_DRAWN_NOT;
    for (size_t i = 0; !code && *drawn != BL_DRAWN && i < sizeof longest / sizeof *longest; i++) {
        g.longest = (int64_t)(longest[i] * (double)limits->T);
        code = bl_drawing_make(d, first, &g, drawn, e);
        if (code || *drawn != BL_DRAWN_SPOILT)
            continue;
        d->blocks = first;
        d->pieces = d->first[first];
        code = optimal_draft_kept(d, s, limits, seed, e);
    }
    return code;
}

static int optimal_draft(struct bl_draft *d, const struct bl_subproblem *s, const struct bl_limits *limits,
                         const struct bl_wanted *wanted, uint64_t seed, struct bl_error *e)
{
    size_t first = d->blocks, pieces = d->pieces;
    int code = optimal_draft_kept(d, s, limits, seed, e);
    if (code)
        return code;
    size_t blocks = bl_wanted_blocks(wanted, d->blocks - first, d->pieces - pieces);
    enum bl_drawn drawn = BL_DRAWN_NOT;
    bool is_fixed = limits->sequences == 1 || blocks < 2;
    if (!is_fixed)
        code = subproblem_find_mixed(s, &is_fixed, e);
    if (!code && !is_fixed)
        code = optimal_draw(d, first, s, limits, blocks, seed, &drawn, e);
    if (!code)
        code = bl_ranks_split(d, first, first + blocks, e);
    if (!code && !is_fixed)
        code = bl_swap_sequences(d, first, &s->lengths, limits->T, NULL, drawn == BL_DRAWN, seed, e);
    return code;
}

const struct bl_fill_ops bl_fill_ops_optimal = {.prepare = optimal_prepare, .draft = optimal_draft};
