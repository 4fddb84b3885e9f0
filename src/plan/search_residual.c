#include <stdlib.h>

#include "plan/search.h"

int bl_search_residual(struct bl_patterns *patterns, const struct bl_histogram *h, const uint32_t *left,
                       const struct bl_limits *limits, bl_search_function *fill, struct bl_error *e)
{
    struct bl_histogram rest = {h->distinct, h->length, malloc((h->distinct + 1) * sizeof *rest.start)};
    struct bl_patterns added = {0};
    int code = BL_OK;
    if (!rest.start)
        return bl_error_memory(e);
    uint32_t sum = 0;
    for (size_t b = 0; b < h->distinct; b++) {
        rest.start[b] = sum;
        sum += left[b];
    }
    rest.start[h->distinct] = sum;
    if (sum)
        code = fill(&added, &rest, limits, e);
    if (!code)
        code = bl_patterns_append(patterns, &added, 0, added.count, NULL, e);
    bl_patterns_free(&added);
    free(rest.start);
    return code;
}

int bl_search_either(struct bl_patterns *patterns, const struct bl_histogram *h, const struct bl_limits *limits,
                     bl_search_function *first, bl_search_function *second, struct bl_error *e)
{
    const struct bl_limits some = bl_limits_divide(limits, 8);
    struct bl_patterns other;
    int code = first(patterns, h, limits, e);
    if (code)
        return code;
    code = second(&other, h, &some, e);
    bl_patterns_keep_fewer(patterns, &other);
    if (code)
        bl_patterns_free(patterns);
    return code;
}
