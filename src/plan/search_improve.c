/* Minimum bin slack makes patterns from the longest lengths down, until the lengths that complete them are used up: the
 * last patterns waste the most. These and some earlier ones are dissolved and packed again. They have few distinct
 * lengths, so the linear relaxation is solved fast. */
#include <stdlib.h>
#include <string.h>

#include "plan/bound.h"
#include "plan/search.h"

enum { LENGTHS_MIN = 16, LENGTHS_MORE = 4, LENGTHS_MAX = 256 };

struct improve {
    const struct bl_histogram *h;
    const struct bl_patterns *known;
    uint32_t *left;           /* [distinct of h] count in the last patterns; later the bucket in `tail` */
    struct bl_histogram tail; /* of the last patterns */
    uint32_t *bucket;         /* [distinct of tail] bucket in h */
    struct bl_patterns old;   /* the last patterns, with buckets of tail */
};

static int improve_make(struct improve *r, const struct bl_histogram *h, const struct bl_patterns *known,
                        struct bl_error *e)
{
    *r = (struct improve){.h = h, .known = known, .left = malloc((h->distinct + 1) * sizeof *r->left)};
    r->bucket = malloc((h->distinct + 1) * sizeof *r->bucket);
    if (!r->left || !r->bucket)
        return bl_error_memory(e);
    return bl_histogram_reserve(&r->tail, h->distinct, e);
}

/* Counts the lengths of a pattern that no later pattern has. */
static size_t tail_new_lengths(const struct improve *r, size_t p)
{
    const uint32_t *bucket = r->known->bucket;
    uint32_t first = r->known->first[p];
    size_t n = 0;
    for (uint32_t k = first; k < r->known->first[p + 1]; k++)
        n += r->left[bucket[k]] == 0 && (k == first || bucket[k] != bucket[k - 1]);
    return n;
}

/* Returns the first of the last patterns that together have at most `lengths` distinct lengths; counts them in
 * r->left. */
static size_t tail_select(struct improve *r, size_t lengths)
{
    const struct bl_patterns *known = r->known;
    size_t p = known->count;
    memset(r->left, 0, r->h->distinct * sizeof *r->left);
    for (size_t n = 0; p > 0; p--) {
        n += tail_new_lengths(r, p - 1);
        if (n > lengths)
            break;
        for (uint32_t k = known->first[p - 1]; k < known->first[p]; k++)
            r->left[known->bucket[k]] += known->use[p - 1];
    }
    return p;
}

/* Turns the patterns from `from` on into a histogram, and into patterns over it. */
static int tail_separate(struct improve *r, size_t from, struct bl_error *e)
{
    r->tail.distinct = 0;
    for (size_t b = 0; b < r->h->distinct; b++) {
        uint32_t count = r->left[b];
        if (count == 0)
            continue;
        r->bucket[r->tail.distinct] = (uint32_t)b;
        r->left[b] = (uint32_t)r->tail.distinct;
        bl_histogram_add(&r->tail, r->h->length[b], count);
    }
    bl_patterns_free(&r->old);
    return bl_patterns_append(&r->old, r->known, from, r->known->count, r->left, e);
}

/* Packs the patterns from `from` on again. *patterns becomes the whole solution if it has fewer blocks than `best`. */
static int tail_refill(struct improve *r, size_t from, size_t best, const struct bl_limits *limits,
                       struct bl_patterns *patterns, struct bl_error *e)
{
    struct bl_patterns better = {0};
    int code = tail_separate(r, from, e);
    if (code)
        return code;
    int64_t least = bl_bound_blocks(&r->tail, limits->T);
    if ((int64_t)r->old.blocks > least)
        code = bl_search_columns(&better, &least, &r->tail, &r->old, limits, NULL, e);
    if (code || better.count == 0 || r->known->blocks - r->old.blocks + better.blocks >= best)
        goto out;
    bl_patterns_free(patterns);
    code = bl_patterns_append(patterns, r->known, 0, from, NULL, e);
    if (!code)
        code = bl_patterns_append(patterns, &better, 0, better.count, r->bucket, e);
out:
    bl_patterns_free(&better);
    return code;
}

int bl_search_improve(struct bl_patterns *patterns, int64_t bound, const struct bl_histogram *h,
                      const struct bl_patterns *known, const struct bl_limits *limits, struct bl_error *e)
{
    struct improve r;
    size_t best = known->blocks, from = known->count;
    int64_t used = 0;
    *patterns = (struct bl_patterns){0};
    if (limits->without & BL_SEARCH_IMPROVE)
        return BL_OK;
    int code = improve_make(&r, h, known, e);
    for (size_t lengths = LENGTHS_MIN; lengths <= LENGTHS_MAX; lengths *= LENGTHS_MORE) {
        if (!code)
            from = tail_select(&r, lengths);
        if (code || from == 0 || (int64_t)best <= bound)
            break;
        const struct bl_limits rest = bl_limits_share(limits, 1, &used);
        code = tail_refill(&r, from, best, &rest, patterns, e);
        best = patterns->count ? patterns->blocks : best;
    }
    bl_limits_use(limits, used);
    free(r.left);
    free(r.bucket);
    bl_histogram_free(&r.tail);
    bl_patterns_free(&r.old);
    if (code)
        bl_patterns_free(patterns);
    return code;
}
