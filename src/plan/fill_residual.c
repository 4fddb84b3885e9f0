#include <stdlib.h>

#include "plan/fill.h"

static void patterns_keep_fewer(struct bl_patterns *best, struct bl_patterns *other)
{
    if (other->count > 0 && other->blocks < best->blocks) {
        struct bl_patterns worse = *best;
        *best = *other;
        *other = worse;
    }
    bl_patterns_free(other);
}

static int residual_fill_best(struct bl_patterns *best, const struct bl_histogram *rest,
                              const struct bl_fill_limits *limits, enum bl_rest how, struct bl_error *e)
{
    struct bl_patterns other = {0};
    struct bl_fill_limits some = {limits->T, limits->sequences, limits->work / 16};
    int code = bl_fill_bestfit(best, rest, limits, e);
    if (code == 0 && how >= BL_REST_SLACK) {
        code = bl_fill_min_slack(&other, rest, &some, e);
        patterns_keep_fewer(best, &other);
    }
    if (code == 0 && how >= BL_REST_COARSE) {
        code = bl_fill_coarse(&other, rest, &some, e);
        patterns_keep_fewer(best, &other);
    }
    return code;
}

int bl_fill_residual(struct bl_patterns *patterns, const struct bl_histogram *h, const uint32_t *left,
                     const struct bl_fill_limits *limits, enum bl_rest how, struct bl_error *e)
{
    struct bl_histogram rest = {h->distinct, h->length, malloc((h->distinct + 1) * sizeof *rest.start)};
    struct bl_patterns added = {0};
    if (!rest.start)
        return bl_error_memory(e);
    uint32_t sum = 0;
    for (size_t b = 0; b < h->distinct; b++) {
        rest.start[b] = sum;
        sum += left[b];
    }
    rest.start[h->distinct] = sum;
    int code = sum ? residual_fill_best(&added, &rest, limits, how, e) : 0;
    if (code == 0)
        code = bl_patterns_append(patterns, &added, e);
    bl_patterns_free(&added);
    free(rest.start);
    return code;
}
