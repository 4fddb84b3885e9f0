/* --fill paper, BLoad's own rule (arXiv 2310.10879): while a remaining sequence fits into the block, add one of those
 * that fit, each with equal probability; then start the next block. O(N log D).
 *
 * A Fenwick tree over the remaining sequences of each bucket allows drawing one of all that fit in O(log D). */
#include <stdlib.h>
#include <string.h>

#include "plan/fill.h"
#include "plan/random.h"

/* tree[i] sums the i & -i buckets that end with bucket i - 1. */
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

/* Takes the sequence with `rank` others before it and returns its bucket. */
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
    return BL_OK;
}

struct paper {
    const struct bl_histogram *h;
    struct remaining remaining;
    const uint32_t *ids;
    uint32_t *cursor; /* [D] next id of each bucket */
    struct bl_random random;
};

/* Fills one block after the last; returns the number of its pieces. */
static size_t paper_draw_block(struct bl_draft *d, struct paper *paper, const struct bl_limits *limits)
{
    size_t size = 0;
    for (int64_t room = limits->T; size < limits->sequences;) {
        uint32_t fit = remaining_below(&paper->remaining, bl_histogram_below(paper->h, room));
        if (fit == 0)
            break;
        size_t bucket = remaining_take(&paper->remaining, (uint32_t)bl_random_below(&paper->random, fit));
        d->sequence[d->pieces + size++] = paper->ids[paper->cursor[bucket]++];
        room -= paper->h->length[bucket];
    }
    return size;
}

static int paper_draw_blocks(struct bl_draft *d, struct paper *paper, const struct bl_limits *limits, uint64_t seed,
                             struct bl_error *e)
{
    struct bl_random inside;
    bl_random_seed(&inside, seed, BL_STREAM_INSIDE);
    size_t end = d->pieces + paper->h->start[paper->h->distinct];
    int code = BL_OK;
    while (!code && d->pieces < end) {
        size_t size = paper_draw_block(d, paper, limits);
        bl_random_shuffle_u32(&inside, d->sequence + d->pieces, size);
        code = bl_draft_close(d, size, e);
    }
    return code;
}

static int paper_draft(struct bl_draft *d, const struct bl_subproblem *s, const struct bl_limits *limits,
                       const struct bl_wanted *wanted, uint64_t seed, struct bl_error *e)
{
    (void)wanted; /* the rule says how many there are */
    struct paper paper = {.h = &s->h, .cursor = malloc((s->h.distinct + 1) * sizeof *paper.cursor)};
    uint32_t *ids = NULL;
    bl_random_seed(&paper.random, seed, BL_STREAM_FILL);
    int code = paper.cursor ? remaining_make(&paper.remaining, &s->h, e) : bl_error_memory(e);
    if (code)
        goto out;
    code = bl_histogram_ids(&s->h, &s->lengths, seed, &ids, e);
    if (code)
        goto out;
    memcpy(paper.cursor, s->h.start, s->h.distinct * sizeof *paper.cursor);
    paper.ids = ids;
    code = paper_draw_blocks(d, &paper, limits, seed, e);
out:
    free(paper.cursor);
    free(paper.remaining.tree);
    free(ids);
    return code;
}

const struct bl_fill_ops bl_fill_ops_paper = {
    .is_random = true, .prepare = bl_fill_prepare_bound, .draft = paper_draft};
