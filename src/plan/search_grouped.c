/* Searches for blocks where exact lengths are too many for the linear relaxation: with lengths rounded to units, and
 * with classes of lengths.
 *
 * A million videos may have 100000 different lengths. Rounded to 2048 units of a block, or taken as 240 classes, they
 * are few enough for a linear program, and the solution is then realised with the true lengths. */
#include <math.h>
#include <stdlib.h>

#include "plan/histogram.h"
#include "plan/search.h"

/* --- rounded lengths ---------------------------------------------------------------------------------------------- */

/* Lengths are rounded up to units, and the patterns of units are expanded: each unit takes the lengths that were
 * rounded to it, in order. Badly filled blocks are dissolved, and their lengths are packed again without rounding. With
 * units of 10 steps, {3 2} of lengths 28, 29 and 13, 20 becomes {28 13} and {29 20}. */

enum { UNITS = 2048 }; /* of a block: the knapsack table is small, and a length grows by less than 0.05 % of T */

struct coarse {
    struct bl_histogram h; /* lengths in units */
    uint32_t *begin;       /* [distinct+1] first bucket of the fine histogram for each unit */
    uint32_t T;            /* units */
};

/* Makes the histogram in units. Free it in any case. BL_EFAIL: out of memory. */
static int coarse_make(struct coarse *c, const struct bl_histogram *fine, uint32_t T, uint32_t unit, struct bl_error *e)
{
    *c = (struct coarse){.T = T / unit};
    c->begin = malloc((c->T + 2) * sizeof *c->begin);
    BL_TRY(c->begin ? bl_histogram_reserve(&c->h, c->T, e) : bl_error_memory(e));
    for (size_t b = 0; b < fine->distinct; b++) {
        uint32_t units = (uint32_t)(((uint64_t)fine->length[b] + unit - 1) / unit);
        size_t before = c->h.distinct;
        if (bl_histogram_count(fine, b) == 0)
            continue;
        /* A length that exceeds T when it is rounded up takes a whole block. */
        bl_histogram_add(&c->h, units < c->T ? units : c->T, bl_histogram_count(fine, b));
        if (c->h.distinct > before)
            c->begin[before] = (uint32_t)b;
    }
    c->begin[c->h.distinct] = (uint32_t)fine->distinct;
    return BL_OK;
}

/* The lengths that are left while patterns of units are expanded. */
struct expansion {
    const struct coarse *coarse;
    uint32_t *left;   /* [fine buckets] */
    uint32_t *cursor; /* [coarse buckets] the fine bucket to take next */
};

/* Adds a pattern of the next true lengths as often as each of them lasts, and lowers *use by that number; only once if
 * two lengths come from the same unit, as they may be the same bucket. BL_EFAIL: out of memory. */
static int expansion_add_pattern(struct expansion *x, const struct bl_patterns *units, size_t p, uint32_t *use,
                                 struct bl_patterns *patterns, struct bl_error *e)
{
    uint32_t times = *use;
    size_t first = patterns->entries;
    int code = BL_OK;
    for (uint32_t k = units->first[p]; k < units->first[p + 1]; k++)
        if (k > units->first[p] && units->bucket[k] == units->bucket[k - 1])
            times = 1;
    for (uint32_t k = units->first[p]; !code && k < units->first[p + 1]; k++) {
        uint32_t b = units->bucket[k];
        while (x->left[x->cursor[b]] == 0)
            x->cursor[b]++;
        uint32_t fine = x->cursor[b];
        x->left[fine]--; /* the first of `times`, so that a repeated unit continues with the next length */
        code = bl_patterns_push(patterns, fine, e);
    }
    for (size_t k = first; !code && k < patterns->entries; k++) {
        uint32_t more = x->left[patterns->bucket[k]] + 1;
        times = more < times ? more : times;
    }
    for (size_t k = first; !code && k < patterns->entries; k++)
        x->left[patterns->bucket[k]] -= times - 1;
    *use -= times;
    if (code)
        return code;
    return bl_patterns_close(patterns, times, e);
}

/* Expands the patterns, and packs the lengths of blocks with more than `slack` units left again. BL_EFAIL: out of
 * memory; the caller frees *patterns. */
static int coarse_expand(const struct coarse *c, const struct bl_patterns *units, uint32_t slack,
                         const struct bl_histogram *h, const struct bl_limits *limits, struct bl_patterns *patterns,
                         struct bl_error *e)
{
    struct expansion x = {c, malloc((h->distinct + 1) * sizeof *x.left), malloc((c->T + 2) * sizeof *x.cursor)};
    int code = x.left && x.cursor ? BL_OK : bl_error_memory(e);
    for (size_t b = 0; !code && b < h->distinct; b++)
        x.left[b] = bl_histogram_count(h, b);
    for (size_t b = 0; !code && b < c->h.distinct; b++)
        x.cursor[b] = c->begin[b];
    for (size_t p = 0; !code && p < units->count; p++) {
        uint32_t filled = 0;
        for (uint32_t k = units->first[p]; k < units->first[p + 1]; k++)
            filled += c->h.length[units->bucket[k]];
        uint32_t use = filled + slack >= c->T ? units->use[p] : 0;
        while (!code && use > 0)
            code = expansion_add_pattern(&x, units, p, &use, patterns, e);
    }
    if (!code)
        code = bl_search_residual(patterns, h, x.left, limits, bl_search_greedy, e);
    free(x.left);
    free(x.cursor);
    return code;
}

/* Expands with limits on the slack of 1/2048, 1/256, 1/32 and 1/4 of a block, and keeps the fewest blocks. */
static int coarse_expand_best(const struct coarse *c, const struct bl_patterns *units, const struct bl_histogram *h,
                              const struct bl_limits *limits, struct bl_patterns *best, struct bl_error *e)
{
    int code = BL_OK;
    for (uint32_t part = UNITS; !code && part > 0; part /= 8) {
        struct bl_patterns tried = {0};
        code = coarse_expand(c, units, c->T / part, h, limits, &tried, e);
        if (code)
            bl_patterns_free(&tried);
        bl_patterns_keep_fewer(best, &tried);
    }
    return code;
}

int bl_search_coarse(struct bl_patterns *patterns, const struct bl_histogram *h, const struct bl_limits *limits,
                     struct bl_error *e)
{
    *patterns = (struct bl_patterns){0};
    uint32_t unit = (uint32_t)(limits->T / UNITS);
    if (limits->without & BL_SEARCH_COARSE || unit < 2)
        return BL_OK;
    struct coarse c;
    struct bl_patterns units = {0}, known = {0};
    int code = coarse_make(&c, h, (uint32_t)limits->T, unit, e);
    int64_t used = 0;
    struct bl_limits in_units = bl_limits_share(limits, 1, &used), rest;
    in_units.T = c.T;
    int64_t bound = 0; /* of the lengths in units: unused */
    if (code)
        goto out;
    code = bl_search_bestfit(&known, &c.h, &in_units, e);
    if (code)
        goto out;
    code = bl_search_columns(&units, &bound, &c.h, &known, &in_units, NULL, e);
    if (code)
        goto out;
    rest = bl_limits_share(limits, 1, &used);
    if (units.count > 0)
        code = coarse_expand_best(&c, &units, h, &rest, patterns, e);
out:
    bl_limits_use(limits, used);
    bl_patterns_free(&units);
    bl_patterns_free(&known);
    bl_histogram_free(&c.h);
    free(c.begin);
    if (code)
        bl_patterns_free(patterns);
    return code;
}

/* --- item grouping ------------------------------------------------------------------------------------------------ */

/* Item grouping: if nearly all lengths differ, only classes of them are few enough for a linear program. It is solved
 * over the means of the classes. Each pattern is then realised with the true lengths, and the last two lengths of a
 * block are chosen to fill it, so that the classes waste almost nothing. As the remaining lengths move away from the
 * solution, only half of it is realised before the rest is solved again. */

enum {
    PLACES = 2048,        /* per block, for the means */
    CLASSES_MIN = 15,     /* halving stops here; there may be twice as many */
    BLOCKS_PER_CLASS = 8, /* for fewer blocks the classes are wider */
    BLOCKS_MIN = 64,      /* up to so many blocks are packed without classes */
    BLOCKS_LEFT = 500,    /* up to so many remaining blocks, too */
    TIMES_MAX = 7,        /* lengths that fit at most this often share no class with ones that fit less often */
    PAIR_STEPS = 256,     /* steps of the search for the two lengths that fill a block */
};

struct grouping {
    const struct bl_limits *limits;
    struct bl_residual residual;
    uint32_t classes;      /* the minimum; there are up to about twice as many */
    struct bl_histogram h; /* means of the classes of the remaining lengths, in places */
    uint32_t *longest;     /* [classes] the longest length of each */
    double *price;         /* [classes] for the bound */
    int64_t used;          /* operations */
};

/* Makes classes of neighbouring lengths, each with about an equal share of the remaining lengths and of T. Classes with
 * the same mean are merged. */
static void grouping_make_classes(struct grouping *s)
{
    const struct bl_bitset *nonempty = &s->residual.nonempty;
    const uint32_t *length = s->residual.h->length, *left = s->residual.left;
    const uint32_t T = (uint32_t)s->limits->T;
    uint64_t all = 0;
    size_t b;
    s->h.distinct = 0;
    for (b = bl_bitset_next(nonempty, 0); b != BL_BITSET_NONE; b = bl_bitset_next(nonempty, b + 1))
        all += left[b];
    for (b = bl_bitset_next(nonempty, 0); b != BL_BITSET_NONE;) {
        uint32_t shortest = length[b], longest = shortest;
        uint64_t steps = 0, count = 0;
        /* A class ends before the next T / k: a block has room for k lengths up to T / k, and only for k - 1 longer
         * ones. */
        while (b != BL_BITSET_NONE && count <= all / s->classes && length[b] - shortest <= T / s->classes &&
               (T / length[b] == T / shortest || T / length[b] >= TIMES_MAX)) {
            steps += (uint64_t)length[b] * left[b];
            count += left[b];
            longest = length[b];
            b = bl_bitset_next(nonempty, b + 1);
        }
        double places = round((double)steps / (double)count * PLACES / (double)T);
        uint32_t mean = places > 1 ? (uint32_t)places : 1;
        size_t last = s->h.distinct - 1;
        bl_histogram_add(&s->h, s->h.distinct && s->h.length[last] > mean ? s->h.length[last] : mean, (uint32_t)count);
        s->longest[s->h.distinct - 1] = longest;
    }
}

/* Solves the relaxation over the means of the classes. *drawn: patterns of classes, which the caller frees; those of
 * best fit if the columns find nothing better. */
static int grouping_solve(struct grouping *s, struct bl_patterns *drawn, struct bl_error *e)
{
    struct bl_patterns known = {0};
    struct bl_limits limits = bl_limits_share(s->limits, 4, &s->used);
    int64_t bound = 0; /* valid for the means, not for the lengths */
    *drawn = (struct bl_patterns){0};
    limits.T = PLACES;
    BL_TRY(bl_search_bestfit(&known, &s->h, &limits, e));
    int code = bl_search_columns(drawn, &bound, &s->h, &known, &limits, s->price, e);
    if (!code && drawn->count == 0)
        *drawn = known;
    else
        bl_patterns_free(&known);
    return code;
}

/* Returns the nonempty bucket whose length is nearest to the mean of a class, or BL_BITSET_NONE if no length
 * remains. */
static size_t grouping_nearest(const struct grouping *s, uint32_t class)
{
    uint32_t length = (uint32_t)((uint64_t)s->h.length[class] * (uint64_t)s->limits->T / PLACES);
    size_t at = bl_histogram_below(s->residual.h, length);
    size_t longer = bl_bitset_next(&s->residual.nonempty, at);
    size_t shorter = at ? bl_bitset_previous(&s->residual.nonempty, at - 1) : BL_BITSET_NONE;
    if (longer == BL_BITSET_NONE || shorter == BL_BITSET_NONE)
        return longer == BL_BITSET_NONE ? shorter : longer;
    return s->residual.h->length[longer] - length < length - s->residual.h->length[shorter] ? longer : shorter;
}

/* Chooses two lengths that nearly fill the room: the first from the mean of a class upwards, the second the longest
 * that fits beside it. Chooses nothing if no two lengths fit. BL_EFAIL: out of memory. */
static int grouping_choose_pair(struct grouping *s, uint32_t room, uint32_t class, struct bl_error *e)
{
    const uint32_t *length = s->residual.h->length;
    size_t a = grouping_nearest(s, class), best[2] = {BL_BITSET_NONE, BL_BITSET_NONE};
    uint32_t least = UINT32_MAX;
    for (int step = 0; step < PAIR_STEPS && least > 0 && a != BL_BITSET_NONE && length[a] < room; step++) {
        size_t b = bl_residual_fitting(&s->residual, room - length[a]);
        if (b == a && s->residual.left[a] == 1)
            b = b ? bl_bitset_previous(&s->residual.nonempty, b - 1) : BL_BITSET_NONE;
        if (b == BL_BITSET_NONE)
            break;
        if (room - length[a] - length[b] < least) {
            least = room - length[a] - length[b];
            best[0] = a;
            best[1] = b;
        }
        a = bl_bitset_next(&s->residual.nonempty, a + 1);
    }
    if (best[0] == BL_BITSET_NONE)
        return BL_OK;
    BL_TRY(bl_residual_choose(&s->residual, best[0], e));
    return bl_residual_choose(&s->residual, best[1], e);
}

/* Returns the room that is left in the unfinished block, in units. */
static uint32_t grouping_room(const struct grouping *s)
{
    uint32_t room = (uint32_t)s->limits->T;
    for (size_t i = 0; i < s->residual.count; i++)
        room -= s->residual.h->length[s->residual.chosen[i]];
    return room;
}

/* Chooses lengths for a pattern of classes: the first ones near the means of their classes, the last ones to fill the
 * block. */
static int grouping_choose_block(struct grouping *s, const uint32_t *class, size_t size, struct bl_error *e)
{
    int code = BL_OK;
    for (size_t i = 0; !code && i + 2 < size; i++) {
        size_t b = grouping_nearest(s, class[i]);
        if (b == BL_BITSET_NONE || s->residual.h->length[b] > grouping_room(s))
            return BL_OK;
        code = bl_residual_choose(&s->residual, b, e);
    }
    if (code)
        return code;
    if (size > 1)
        return grouping_choose_pair(s, grouping_room(s), class[size - 2], e);
    size_t b = bl_residual_fitting(&s->residual, s->longest[class[0]]);
    return b != BL_BITSET_NONE ? bl_residual_choose(&s->residual, b, e) : BL_OK;
}

/* Realises a pattern of classes `use` times, or until its lengths are used up. BL_EFAIL: out of memory. */
static int grouping_realise(struct grouping *s, const struct bl_patterns *drawn, size_t p, uint32_t use,
                            struct bl_patterns *patterns, struct bl_error *e)
{
    const uint32_t *class = drawn->bucket + drawn->first[p];
    size_t size = drawn->first[p + 1] - drawn->first[p];
    int64_t room = PLACES;
    int code = BL_OK;
    for (size_t i = 0; i < size; i++)
        room -= s->h.length[class[i]];
    /* A block may be emptier than its pattern by the width of one class. If it is emptier than that, the lengths of its
     * classes are used up. */
    int64_t most = room * s->limits->T / PLACES + s->limits->T / s->classes;
    while (!code && use > 0) {
        uint32_t used = 0;
        BL_TRY(grouping_choose_block(s, class, size, e));
        s->used += 32 * (int64_t)size + 8 * PAIR_STEPS;
        if (s->residual.count < size || grouping_room(s) > most) {
            bl_residual_put_back(&s->residual, 0);
            return BL_OK;
        }
        code = bl_residual_close(&s->residual, use, patterns, &used, e);
        use -= used;
    }
    return code;
}

/* Solves the remaining lengths and realises half of the solution. *blocks: those of the whole solution. The first
 * solution covers all lengths, so its dual prices raise *bound. */
static int grouping_realise_half(struct grouping *s, struct bl_patterns *patterns, int64_t *bound, size_t *blocks,
                                 struct bl_error *e)
{
    struct bl_patterns drawn = {0};
    grouping_make_classes(s);
    int code = grouping_solve(s, &drawn, e);
    if (!code && patterns->blocks == 0)
        code = bl_bound_dual(bound, s->residual.h, s->limits->T, &s->h, PLACES, s->price, &s->used, e);
    *blocks = drawn.blocks;
    uint32_t odd = 0; /* every second pattern with an odd use is rounded up */
    for (size_t p = 0; !code && p < drawn.count; p++) {
        uint32_t use = drawn.use[p] / 2 + (odd & drawn.use[p]);
        odd ^= drawn.use[p] & 1;
        if (use > 0)
            code = grouping_realise(s, &drawn, p, use, patterns, e);
    }
    bl_patterns_free(&drawn);
    return code;
}

/* Packs the lengths that remain at the end, greedily or in units. */
static int grouping_fill_rest(struct bl_patterns *patterns, const struct bl_histogram *h,
                              const struct bl_limits *limits, struct bl_error *e)
{
    return bl_search_either(patterns, h, limits, bl_search_greedy, bl_search_coarse, e);
}

int bl_search_grouped(struct bl_patterns *patterns, int64_t *bound, const struct bl_histogram *h,
                      const struct bl_limits *limits, uint32_t classes, size_t blocks, struct bl_error *e)
{
    *patterns = (struct bl_patterns){0};
    struct grouping s = {.limits = limits};
    if (limits->without & BL_SEARCH_GROUPED)
        return BL_OK;
    size_t n = 2 * (size_t)classes + TIMES_MAX + 4;
    s.longest = malloc(n * sizeof *s.longest);
    s.price = malloc(n * sizeof *s.price);
    int code = s.longest && s.price ? bl_histogram_reserve(&s.h, n, e) : bl_error_memory(e);
    if (!code)
        code = bl_residual_make(&s.residual, h, e);
    while (!code && s.used < limits->work && !bl_limits_cancelled(limits) &&
           blocks > (patterns->blocks ? BLOCKS_LEFT : BLOCKS_MIN)) {
        size_t before = patterns->blocks;
        s.classes = classes;
        while (before > 0 && s.classes > CLASSES_MIN && blocks < (size_t)s.classes * BLOCKS_PER_CLASS)
            s.classes /= 2;
        code = grouping_realise_half(&s, patterns, bound, &blocks, e);
        if (patterns->blocks - before < blocks / 8)
            break;
        blocks -= patterns->blocks - before;
    }
    const struct bl_limits rest = bl_limits_share(limits, 1, &s.used);
    if (!code)
        code = bl_search_residual(patterns, h, s.residual.left, &rest, grouping_fill_rest, e);
    bl_limits_use(limits, s.used);
    bl_residual_free(&s.residual);
    bl_histogram_free(&s.h);
    free(s.longest);
    free(s.price);
    if (code)
        bl_patterns_free(patterns);
    return code;
}
