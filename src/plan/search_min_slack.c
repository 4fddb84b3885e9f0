/* Packs blocks greedily, by minimum bin slack and by best fit decreasing, and improves the first by columns.
 *
 * With T = 10 and lengths 5 4 3 3 3 2, best fit makes {5 4}, {3 3 3} and {2}; minimum bin slack makes {5 3 2} and {4 3
 * 3}. Best fit is the fastest search and needs the least memory, so a plan begins with it. */
#include "plan/search_min_slack.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/sort.h"
#include "plan/draft.h"
#include "plan/histogram.h"
#include "plan/random.h"
#include "plan/search.h"

/* --- subset sums -------------------------------------------------------------------------------------------------- */

/* Subset sums find the remaining lengths that fill a room best.
 *
 * Lengths are offered from the longest down, and each sum stores the length that reached it first. So of all ways to
 * the same sum, the one with the longest shortest length is found: short lengths are kept for later, when they are
 * needed more. Large rooms are counted in units of a power of two, with lengths rounded up, so a solution always fits.
 * With a room of 7 and lengths 5 4 3 2, the sums reached are 5, then 4, then 3 and 7 (by 3, from 4), and the search
 * ends with 4 + 3. */

static inline bool subset_sum_is_full(const struct bl_subset_sum *s)
{
    return s->top == s->room;
}

#define UNITS_MAX (UINT32_C(1) << 20) /* the tables of sums take 8 MiB and 128 KiB at most */

int bl_subset_sum_make(struct bl_subset_sum *s, uint32_t T, int limited, struct bl_error *e)
{
    *s = (struct bl_subset_sum){0};
    while (T >> s->shift > UNITS_MAX)
        s->shift++;
    size_t units = T >> s->shift;
    s->reached = malloc((units / 64 + 1) * sizeof *s->reached);
    s->last = malloc((units + 1) * sizeof *s->last);
    if (limited)
        s->items = malloc((units + 1) * sizeof *s->items);
    if (s->reached && s->last && (s->items || !limited))
        return BL_OK;
    bl_subset_sum_free(s);
    return bl_error_memory(e);
}

void bl_subset_sum_free(struct bl_subset_sum *s)
{
    free(s->reached);
    free(s->last);
    free(s->items);
    *s = (struct bl_subset_sum){0};
}

void bl_subset_sum_begin(struct bl_subset_sum *s, uint32_t room, uint32_t most)
{
    s->room = room >> s->shift;
    s->most = most;
    s->top = 0;
    memset(s->reached, 0, ((size_t)s->room / 64 + 1) * sizeof *s->reached);
    s->reached[0] = 1;
    if (s->items)
        s->items[0] = 0;
}

/* Returns a length in units, rounded up. */
static uint32_t subset_sum_units(const struct bl_subset_sum *s, uint32_t length)
{
    return (uint32_t)(((uint64_t)length + (UINT64_C(1) << s->shift) - 1) >> s->shift);
}

/* Records the length that reached sums for the first time. fresh: a bit for each new sum of base .. base + 63. Returns
 * these bits without the sums that have more than s->most lengths. */
static uint64_t subset_sum_record(struct bl_subset_sum *s, uint32_t base, uint64_t fresh, uint32_t bucket,
                                  uint32_t units)
{
    uint64_t kept = fresh;
    for (; fresh; fresh &= fresh - 1) {
        uint32_t sum = base + (uint32_t)__builtin_ctzll(fresh);
        s->last[sum] = bucket;
        if (!s->items)
            continue;
        s->items[sum] = s->items[sum - units] + 1;
        if (s->items[sum] > s->most)
            kept &= ~(UINT64_C(1) << sum % 64);
    }
    return kept;
}

/* Adds one copy of a length: every sum plus the length, 64 sums at a time, from the highest down, so that the copy is
 * used only once. Returns the operations. */
static int64_t subset_sum_offer_one(struct bl_subset_sum *s, uint32_t bucket, uint32_t units)
{
    uint32_t high = s->top > s->room - units ? s->room : s->top + units;
    /* The sums are one long number of bits: a shift by `units` bits adds the length to all of them. */
    uint32_t words = units / 64, bits = units % 64, top = s->top, found = 0;
    for (uint32_t w = high / 64 + 1; w-- > words;) {
        uint64_t moved = s->reached[w - words] << bits;
        if (bits > 0 && w > words)
            moved |= s->reached[w - words - 1] >> (64 - bits);
        if (w == high / 64)
            moved &= ~UINT64_C(0) >> (63 - high % 64);
        uint64_t fresh = moved & ~s->reached[w];
        if (fresh == 0)
            continue;
        found += (uint32_t)__builtin_popcountll(fresh);
        fresh = subset_sum_record(s, w * 64, fresh, bucket, units);
        s->reached[w] |= fresh;
        if (fresh && w * 64 + 63 - (uint32_t)__builtin_clzll(fresh) > top)
            top = w * 64 + 63 - (uint32_t)__builtin_clzll(fresh);
    }
    s->top = top;
    return (int64_t)(high / 64 + 1 - words) + 8 * (int64_t)found;
}

int64_t bl_subset_sum_offer(struct bl_subset_sum *s, uint32_t bucket, uint32_t length, uint32_t copies)
{
    uint32_t units = subset_sum_units(s, length);
    int64_t work = 8;
    for (uint32_t i = 0; i < copies && units <= s->room && !subset_sum_is_full(s); i++) {
        /* So many copies alone exceed the room, so a further copy reaches no new sum. */
        if ((uint64_t)units * (i + 1) > s->room)
            break;
        work += subset_sum_offer_one(s, bucket, units);
    }
    return work;
}

/* Without this length, the sum was reached before, so the chain leads to 0. */
uint32_t bl_subset_sum_take(const struct bl_subset_sum *s, uint32_t *sum, const uint32_t *length)
{
    uint32_t bucket = s->last[*sum];
    *sum -= subset_sum_units(s, length[bucket]);
    return bucket;
}

/* --- minimum bin slack -------------------------------------------------------------------------------------------- */

/* Minimum bin slack works on counts of lengths. For a small T only subset sums are used. For a large T they are slow,
 * so an exact pair, found with two pointers over the remaining lengths, is tried first. */

enum {
    PAIRS_FROM = 8192,     /* smallest T for which pairs are tried before subset sums */
    PAIR_STEPS = 4096,     /* steps of the two pointers, for one block */
    SUBSET_WORK = 1 << 20, /* operations of the subset sums, for one block */
};

struct slack {
    const struct bl_limits *limits;
    struct bl_residual residual;
    struct bl_subset_sum subset;
    int64_t work; /* operations left */
};

/* Finds two lengths that fill the room exactly, the shorter one as long as possible. pair: the longer bucket, then the
 * shorter. Returns false if there is no such pair, or the steps end. */
static bool slack_find_pair(struct slack *s, uint32_t room, size_t pair[2])
{
    const struct bl_histogram *h = s->residual.h;
    const struct bl_bitset *nonempty = &s->residual.nonempty;
    const uint32_t *length = h->length;
    /* The search begins with the two lengths on both sides of half the room. */
    size_t low = bl_residual_fitting(&s->residual, room / 2),
           high = bl_bitset_next(nonempty, bl_histogram_below(h, (room - 1) / 2));
    for (int step = 0; step < PAIR_STEPS && low != BL_BITSET_NONE && high != BL_BITSET_NONE; step++) {
        s->work -= 4;
        uint64_t sum = (uint64_t)length[low] + length[high];
        if (sum == room && (low != high || s->residual.left[low] > 1)) {
            pair[0] = high;
            pair[1] = low;
            return true;
        }
        if (sum < room)
            high = bl_bitset_next(nonempty, high + 1);
        else
            low = low ? bl_bitset_previous(nonempty, low - 1) : BL_BITSET_NONE;
    }
    return false;
}

/* Chooses the lengths that join the first length of a block: one that fits exactly, a pair, or a subset sum. most: how
 * many sequences may join. BL_EFAIL: out of memory. */
static int slack_complete_block(struct slack *s, uint32_t room, uint32_t most, struct bl_error *e)
{
    size_t pair[2], one = bl_residual_fitting(&s->residual, room);
    if (one == BL_BITSET_NONE || most == 0)
        return BL_OK;
    if (s->residual.h->length[one] == room || most == 1)
        return bl_residual_choose(&s->residual, one, e);
    if (s->limits->T >= PAIRS_FROM && slack_find_pair(s, room, pair)) {
        BL_TRY(bl_residual_choose(&s->residual, pair[0], e));
        return bl_residual_choose(&s->residual, pair[1], e);
    }
    struct bl_residual *residual = &s->residual;
    int64_t spent = 0;
    bl_subset_sum_begin(&s->subset, room, most);
    size_t b = bl_residual_fitting(residual, room);
    while (b != BL_BITSET_NONE && !subset_sum_is_full(&s->subset) && spent < SUBSET_WORK) {
        spent += bl_subset_sum_offer(&s->subset, (uint32_t)b, residual->h->length[b], residual->left[b]);
        b = b ? bl_bitset_previous(&residual->nonempty, b - 1) : BL_BITSET_NONE;
    }
    s->work -= spent + room / 64;
    int code = BL_OK;
    for (uint32_t sum = s->subset.top; !code && sum > 0;)
        code = bl_residual_choose(residual, bl_subset_sum_take(&s->subset, &sum, residual->h->length), e);
    return code;
}

/* Fills a block that begins with the longest length, and repeats it while the lengths last. BL_EFAIL: out of memory. */
static int slack_fill_block(struct slack *s, size_t longest, struct bl_patterns *patterns, struct bl_error *e)
{
    uint32_t room = (uint32_t)s->limits->T - s->residual.h->length[longest], use;
    s->work -= 64;
    int code = bl_residual_choose(&s->residual, longest, e);
    if (!code)
        code = slack_complete_block(s, room, s->limits->sequences - 1, e);
    if (code)
        return code;
    return bl_residual_close(&s->residual, UINT32_MAX, patterns, &use, e);
}

int bl_search_min_slack(struct bl_patterns *patterns, const struct bl_histogram *h, const struct bl_limits *limits,
                        struct bl_error *e)
{
    *patterns = (struct bl_patterns){0};
    if (limits->without & BL_SEARCH_MIN_SLACK)
        return BL_OK;
    struct slack s = {.limits = limits, .work = limits->work / (limits->T < PAIRS_FROM ? 8 : 32)};
    int code = bl_residual_make(&s.residual, h, e);
    if (!code)
        code = bl_subset_sum_make(&s.subset, (uint32_t)limits->T, limits->sequences < limits->T, e);
    size_t longest;
    while (!code && s.work > 0 && !bl_limits_cancelled(limits) &&
           (longest = bl_bitset_previous(&s.residual.nonempty, h->distinct - 1)) != BL_BITSET_NONE)
        code = slack_fill_block(&s, longest, patterns, e);
    /* Lengths that remain when the work ends are packed by best fit. */
    bl_limits_use(limits, limits->work / (limits->T < PAIRS_FROM ? 8 : 32) - s.work);
    if (!code)
        code = bl_search_residual(patterns, h, s.residual.left, limits, bl_search_bestfit, e);
    bl_residual_free(&s.residual);
    bl_subset_sum_free(&s.subset);
    if (code)
        bl_patterns_free(patterns);
    return code;
}

int bl_search_greedy(struct bl_patterns *patterns, const struct bl_histogram *h, const struct bl_limits *limits,
                     struct bl_error *e)
{
    return bl_search_either(patterns, h, limits, bl_search_bestfit, bl_search_min_slack, e);
}

/* --- improvement -------------------------------------------------------------------------------------------------- */

/* Minimum bin slack makes patterns from the longest lengths down, until the lengths that complete them are used up: the
 * last patterns waste the most. These and some earlier ones are dissolved and packed again. They have few distinct
 * lengths, so the linear relaxation is solved fast. */

enum { LENGTHS_MIN = 16, LENGTHS_MORE = 4, LENGTHS_MAX = 256 }; /* distinct lengths: 16, 64, then 256 */

struct improve {
    const struct bl_histogram *h;
    const struct bl_patterns *known;
    uint32_t *left;           /* [distinct of h] count in the last patterns; later the bucket in `tail` */
    struct bl_histogram tail; /* of the last patterns */
    uint32_t *bucket;         /* [distinct of tail] bucket in h */
    struct bl_patterns old;   /* the last patterns, with buckets of tail */
};

/* Allocates the arrays. BL_EFAIL: out of memory; the caller frees them. */
static int improve_make(struct improve *r, const struct bl_histogram *h, const struct bl_patterns *known,
                        struct bl_error *e)
{
    *r = (struct improve){.h = h, .known = known, .left = malloc((h->distinct + 1) * sizeof *r->left)};
    r->bucket = malloc((h->distinct + 1) * sizeof *r->bucket);
    if (!r->left || !r->bucket)
        return bl_error_memory(e);
    return bl_histogram_reserve(&r->tail, h->distinct, e);
}

/* Returns the number of distinct lengths of pattern p that no later pattern has. The buckets of a pattern are
 * sorted. */
static size_t tail_new_lengths(const struct improve *r, size_t p)
{
    const uint32_t *bucket = r->known->bucket;
    uint32_t first = r->known->first[p];
    size_t n = 0;
    for (uint32_t k = first; k < r->known->first[p + 1]; k++)
        n += r->left[bucket[k]] == 0 && (k == first || bucket[k] != bucket[k - 1]);
    return n;
}

/* Returns the number of the first of the last patterns that together have at most `lengths` distinct lengths, and
 * counts these lengths in r->left. */
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

/* Makes the histogram of the patterns from `from` on, and these patterns with its buckets. BL_EFAIL: out of memory. */
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

/* Packs the patterns from `from` on again. If the whole solution then has fewer blocks than `best`, *patterns becomes
 * that solution. BL_EFAIL: out of memory. */
static int tail_refill(struct improve *r, size_t from, size_t best, const struct bl_limits *limits,
                       struct bl_patterns *patterns, struct bl_error *e)
{
    struct bl_patterns better = {0};
    int code = tail_separate(r, from, e);
    if (code)
        return code;
    /* The search is useless where the old patterns have as few blocks as the bound of their lengths. */
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

/* The number of patterns that are packed again grows with the distinct lengths that a relaxation may have. */
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

/* --- best fit decreasing ------------------------------------------------------------------------------------------ */

/* Best fit decreasing on counts. Blocks with equal contents form one group, and as many of a length as the whole group
 * has room for move at once. So the time depends on the number of distinct lengths, not of sequences.
 *
 * Equal lengths fill a block completely before the next one, because a block that has just received a length is fuller
 * than before and so is the best fit again. The contents of a group are a chain of nodes, shared with the groups that
 * it split from. */

#define NO_NODE UINT32_MAX

/* A node of a chain: the last length added, and the node of the earlier ones; NO_NODE: there are none. */
struct node {
    uint32_t before;
    uint32_t bucket;
};

struct bestfit {
    const struct bl_histogram *h;
    const struct bl_limits *limits;
    struct bl_patterns *patterns; /* or NULL: only count the blocks */
    size_t blocks;
    struct bl_open_blocks open;
    struct node *node;
    size_t nodes, capacity;
};

/* Adds a node, unless blocks are only counted. BL_EFAIL: out of memory. */
static int bestfit_add_node(struct bestfit *f, uint32_t before, uint32_t bucket, struct bl_error *e)
{
    if (!f->patterns)
        return BL_OK;
    if (BL_ARRAY_RESERVE(f->node, f->capacity, f->nodes + 1, e))
        return BL_EFAIL;
    f->node[f->nodes++] = (struct node){before, bucket};
    return BL_OK;
}

/* Counts the blocks of a group and adds their pattern. BL_EFAIL: out of memory. */
static int bestfit_close_group(struct bestfit *f, struct bl_open_group group, struct bl_error *e)
{
    int code = BL_OK;
    f->blocks += group.blocks;
    if (!f->patterns)
        return BL_OK;
    for (uint32_t n = group.node; !code && n != NO_NODE; n = f->node[n].before)
        code = bl_patterns_push(f->patterns, f->node[n].bucket, e);
    if (code)
        return code;
    return bl_patterns_close(f->patterns, group.blocks, e);
}

/* Adds `times` of a bucket to each block of a group. The group stays open while the shortest length fits, and the
 * number of sequences allows it. */
static int bestfit_extend_group(struct bestfit *f, struct bl_open_group group, uint32_t bucket, uint32_t times,
                                struct bl_error *e)
{
    int code = BL_OK;
    for (uint32_t i = 0; !code && i < times; i++) {
        code = bestfit_add_node(f, group.node, bucket, e);
        group.node = (uint32_t)(f->nodes - 1);
    }
    if (code)
        return code;
    group.room -= times * f->h->length[bucket];
    group.places -= times;
    return group.places > 0 && group.room >= f->h->length[0] ? bl_open_blocks_insert(&f->open, group, e)
                                                             : bestfit_close_group(f, group, e);
}

/* Puts up to *n lengths of a bucket into the blocks of a group, in the order in which best fit does it one by one:
 * `full` blocks receive as many as fit, and one more block the rest. group->blocks becomes the number of untouched
 * blocks, *n the lengths that remain. */
static int bestfit_fill_group(struct bestfit *f, struct bl_open_group *group, uint32_t bucket, uint32_t *n,
                              struct bl_error *e)
{
    /* A block takes as many as its room and its places allow. */
    uint32_t fit = group->room / f->h->length[bucket];
    if (fit > group->places)
        fit = group->places;
    uint32_t full = *n / fit < group->blocks ? *n / fit : group->blocks;
    uint32_t rest = full < group->blocks ? *n % fit : 0;
    int code = BL_OK;
    if (full > 0)
        code = bestfit_extend_group(f, (struct bl_open_group){group->room, full, group->node, group->places}, bucket,
                                    fit, e);
    if (!code && rest > 0)
        code = bestfit_extend_group(f, (struct bl_open_group){group->room, 1, group->node, group->places}, bucket, rest,
                                    e);
    group->blocks -= full + (rest > 0);
    *n -= full * fit + rest;
    return code;
}

/* Places all lengths of a bucket; a new group has blocks for all of them. BL_EFAIL: out of memory. */
static int bestfit_place_bucket(struct bestfit *f, uint32_t bucket, struct bl_error *e)
{
    uint32_t n = bl_histogram_count(f->h, bucket);
    int code = BL_OK;
    while (!code && n > 0) {
        struct bl_open_place place;
        struct bl_open_group fresh = {(uint32_t)f->limits->T, n, NO_NODE, f->limits->sequences};
        struct bl_open_group *found = bl_open_blocks_find(&f->open, f->h->length[bucket], &place);
        if (!found) {
            code = bestfit_fill_group(f, &fresh, bucket, &n, e);
            continue;
        }
        /* The group is removed while it changes, since extending inserts groups; untouched blocks go back
         * afterwards. */
        struct bl_open_group group = *found;
        bl_open_blocks_remove(&f->open, place);
        code = bestfit_fill_group(f, &group, bucket, &n, e);
        if (!code && group.blocks > 0)
            code = bl_open_blocks_insert(&f->open, group, e);
    }
    return code;
}

/* Places all lengths, the longest first, and closes the groups that still have room. Frees the nodes and groups, also
 * after errors. */
static int bestfit_run(struct bestfit *f, struct bl_error *e)
{
    int code = BL_OK;
    for (size_t b = f->h->distinct; !code && b-- > 0;)
        code = bestfit_place_bucket(f, (uint32_t)b, e);
    struct bl_open_place place;
    for (struct bl_open_group *g; !code && (g = bl_open_blocks_find(&f->open, 0, &place));) {
        struct bl_open_group group = *g;
        bl_open_blocks_remove(&f->open, place);
        code = bestfit_close_group(f, group, e);
    }
    bl_open_blocks_free(&f->open);
    free(f->node);
    return code;
}

int bl_search_bestfit(struct bl_patterns *patterns, const struct bl_histogram *h, const struct bl_limits *limits,
                      struct bl_error *e)
{
    *patterns = (struct bl_patterns){0};
    struct bestfit f = {.h = h, .limits = limits, .patterns = patterns};
    int code = bestfit_run(&f, e);
    if (code)
        bl_patterns_free(patterns);
    return code;
}

int bl_search_bestfit_count(size_t *blocks, const struct bl_histogram *h, const struct bl_limits *limits,
                            struct bl_error *e)
{
    struct bestfit f = {.h = h, .limits = limits};
    int code = bestfit_run(&f, e);
    *blocks = f.blocks;
    return code;
}

/* --- best fit decreasing by sequence ------------------------------------------------------------------------------ */

/* Best fit decreasing by sequence, where nearly all lengths differ and patterns would take more memory than the blocks.
 * Each sequence is one word, with its length above its id and all bits inverted, so that ascending order puts the
 * longest first. Filling inverts the word back and replaces the length by the block. */

/* Makes the words of all lengths in range, and returns their number. Length 5 and id 7 give ~0x0000000500000007. word:
 * [count of lengths]. */
static size_t words_make(uint64_t *word, const struct bl_lengths *lengths)
{
    size_t n = 0;
    for (size_t i = 0; i < lengths->count; i++)
        if (bl_lengths_has(lengths, i))
            word[n++] = ~((uint64_t)bl_lengths_units(lengths, i) << 32 | (uint32_t)bl_lengths_id(lengths, i));
    return n;
}

/* Puts every sequence into the fullest block with room, or into a new one: the upper half of its word becomes the
 * number of the block. *blocks: their number. BL_EFAIL: out of memory. */
static int words_fill(uint64_t *word, size_t n, const struct bl_limits *limits, size_t *blocks, struct bl_error *e)
{
    struct bl_open_blocks open = {0};
    /* The words are sorted, so the last one has the shortest length. A block closes when not even this one fits. */
    uint32_t shortest = n ? (uint32_t)(~word[n - 1] >> 32) : 0;
    int code = BL_OK;
    *blocks = 0;
    for (size_t i = 0; !code && i < n; i++) {
        uint32_t length = (uint32_t)(~word[i] >> 32);
        struct bl_open_place place;
        struct bl_open_group *found = bl_open_blocks_find(&open, length, &place), block;
        if (found) {
            block = *found;
            bl_open_blocks_remove(&open, place);
        } else {
            block = (struct bl_open_group){(uint32_t)limits->T, 1, (uint32_t)(*blocks)++, limits->sequences};
        }
        block.room -= length;
        block.places--;
        word[i] = (uint64_t)block.node << 32 | (uint32_t)~word[i];
        if (block.places > 0 && block.room >= shortest)
            code = bl_open_blocks_insert(&open, block, e);
    }
    bl_open_blocks_free(&open);
    return code;
}

/* Numbers the blocks in random order, by the upper half of every word. BL_EFAIL: out of memory. */
static int words_shuffle_blocks(uint64_t *word, size_t n, size_t blocks, uint64_t seed, struct bl_error *e)
{
    struct bl_random random;
    uint32_t *place = malloc((blocks + 1) * sizeof *place);
    if (!place)
        return bl_error_memory(e);
    bl_random_seed(&random, seed, BL_STREAM_BLOCK);
    bl_random_order(&random, place, blocks);
    for (size_t i = 0; i < n; i++)
        word[i] = (uint64_t)place[word[i] >> 32] << 32 | (uint32_t)word[i];
    free(place);
    return BL_OK;
}

int bl_draft_bestfit(struct bl_draft *d, const struct bl_lengths *lengths, const struct bl_limits *limits,
                     uint64_t seed, struct bl_error *e)
{
    uint64_t *word = malloc((lengths->count + 1) * sizeof *word);
    size_t n, blocks;
    if (!word)
        return bl_error_memory(e);
    n = words_make(word, lengths);
    bl_sort_u64(word, n, 32);
    /* Words of equal length are shuffled, so that the seed decides which sequence goes where. */
    struct bl_random random;
    bl_random_seed(&random, seed, BL_STREAM_IDS);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && word[end] >> 32 == word[i] >> 32; end++)
            ;
        if (end - i > 1)
            bl_random_shuffle_i64(&random, (int64_t *)word + i, end - i);
    }
    int code = words_fill(word, n, limits, &blocks, e);
    if (!code)
        code = words_shuffle_blocks(word, n, blocks, seed, e);
    if (!code)
        code = bl_draft_reserve(d, blocks, e);
    d->is_shuffled = d->blocks == 0;
    if (!code) {
        /* The words are sorted by block by counting, after the present blocks of the draft; then the sequences in each
         * block are shuffled. */
        struct bl_random inside;
        bl_random_seed(&inside, seed, BL_STREAM_INSIDE);
        uint32_t *first = d->first + d->blocks, begun = (uint32_t)d->pieces;
        for (size_t b = 1; b <= blocks; b++)
            first[b] = 0;
        for (size_t i = 0; i < n; i++)
            first[(word[i] >> 32) + 1]++;
        for (size_t b = 1; b <= blocks; b++)
            first[b] += first[b - 1];
        for (size_t i = 0; i < n; i++)
            d->sequence[first[word[i] >> 32]++] = (uint32_t)word[i];
        for (size_t b = blocks; b > 0; b--)
            first[b] = first[b - 1]; /* the copy has moved every entry to the end of its block */
        first[0] = begun;
        for (size_t b = 0; b < blocks; b++)
            bl_random_shuffle_u32(&inside, d->sequence + first[b], first[b + 1] - first[b]);
        d->pieces += n;
        d->blocks += blocks;
    }
    free(word);
    return code;
}
