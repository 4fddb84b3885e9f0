#include "plan/bound.h"
#include "plan/fill.h"

/* Keeps the better of two, frees the other. */
static void keep_better(struct bl_patterns *best, struct bl_patterns *other)
{
    int better =
        other->count > 0 && (best->count == 0 || other->blocks < best->blocks ||
                             (other->blocks == best->blocks && bl_patterns_widest(other) < bl_patterns_widest(best)));
    if (better) {
        struct bl_patterns worse = *best;
        *best = *other;
        *other = worse;
    }
    bl_patterns_free(other);
}

static int fill_by_columns(struct bl_patterns *patterns, int64_t *bound, const struct bl_histogram *h,
                           const struct bl_patterns *known, const struct bl_fill_limits *limits, struct bl_error *e)
{
    int rc = bl_fill_columns(patterns, bound, h, known, limits, e);
    if (rc == 0 && patterns->count == 0 && *bound < (int64_t)known->blocks)
        rc = bl_fill_coarse(patterns, bound, h, limits, e);
    return rc;
}

int bl_fill_optimal(struct bl_patterns *patterns, int64_t *bound, const struct bl_histogram *h,
                    const struct bl_fill_limits *limits, struct bl_error *e)
{
    struct bl_patterns other = {0};
    int rc = bl_fill_bestfit(patterns, h, limits, e);
    if (rc == 0 && limits->work > 0 && (int64_t)patterns->blocks > *bound) {
        rc = bl_fill_slack(&other, h, limits, e);
        keep_better(patterns, &other);
    }
    if (rc == 0 && limits->work > 0 && (int64_t)patterns->blocks > *bound) {
        rc = fill_by_columns(&other, bound, h, patterns, limits, e);
        keep_better(patterns, &other);
    }
    if (rc < 0)
        bl_patterns_free(patterns);
    return rc;
}
