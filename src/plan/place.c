/* Memory decides the form: beside the identities there is room for the result alone, so the table block_ptr
 * carries, until each entry is overwritten in its turn, what fills the block. */
#include "plan/place.h"

#include <stdlib.h>
#include <string.h>

#include "plan/random.h"

static int allocate(struct bl_plan *plan, size_t pieces, size_t blocks, struct bl_error *e)
{
    plan->pieces = pieces;
    plan->blocks = blocks;
    plan->sequence = malloc((pieces + 1) * sizeof *plan->sequence);
    plan->block_ptr = malloc((blocks + 1) * sizeof *plan->block_ptr);
    return plan->sequence && plan->block_ptr ? 0 : bl_error_memory(e);
}

int bl_place_alone(struct bl_plan *plan, const struct bl_lengths *lengths, uint64_t seed, struct bl_error *e)
{
    size_t n = 0;
    for (size_t i = 0; i < lengths->count; i++)
        n += (size_t)bl_lengths_has(lengths, i);
    int rc = allocate(plan, n, n, e);
    if (rc < 0)
        return rc;
    size_t next = 0;
    for (size_t i = 0; i < lengths->count; i++)
        if (bl_lengths_has(lengths, i))
            plan->sequence[next++] = (uint32_t)i;
    for (size_t b = 0; b <= n; b++)
        plan->block_ptr[b] = (int64_t)b;
    plan->max_sequences = n > 0;
    struct bl_random random;
    bl_random_seed(&random, seed, BL_STREAM_BLOCK);
    bl_random_shuffle_u32(&random, plan->sequence, n);
    return 0;
}

/* A block of size pieces ends at plan->sequence[next + size]: puts them into random order. */
static void finish_block(struct bl_plan *plan, size_t next, size_t size, struct bl_random *inside)
{
    bl_random_shuffle_u32(inside, plan->sequence + next, size);
    if ((int64_t)size > plan->max_sequences)
        plan->max_sequences = (int64_t)size;
}

static void shuffle_blocks(struct bl_plan *plan, uint64_t seed)
{
    struct bl_random random;
    bl_random_seed(&random, seed, BL_STREAM_BLOCK);
    bl_random_shuffle_i64(&random, plan->block_ptr, plan->blocks);
}

/* cursor[bucket]: the next of its identities. block_ptr[b] is the pattern of block b when this begins. */
static void draw_patterns(struct bl_plan *plan, const struct bl_patterns *patterns, const uint32_t *ids,
                          uint32_t *cursor, uint64_t seed)
{
    struct bl_random inside;
    bl_random_seed(&inside, seed, BL_STREAM_INSIDE);
    size_t next = 0;
    for (size_t b = 0; b < plan->blocks; b++) {
        size_t pattern = (size_t)plan->block_ptr[b], size = patterns->first[pattern + 1] - patterns->first[pattern];
        const uint32_t *bucket = patterns->bucket + patterns->first[pattern];
        plan->block_ptr[b] = (int64_t)next;
        for (size_t i = 0; i < size; i++)
            plan->sequence[next + i] = ids[cursor[bucket[i]]++];
        finish_block(plan, next, size, &inside);
        next += size;
    }
    plan->block_ptr[plan->blocks] = (int64_t)next;
}

int bl_place_patterns(struct bl_plan *plan, const struct bl_patterns *patterns, const struct bl_histogram *h,
                      const struct bl_lengths *lengths, uint64_t seed, struct bl_error *e)
{
    uint32_t *ids = NULL;
    int rc = bl_histogram_identities(h, lengths, seed, &ids, e);
    uint32_t *cursor = malloc((h->distinct + 1) * sizeof *cursor);
    if (rc == 0 && !cursor)
        rc = bl_error_memory(e);
    if (rc == 0)
        rc = allocate(plan, h->start[h->distinct], patterns->blocks, e);
    if (rc == 0) {
        memcpy(cursor, h->start, h->distinct * sizeof *cursor);
        size_t b = 0;
        for (size_t p = 0; p < patterns->count; p++)
            for (uint32_t k = 0; k < patterns->use[p]; k++)
                plan->block_ptr[b++] = (int64_t)p;
        shuffle_blocks(plan, seed);
        draw_patterns(plan, patterns, ids, cursor, seed);
    }
    free(cursor);
    free(ids);
    return rc;
}

/* How many of each bucket are left, as a Fenwick tree: tree[i] sums the i & -i buckets that end with bucket i - 1. */
struct remaining {
    size_t distinct;
    uint32_t *tree; /* [distinct+1] */
};

static uint32_t remaining_below(const struct remaining *r, size_t buckets)
{
    uint32_t sum = 0;
    for (size_t i = buckets; i > 0; i &= i - 1)
        sum += r->tree[i];
    return sum;
}

/* Takes the one that has `rank` others before it; its bucket. */
static size_t remaining_take(struct remaining *r, uint32_t rank)
{
    size_t bucket = 0, step = 1;
    while (step <= r->distinct / 2)
        step *= 2;
    for (; step > 0; step /= 2) {
        if (bucket + step > r->distinct || r->tree[bucket + step] > rank)
            continue;
        bucket += step;
        rank -= r->tree[bucket];
    }
    for (size_t i = bucket + 1; i <= r->distinct; i += i & -i)
        r->tree[i]--;
    return bucket;
}

static int remaining_make(struct remaining *r, const struct bl_histogram *h, struct bl_error *e)
{
    r->distinct = h->distinct;
    r->tree = malloc((h->distinct + 1) * sizeof *r->tree);
    if (!r->tree)
        return bl_error_memory(e);
    for (size_t i = 1; i <= h->distinct; i++)
        r->tree[i] = h->start[i] - h->start[i - (i & -i)];
    return 0;
}

struct paper {
    const struct bl_histogram *h;
    struct remaining remaining;
    const uint32_t *ids;
    uint32_t *cursor; /* [D] the next identity of each bucket */
    struct bl_random random;
};

/* Fills one block from plan->sequence[next] on; the number of its pieces. */
static size_t draw_block(struct bl_plan *plan, struct paper *paper, size_t next, int64_t T)
{
    size_t size = 0;
    for (int64_t room = T;;) {
        uint32_t fit = remaining_below(&paper->remaining, bl_histogram_below(paper->h, room));
        if (fit == 0)
            return size;
        size_t bucket = remaining_take(&paper->remaining, (uint32_t)bl_random_below(&paper->random, fit));
        plan->sequence[next + size++] = paper->ids[paper->cursor[bucket]++];
        room -= paper->h->length[bucket];
    }
}

/* block_ptr[b] becomes first piece and size of block b, 32 bits each, so that shuffling the table moves the blocks. */
static int draw_blocks(struct bl_plan *plan, struct paper *paper, int64_t T, struct bl_error *e)
{
    size_t capacity = 0;
    for (size_t next = 0; next < plan->pieces; plan->blocks++) {
        if (plan->blocks + 1 >= capacity) { /* one more than the blocks: the end */
            capacity += capacity / 4 + 64;
            int64_t *larger = realloc(plan->block_ptr, capacity * sizeof *larger);
            if (!larger)
                return bl_error_memory(e);
            plan->block_ptr = larger;
        }
        size_t size = draw_block(plan, paper, next, T);
        plan->block_ptr[plan->blocks] = (int64_t)((uint64_t)next << 32 | size);
        next += size;
    }
    return 0;
}

/* The blocks in the order of the table, copied from plan->sequence to *ids, which then changes places with it. */
static void reorder_blocks(struct bl_plan *plan, uint32_t **ids, uint64_t seed)
{
    struct bl_random inside;
    bl_random_seed(&inside, seed, BL_STREAM_INSIDE);
    uint32_t *drawn = plan->sequence;
    plan->sequence = *ids;
    *ids = drawn;
    size_t next = 0;
    for (size_t b = 0; b < plan->blocks; b++) {
        uint64_t place = (uint64_t)plan->block_ptr[b];
        size_t size = place & UINT32_MAX;
        memcpy(plan->sequence + next, drawn + (place >> 32), size * sizeof *drawn);
        plan->block_ptr[b] = (int64_t)next;
        finish_block(plan, next, size, &inside);
        next += size;
    }
    plan->block_ptr[plan->blocks] = (int64_t)next;
}

int bl_place_paper(struct bl_plan *plan, const struct bl_histogram *h, const struct bl_lengths *lengths, int64_t T,
                   uint64_t seed, struct bl_error *e)
{
    struct paper paper = {.h = h};
    uint32_t *ids = NULL;
    bl_random_seed(&paper.random, seed, BL_STREAM_FILL);
    int rc = bl_histogram_identities(h, lengths, seed, &ids, e);
    if (rc == 0)
        rc = allocate(plan, h->start[h->distinct], 0, e);
    if (rc == 0)
        rc = remaining_make(&paper.remaining, h, e);
    paper.cursor = malloc((h->distinct + 1) * sizeof *paper.cursor);
    if (rc == 0 && !paper.cursor)
        rc = bl_error_memory(e);
    if (rc == 0) {
        memcpy(paper.cursor, h->start, h->distinct * sizeof *paper.cursor);
        paper.ids = ids;
        rc = draw_blocks(plan, &paper, T, e);
    }
    if (rc == 0) {
        shuffle_blocks(plan, seed);
        reorder_blocks(plan, &ids, seed);
    }
    free(paper.cursor);
    free(paper.remaining.tree);
    free(ids);
    return rc;
}
