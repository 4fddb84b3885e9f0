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
