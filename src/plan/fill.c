#include "plan/fill.h"
#include "plan/search.h"

#define FILL_ADDRESS(id, name) &bl_fill_ops_##name,
const struct bl_fill_ops *const bl_fills[] = {BL_FILL_LIST(FILL_ADDRESS)};

int bl_fill_prepare_bound(struct bl_subproblem *s, int64_t *bound, const struct bl_limits *limits, struct bl_error *e)
{
    if (s->h.distinct > BL_DISTINCT_MAX) {
        bl_histogram_coarsen(&s->h, BL_DISTINCT_MAX);
        return BL_OK;
    }
    const struct bl_limits some = bl_limits_divide(limits, 8);
    struct bl_patterns patterns = {0};
    int code = bl_search_best(&patterns, bound, &s->h, &some, e);
    bl_patterns_free(&patterns);
    return code;
}

int bl_fill_rest(struct bl_draft *d, const struct bl_lengths *lengths, const struct bl_limits *limits, uint64_t seed,
                 struct bl_error *e)
{
    const struct bl_limits some = bl_limits_divide(limits, 8);
    struct bl_histogram h;
    struct bl_patterns patterns = {0};
    int64_t bound = 0;
    int code = bl_histogram_make(&h, lengths, e);
    if (code)
        return code;
    code = bl_search_best(&patterns, &bound, &h, &some, e);
    if (!code)
        code = bl_draft_patterns(d, &patterns, &h, lengths, seed, e);
    bl_patterns_free(&patterns);
    bl_histogram_free(&h);
    return code;
}
