#include "plan/search.h"

#include <stdbool.h>

#include "plan/bound.h"

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

/* What the parts of the search share. */
struct search {
    const struct bl_histogram *h;
    const struct bl_limits *limits;
    struct bl_patterns *best;
    int64_t *bound;
    int64_t used; /* operations of the parts so far */
};

static bool search_is_open(const struct search *s)
{
    return s->limits->work > s->used && (int64_t)s->best->blocks > *s->bound;
}

/* The finest classes are tried only if the gap to the bound exceeds one block and a two-thousandth. */
static int search_by_groups(struct search *s, int64_t share, struct bl_error *e)
{
    static const uint32_t classes[] = {120, 240, 480};
    struct bl_patterns other = {0};
    int code = BL_OK;
    for (int i = 0; !code && i < 3 && search_is_open(s); i++) {
        const struct bl_limits some = bl_limits_share(s->limits, share, &s->used);
        int64_t gap = (int64_t)s->best->blocks - *s->bound;
        if (i == 2 && (gap <= 1 || gap <= *s->bound / 2000))
            break;
        code = bl_search_grouped(&other, s->bound, s->h, &some, classes[i], s->best->blocks, e);
        search_keep_better(s->best, &other);
    }
    return code;
}

static int search_by_slack(struct search *s, struct bl_error *e)
{
    struct bl_patterns slack = {0}, repaired = {0};
    struct bl_limits some = bl_limits_share(s->limits, 1, &s->used);
    int code = bl_search_min_slack(&slack, s->h, &some, e);
    some = bl_limits_share(s->limits, 16, &s->used);
    if (!code && slack.count > 0 && (int64_t)slack.blocks > *s->bound)
        code = bl_search_improve(&repaired, *s->bound, s->h, &slack, &some, e);
    search_keep_better(s->best, &slack);
    search_keep_better(s->best, &repaired);
    return code;
}

static int search_by_columns(struct search *s, struct bl_error *e)
{
    const struct bl_limits some = bl_limits_share(s->limits, 1, &s->used);
    struct bl_patterns other = {0};
    int code = bl_search_columns(&other, s->bound, s->h, s->best, &some, NULL, e);
    search_keep_better(s->best, &other);
    return code;
}

/* If all blocks of a better solution are full to the last step, completion finds it sooner than anything that follows.
 */
static int search_by_completion(struct search *s, struct bl_error *e)
{
    size_t blocks = s->best->blocks - 1;
    bool is_full =
        (int64_t)blocks <= bl_bound_steps(s->h, s->limits->T) && bl_histogram_steps(s->h) % s->limits->T == 0;
    const struct bl_limits some = bl_limits_share(s->limits, is_full ? 2 : 8, &s->used);
    struct bl_patterns other = {0};
    int code = bl_search_complete(&other, s->h, blocks, &some, e);
    search_keep_better(s->best, &other);
    return code;
}

static int search_by_units(struct search *s, struct bl_error *e)
{
    const struct bl_limits some = bl_limits_share(s->limits, 4, &s->used);
    struct bl_patterns other = {0};
    int code = bl_search_coarse(&other, s->h, &some, e);
    search_keep_better(s->best, &other);
    return code;
}

static int search_by_dives(struct search *s, struct bl_error *e)
{
    const struct bl_limits some = bl_limits_share(s->limits, 1, &s->used);
    struct bl_patterns other = {0};
    int code = bl_search_dive(&other, s->bound, s->h, s->best, &some, e);
    search_keep_better(s->best, &other);
    return code;
}

/* The parts, the cheapest first. Each gets a share of the work, or what is left of it. */
static int search_by_parts(struct search *s, struct bl_error *e)
{
    int code = BL_OK;
    bool is_long = s->limits->T >= LONG;
    if (is_long)
        code = search_by_groups(s, 1, e);
    if (!code && search_is_open(s))
        code = search_by_slack(s, e);
    if (!code && !is_long && s->h->distinct > MANY)
        code = search_by_groups(s, 4, e);
    if (!code && search_is_open(s))
        code = search_by_columns(s, e);
    if (!code && search_is_open(s) && (int64_t)s->best->blocks == *s->bound + 1)
        code = search_by_completion(s, e);
    if (!code && search_is_open(s) && s->best->blocks <= FEW)
        code = search_by_units(s, e);
    if (!code && search_is_open(s) && s->best->blocks <= FEW)
        code = search_by_dives(s, e);
    return code;
}

int bl_search_best(struct bl_patterns *patterns, int64_t *bound, const struct bl_histogram *h,
                   const struct bl_limits *limits, struct bl_error *e)
{
    struct search s = {.h = h, .limits = limits, .best = patterns, .bound = bound};
    int code = bl_search_bestfit(patterns, h, limits, e);
    if (!code)
        code = search_by_parts(&s, e);
    bl_limits_use(limits, s.used);
    if (code)
        bl_patterns_free(patterns);
    return code;
}
