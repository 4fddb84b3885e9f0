#include "plan/search.h"

#include <stdbool.h>

/* Keeps the set with fewer blocks, or, of equally many, the one with fewer sequences in the fullest; frees the other.
 */
static void search_keep_better(struct bl_patterns *best, struct bl_patterns *other)
{
    if (other->count > 0 && other->blocks == best->blocks && bl_patterns_widest(other) < bl_patterns_widest(best))
        bl_patterns_free(best);
    bl_patterns_keep_fewer(best, other);
}

enum {
    LONG = 8192, /* from this T on, a few of very many lengths fill a block */
    MANY = 1024, /* distinct lengths from which the exact relaxation may not finish */
    FEW = 1500,  /* up to this many blocks, a single block matters */
};

static bool search_is_open(const struct bl_patterns *best, int64_t bound, const struct bl_limits *limits)
{
    return limits->work > 0 && (int64_t)best->blocks > bound;
}

/* The finest classes are tried only if the gap to the bound exceeds one block and a two-thousandth. */
static int search_fill_grouped(struct bl_patterns *best, int64_t *bound, const struct bl_histogram *h,
                               const struct bl_limits *limits, struct bl_error *e)
{
    static const uint32_t classes[] = {120, 240, 480};
    struct bl_patterns other = {0};
    int code = BL_OK;
    for (int i = 0; !code && i < 3 && search_is_open(best, *bound, limits); i++) {
        int64_t gap = (int64_t)best->blocks - *bound;
        if (i == 2 && (gap <= 1 || gap <= *bound / 2000))
            break;
        code = bl_search_grouped(&other, bound, h, limits, classes[i], best->blocks, e);
        search_keep_better(best, &other);
    }
    return code;
}

static int search_fill_min_slack(struct bl_patterns *best, int64_t bound, const struct bl_histogram *h,
                                 const struct bl_limits *limits, struct bl_error *e)
{
    const struct bl_limits some = bl_limits_divide(limits, 16);
    struct bl_patterns slack = {0}, repaired = {0};
    int code = bl_search_min_slack(&slack, h, limits, e);
    if (!code && search_is_open(&slack, bound, limits))
        code = bl_search_improve(&repaired, bound, h, &slack, &some, e);
    search_keep_better(best, &slack);
    search_keep_better(best, &repaired);
    return code;
}

int bl_search_best(struct bl_patterns *patterns, int64_t *bound, const struct bl_histogram *h,
                   const struct bl_limits *limits, struct bl_error *e)
{
    struct bl_patterns other = {0};
    const struct bl_limits some = bl_limits_divide(limits, 4);
    int code = bl_search_bestfit(patterns, h, limits, e);
    if (code)
        goto out;
    if (limits->T >= LONG)
        code = search_fill_grouped(patterns, bound, h, limits, e);
    if (code)
        goto out;
    if (search_is_open(patterns, *bound, limits))
        code = search_fill_min_slack(patterns, *bound, h, limits, e);
    if (code)
        goto out;
    if (limits->T < LONG && h->distinct > MANY)
        code = search_fill_grouped(patterns, bound, h, &some, e);
    if (code)
        goto out;
    if (search_is_open(patterns, *bound, limits)) {
        code = bl_search_columns(&other, bound, h, patterns, limits, NULL, e);
        search_keep_better(patterns, &other);
    }
    if (code)
        goto out;
    if (search_is_open(patterns, *bound, limits) && patterns->blocks <= FEW) {
        code = bl_search_coarse(&other, h, &some, e);
        search_keep_better(patterns, &other);
    }
out:
    if (code)
        bl_patterns_free(patterns);
    return code;
}
