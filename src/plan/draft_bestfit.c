/* Best fit decreasing by sequence: if nearly all lengths differ, patterns would take more memory than the blocks. Each
 * sequence is one word, with its length above its id and all bits inverted, so that ascending order puts the longest
 * first. Filling inverts the word back and replaces the length by the block. */
#include <stdlib.h>

#include "base/sort.h"
#include "plan/draft.h"
#include "plan/search.h"
#include "plan/random.h"
#include "plan/open_blocks.h"

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
