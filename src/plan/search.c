/* Combines the searches for blocks, and holds what they share: the remaining lengths and the residual instance.
 *
 * bl_search_best runs the cheapest search first, and the next one only while the blocks exceed the proven bound. Each
 * search receives a share of the operations, so one that finds nothing cannot use up the work of all. Example: best fit
 * finds 1002 blocks where the bound is 1000; minimum bin slack finds 1001; the columns prove 1001, and the search
 * ends. */
#include "plan/search.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/sort.h"
#include "plan/histogram.h"

/* --- remaining lengths -------------------------------------------------------------------------------------------- */

int bl_remainder_make(struct bl_remaining *r, const struct bl_histogram *full, struct bl_error *e)
{
    /* One entry more than needed, since malloc(0) may return NULL. */
    size_t n = full->distinct + 1;
    *r = (struct bl_remaining){.bucket = malloc(n * sizeof *r->bucket), .at = malloc(n * sizeof *r->at)};
    if (!r->bucket || !r->at)
        return bl_error_memory(e);
    return bl_histogram_reserve(&r->h, full->distinct, e);
}

void bl_remainder_free(struct bl_remaining *r)
{
    bl_histogram_free(&r->h);
    free(r->bucket);
    free(r->at);
    *r = (struct bl_remaining){0};
}

void bl_remainder_set(struct bl_remaining *r, const struct bl_histogram *full, const uint32_t *left)
{
    r->h.distinct = 0;
    for (size_t b = 0; b < full->distinct; b++) {
        /* empty buckets are left out, so the relaxation has fewer rows */
        r->at[b] = left[b] ? (uint32_t)r->h.distinct : BL_REMAINDER_NONE;
        if (left[b] == 0)
            continue;
        r->bucket[r->h.distinct] = (uint32_t)b;
        bl_histogram_add(&r->h, full->length[b], left[b]);
    }
}

/* --- residual instance -------------------------------------------------------------------------------------------- */

int bl_residual_make(struct bl_residual *s, const struct bl_histogram *h, struct bl_error *e)
{
    *s = (struct bl_residual){.h = h, .left = malloc((h->distinct + 1) * sizeof *s->left)};
    int code = s->left ? bl_bitset_make(&s->nonempty, h->distinct, e) : bl_error_memory(e);
    for (size_t b = 0; !code && b < h->distinct; b++) {
        s->left[b] = bl_histogram_count(h, b);
        if (s->left[b])
            bl_bitset_add(&s->nonempty, b);
    }
    return code;
}

void bl_residual_free(struct bl_residual *s)
{
    bl_bitset_free(&s->nonempty);
    free(s->left);
    free(s->chosen);
    *s = (struct bl_residual){0};
}

/* Takes a length `times` times; the bucket must have as many. */
static void residual_take(struct bl_residual *s, size_t bucket, uint32_t times)
{
    s->left[bucket] -= times;
    if (s->left[bucket] == 0)
        bl_bitset_remove(&s->nonempty, bucket);
}

int bl_residual_choose(struct bl_residual *s, size_t bucket, struct bl_error *e)
{
    if (BL_ARRAY_RESERVE(s->chosen, s->capacity, s->count + 1, e))
        return BL_EFAIL;
    residual_take(s, bucket, 1);
    s->chosen[s->count++] = (uint32_t)bucket;
    return BL_OK;
}

/* A bucket that was empty is in the set of nonempty buckets again. */
void bl_residual_put_back(struct bl_residual *s, size_t count)
{
    while (s->count > count) {
        size_t bucket = s->chosen[--s->count];
        if (s->left[bucket]++ == 0)
            bl_bitset_add(&s->nonempty, bucket);
    }
}

size_t bl_residual_fitting(const struct bl_residual *s, uint32_t room)
{
    /* Two binary searches: the first bucket that is too long, then the nonempty bucket before it. */
    size_t below = bl_histogram_below(s->h, room);
    return below ? bl_bitset_previous(&s->nonempty, below - 1) : BL_BITSET_NONE;
}

/* Returns how many more blocks can have the same lengths as the chosen one, up to `most`, and takes these lengths.
 * chosen[] must be sorted. The first pass finds the number, the second takes the lengths. */
static uint32_t residual_repeat(struct bl_residual *s, uint32_t most)
{
    for (int applying = 0; applying < 2; applying++)
        for (size_t i = 0, j; i < s->count; i = j) {
            for (j = i; j < s->count && s->chosen[j] == s->chosen[i]; j++)
                ;
            uint32_t uses = (uint32_t)(j - i), possible = s->left[s->chosen[i]] / uses;
            if (applying && most > 0)
                residual_take(s, s->chosen[i], uses * most);
            else if (!applying)
                most = possible < most ? possible : most;
        }
    return most;
}

int bl_residual_close(struct bl_residual *s, uint32_t most, struct bl_patterns *patterns, uint32_t *use,
                      struct bl_error *e)
{
    int code = BL_OK;
    bl_sort_u32(s->chosen, s->count);
    /* The first use has taken its lengths already. */
    *use = 1 + residual_repeat(s, most - 1);
    for (size_t i = s->count; !code && i-- > 0;)
        code = bl_patterns_push(patterns, s->chosen[i], e);
    s->count = 0;
    if (code)
        return code;
    return bl_patterns_close(patterns, *use, e);
}

/* --- search for the residual instance ----------------------------------------------------------------------------- */

int bl_search_residual(struct bl_patterns *patterns, const struct bl_histogram *h, const uint32_t *left,
                       const struct bl_limits *limits, bl_search_function *fill, struct bl_error *e)
{
    /* The rest keeps the empty buckets, so that its patterns have the bucket numbers of h. It borrows h->length. */
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
    BL_TRY(first(patterns, h, limits, e));
    int code = second(&other, h, &some, e);
    bl_patterns_keep_fewer(patterns, &other);
    if (code)
        bl_patterns_free(patterns);
    return code;
}

/* --- searches ----------------------------------------------------------------------------------------------------- */

/* Keeps the set with fewer blocks in *best and frees the other. If both have equally many blocks, the set with fewer
 * sequences in its fullest block is kept, as it makes the tables of the dataset smaller. */
static void search_keep_better(struct bl_patterns *best, struct bl_patterns *other)
{
    if (other->count > 0 && other->blocks == best->blocks && bl_patterns_widest(other) < bl_patterns_widest(best))
        bl_patterns_free(best);
    bl_patterns_keep_fewer(best, other);
}

enum {
    LONG = 8192, /* T from which lengths are so many that classes of them are solved first */
    MANY = 1024, /* distinct lengths from which the exact relaxation may not finish */
    FEW = 1500,  /* blocks up to which one block less is worth the most expensive parts: 0.07 % */
};

/* The state that all parts of the search share. */
struct search {
    const struct bl_histogram *h;
    const struct bl_limits *limits;
    struct bl_patterns *best; /* the fewest blocks so far */
    int64_t *bound;           /* blocks: proven so far */
    int64_t used;             /* operations of all parts so far */
};

/* Returns whether work is left, and the blocks are not yet proven to be the fewest; false if the plan is cancelled. */
static bool search_is_open(const struct search *s)
{
    return s->limits->work > s->used && !bl_limits_cancelled(s->limits) && (int64_t)s->best->blocks > *s->bound;
}

/* Searches by item grouping, with finer classes each time. The finest are tried only if the gap to the bound exceeds
 * one block and a two-thousandth. */
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

/* Searches by minimum bin slack, and packs the badly filled blocks of its solution again. The second step may take a
 * sixteenth of the work, as its relaxations are small. */
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

/* Searches by the linear relaxation, which also raises the bound. */
static int search_by_columns(struct search *s, struct bl_error *e)
{
    const struct bl_limits some = bl_limits_share(s->limits, 1, &s->used);
    struct bl_patterns other = {0};
    int code = bl_search_columns(&other, s->bound, s->h, s->best, &some, NULL, e);
    search_keep_better(s->best, &other);
    return code;
}

/* Searches for one block less by exact completion. If all blocks of such a solution are full to the last step,
 * completion finds it sooner than any later part, so it receives half of the work. */
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

/* Searches with lengths rounded to units, which helps where exact lengths are too many for the relaxation. A fourth of
 * the work leaves the rest to the dives. */
static int search_by_units(struct search *s, struct bl_error *e)
{
    const struct bl_limits some = bl_limits_share(s->limits, 4, &s->used);
    struct bl_patterns other = {0};
    int code = bl_search_coarse(&other, s->h, &some, e);
    search_keep_better(s->best, &other);
    return code;
}

/* Searches by dives, with all the work that is left: they are the last part. */
static int search_by_dives(struct search *s, struct bl_error *e)
{
    const struct bl_limits some = bl_limits_share(s->limits, 1, &s->used);
    struct bl_patterns other = {0};
    int code = bl_search_dive(&other, s->bound, s->h, s->best, &some, e);
    search_keep_better(s->best, &other);
    return code;
}

/* Runs the parts, the cheapest first, while the search is open. Each receives a share of the work, or the rest of
 * it. */
static int search_by_parts(struct search *s, struct bl_error *e)
{
    int code = BL_OK;
    /* For a large T, the other parts would spend their work on knapsacks with too many lengths, so grouping comes
     * first. */
    bool is_long = s->limits->T >= LONG;
    if (is_long)
        code = search_by_groups(s, 1, e);
    if (!code && search_is_open(s))
        code = search_by_slack(s, e);
    if (!code && !is_long && s->h->distinct > MANY)
        code = search_by_groups(s, 4, e);
    if (!code && search_is_open(s))
        code = search_by_columns(s, e);
    /* Completion searches for one exact number of blocks, which is known only if one block is missing to the bound. */
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
    /* Best fit always finds a solution, so the other parts may return none. */
    int code = bl_search_bestfit(patterns, h, limits, e);
    if (!code)
        code = search_by_parts(&s, e);
    bl_limits_use(limits, s.used);
    if (code)
        bl_patterns_free(patterns);
    return code;
}
