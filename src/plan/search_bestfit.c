/* Best fit decreasing on counts. Blocks with equal contents form one group, and as many of a length as go into the
 * whole group move at once. So the time depends on the number of distinct lengths, not of sequences.
 *
 * Equal lengths fill a block completely before the next one (a block just added to is fuller than before, and so it is
 * the best fit again). The contents of a group's blocks are a chain of nodes, shared with the groups that it split
 * from. */
#include <stdlib.h>

#include "base/buffer.h"
#include "base/sort.h"
#include "plan/draft.h"
#include "plan/histogram.h"
#include "plan/random.h"
#include "plan/search.h"

/* --- search bestfit ----------------------------------------------------------------------------------------------- */

#define NO_NODE UINT32_MAX

/* The last length added, and the node of the earlier ones. */
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

static int bestfit_add_node(struct bestfit *f, uint32_t before, uint32_t bucket, struct bl_error *e)
{
    if (!f->patterns)
        return BL_OK;
    if (BL_ARRAY_RESERVE(f->node, f->capacity, f->nodes + 1, e))
        return BL_EFAIL;
    f->node[f->nodes++] = (struct node){before, bucket};
    return BL_OK;
}

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

/* Puts up to n of a bucket into the blocks of a group, as best fit does one by one. group->blocks becomes the number of
 * untouched blocks, *n what remains of n. */
static int bestfit_fill_group(struct bestfit *f, struct bl_open_group *group, uint32_t bucket, uint32_t *n,
                              struct bl_error *e)
{
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
        /* Removed while it changes, since extending inserts groups; untouched blocks go back afterwards. */
        struct bl_open_group group = *found;
        bl_open_blocks_remove(&f->open, place);
        code = bestfit_fill_group(f, &group, bucket, &n, e);
        if (!code && group.blocks > 0)
            code = bl_open_blocks_insert(&f->open, group, e);
    }
    return code;
}

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

/* --- draft bestfit ------------------------------------------------------------------------------------------------ */

/* Best fit decreasing by sequence: if nearly all lengths differ, patterns would take more memory than the blocks. Each
 * sequence is one word, with its length above its id and all bits inverted, so that ascending order puts the longest
 * first. Filling inverts the word back and replaces the length by the block. */

static size_t words_make(uint64_t *word, const struct bl_lengths *lengths)
{
    size_t n = 0;
    for (size_t i = 0; i < lengths->count; i++)
        if (bl_lengths_has(lengths, i))
            word[n++] = ~((uint64_t)bl_lengths_units(lengths, i) << 32 | (uint32_t)bl_lengths_id(lengths, i));
    return n;
}

/* Shuffles words of equal length. */
static void words_shuffle_equal(uint64_t *word, size_t n, uint64_t seed)
{
    struct bl_random random;
    bl_random_seed(&random, seed, BL_STREAM_IDS);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && word[end] >> 32 == word[i] >> 32; end++)
            ;
        if (end - i > 1)
            bl_random_shuffle_i64(&random, (int64_t *)word + i, end - i);
    }
}

/* Assigns every sequence to a block; *blocks: their number. */
static int words_fill(uint64_t *word, size_t n, const struct bl_limits *limits, size_t *blocks, struct bl_error *e)
{
    struct bl_open_blocks open = {0};
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

/* Puts the blocks into random order. */
static int words_shuffle_blocks(uint64_t *word, size_t n, size_t blocks, uint64_t seed, struct bl_error *e)
{
    struct bl_random random;
    uint32_t *place = malloc((blocks + 1) * sizeof *place);
    if (!place)
        return bl_error_memory(e);
    for (size_t b = 0; b < blocks; b++)
        place[b] = (uint32_t)b;
    bl_random_seed(&random, seed, BL_STREAM_BLOCK);
    bl_random_shuffle_u32(&random, place, blocks);
    for (size_t i = 0; i < n; i++)
        word[i] = (uint64_t)place[word[i] >> 32] << 32 | (uint32_t)word[i];
    free(place);
    return BL_OK;
}

/* Counting sort by block, after the draft's present blocks; shuffles the sequences in each block. */
static void draft_collect(struct bl_draft *d, const uint64_t *word, size_t n, size_t blocks, uint64_t seed)
{
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

int bl_draft_bestfit(struct bl_draft *d, const struct bl_lengths *lengths, const struct bl_limits *limits,
                     uint64_t seed, struct bl_error *e)
{
    uint64_t *word = malloc((lengths->count + 1) * sizeof *word);
    size_t n, blocks;
    if (!word)
        return bl_error_memory(e);
    n = words_make(word, lengths);
    bl_sort_u64(word, n, 32);
    words_shuffle_equal(word, n, seed);
    int code = words_fill(word, n, limits, &blocks, e);
    if (!code)
        code = words_shuffle_blocks(word, n, blocks, seed, e);
    if (!code)
        code = bl_draft_reserve(d, blocks, e);
    d->is_shuffled = d->blocks == 0;
    if (!code)
        draft_collect(d, word, n, blocks, seed);
    free(word);
    return code;
}
