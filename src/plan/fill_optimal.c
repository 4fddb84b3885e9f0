/* --fill optimal: the best patterns that the search finds; the seed decides which of several equal lengths goes where,
 * the order of the blocks, and the order inside each. */
#include "plan/fill.h"
#include "plan/search.h"

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

static int optimal_draft(struct bl_draft *d, const struct bl_subproblem *s, const struct bl_limits *limits,
                         uint64_t seed, struct bl_error *e)
{
    if (s->by_sequence)
        return bl_draft_bestfit(d, &s->lengths, limits, seed, e);
    return bl_draft_patterns(d, &s->patterns, &s->h, &s->lengths, seed, e);
}

const struct bl_fill_ops bl_fill_ops_optimal = {.prepare = optimal_prepare, .draft = optimal_draft};
