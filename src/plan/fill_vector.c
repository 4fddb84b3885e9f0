/* --fill optimal with --max-column. The search for the one maximum that needs the most blocks gives the blocks to begin
 * with; sequences move between them until they keep to all maxima. These blocks are kept; for every seed, sequences
 * trade places. */
#include <stdlib.h>
#include <string.h>

#include "plan/bound.h"
#include "plan/bound_vector.h"
#include "plan/fill.h"
#include "plan/loads.h"
#include "plan/search_vector.h"
#include "plan/swap.h"
#include "plan/trade.h"

enum {
    SEARCH_SHARE = 2, /* of the effort, for all maxima together; the rest is for one at a time */
    REACH = 4096,     /* blocks after it, in random order, that a block trades with: what lies together is fast */
    OFFERS = 2,       /* of trades to other blocks, for every sequence of a block, */
    OFFERS_MAX = 64,  /* and in all: swaps do the rest */
};

/* One of the maxima: the pieces by what it limits, and the blocks that it alone would take. */
struct maximum {
    struct bl_subproblem only;
    struct bl_limits limits;
    int64_t bound;
};

/* need NULL: steps. */
static int maximum_prepare(struct maximum *m, const struct bl_subproblem *s, const struct bl_need *need,
                           const struct bl_limits *limits, struct bl_error *e)
{
    *m = (struct maximum){.only.lengths = need ? bl_needs_lengths(need, &s->lengths) : s->lengths,
                          .limits = *limits,
                          .bound = need ? bl_needs_bound(need, &s->lengths) : 0};
    int code = bl_histogram_make(&m->only.h, &m->only.lengths, e);
    if (code)
        return code;
    m->limits.T = need ? need->most : limits->T;
    int64_t searched = bl_bound_blocks(&m->only.h, m->limits.T);
    if (m->only.h.distinct)
        code = bl_fill_ops_optimal.prepare(&m->only, &searched, &m->limits, e);
    /* What was rounded up proves nothing. */
    if (!code && (!need || need->is_exact) && searched > m->bound)
        m->bound = searched;
    return code;
}

/* Keeps the maximum with the highest bound in *best. */
static int vector_find_maximum(struct maximum *best, struct bl_subproblem *s, const struct bl_limits *limits,
                               struct bl_error *e)
{
    const struct bl_limits some = bl_limits_divide(limits, SEARCH_SHARE * (1 + s->needs->count));
    int code = maximum_prepare(best, s, NULL, &some, e);
    for (int c = 0; !code && c < s->needs->count; c++) {
        struct maximum other;
        code = maximum_prepare(&other, s, &s->needs->each[c], &some, e);
        if (!code && other.bound > best->bound) {
            bl_subproblem_free(&best->only);
            *best = other;
        } else {
            bl_subproblem_free(&other.only);
        }
    }
    return code;
}

/* Adds the pieces that need nothing of what the maximum limits. */
static void vector_add_others(struct bl_loads *l, const struct bl_subproblem *s, const struct bl_lengths *by)
{
    for (size_t i = 0; i < s->lengths.count; i++)
        if (bl_lengths_has(&s->lengths, i) && !bl_lengths_has(by, i))
            bl_loads_leave(l, (uint32_t)bl_lengths_id(&s->lengths, i));
}

static int vector_prepare(struct bl_subproblem *s, int64_t *bound, const struct bl_limits *limits, struct bl_error *e)
{
    const struct bl_wanted fewest = {.multiple = 1};
    struct maximum most = {0};
    struct bl_draft d = {0};
    struct bl_loads l = {0};
    int code = vector_find_maximum(&most, s, limits, e);
    if (code)
        goto out;
    *bound = most.bound > *bound ? most.bound : *bound;
    code = bl_draft_make(&d, s->lengths.count, e);
    if (!code && most.only.lengths.count && most.bound)
        code = bl_fill_ops_optimal.draft(&d, &most.only, &most.limits, &fewest, 0, e);
    if (!code)
        code = bl_loads_make(&l, &d, 0, &s->lengths, s->needs, limits, e);
    if (code)
        goto out;
    vector_add_others(&l, s, &most.only.lengths);
    bl_random_seed(&l.random, 0, BL_STREAM_LOAD);
    code = bl_search_mend(&l, limits->work / SEARCH_SHARE / 2, e);
    if (!code && (int64_t)l.blocks > *bound)
        code = bl_bound_vector(bound, &l, limits, e);
    if (!code)
        code = bl_search_reduce(&l, *bound, limits->work / SEARCH_SHARE, e);
    bl_limits_use(limits, l.work);
    d.blocks = d.pieces = 0;
    if (!code)
        code = bl_loads_write(&l, &d, e);
out:
    bl_loads_free(&l);
    bl_subproblem_free(&most.only);
    bl_histogram_free(&s->h);
    s->kept = d;
    return code;
}

/* Copies the kept blocks in random order. */
static int vector_copy(struct bl_draft *d, const struct bl_draft *kept, uint64_t seed, struct bl_error *e)
{
    struct bl_random random;
    uint32_t *turn = malloc((kept->blocks + 1) * sizeof *turn);
    int code = turn ? BL_OK : bl_error_memory(e);
    bl_random_seed(&random, seed, BL_STREAM_BLOCK);
    for (size_t b = 0; !code && b < kept->blocks; b++)
        turn[b] = (uint32_t)b;
    if (!code)
        bl_random_shuffle_u32(&random, turn, kept->blocks);
    d->is_shuffled = d->blocks == 0;
    for (size_t b = 0; !code && b < kept->blocks; b++) {
        size_t size = bl_draft_size(kept, turn[b]);
        memcpy(d->sequence + d->pieces, kept->sequence + kept->first[turn[b]], size * sizeof *d->sequence);
        bl_random_shuffle_u32(&random, d->sequence + d->pieces, size); /* the halves of blocks that are split */
        code = bl_draft_close(d, size, e);
    }
    free(turn);
    return code;
}

/* Lets the sequences of the blocks from `first` on trade places. */
static int vector_trade(struct bl_draft *d, size_t first, const struct bl_subproblem *s, const struct bl_limits *limits,
                        uint64_t seed, struct bl_error *e)
{
    struct bl_loads l = {0};
    int code = bl_loads_make(&l, d, first, &s->lengths, s->needs, limits, e);
    if (code)
        goto out;
    bl_random_seed(&l.random, seed, BL_STREAM_TRADE);
    code = bl_loads_shuffle_equal(&l, e);
    if (code)
        goto out;
    size_t reach = l.blocks - 1 < REACH ? l.blocks - 1 : REACH;
    for (size_t b = 0; reach && b < l.blocks; b++)
        for (uint32_t offers = 0; offers < OFFERS_MAX && offers < OFFERS * l.block[b].size; offers++) {
            size_t other = (b + 1 + bl_random_below(&l.random, reach)) % l.blocks;
            bl_trade_any(&l, &l.block[b], &l.block[other]);
        }
    d->blocks = first;
    d->pieces = d->first[first];
    code = bl_loads_write(&l, d, e);
out:
    bl_loads_free(&l);
    return code;
}

static int vector_draft(struct bl_draft *d, const struct bl_subproblem *s, const struct bl_limits *limits,
                        const struct bl_wanted *wanted, uint64_t seed, struct bl_error *e)
{
    size_t first = d->blocks;
    int code = vector_copy(d, &s->kept, seed, e);
    if (code)
        return code;
    code = bl_ranks_split(d, first, first + bl_wanted_blocks(wanted, s->kept.blocks, s->kept.pieces), e);
    if (!code)
        code = vector_trade(d, first, s, limits, seed, e);
    return code ? code : bl_swap_sequences(d, first, &s->lengths, limits->T, s->needs, false, seed, e);
}

const struct bl_fill_ops bl_fill_ops_vector = {.prepare = vector_prepare, .draft = vector_draft};
