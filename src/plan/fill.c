/* The fills optimal and paper, the table of all fills, and the subproblems that fills solve.
 *
 * A subproblem is the set of pieces that may share blocks: all of them, or those of a group. A fill first prepares a
 * subproblem once, without a seed, and then makes a draft for each seed. */
#include "plan/fill.h"

#include <stdlib.h>
#include <string.h>

#include "plan/drawing.h"
#include "plan/exchange.h"
#include "plan/random.h"
#include "plan/search.h"

/* If there are more distinct lengths, they are rounded up by less than a millionth of the longest: patterns and prices
 * for all of them would need more memory than the lengths. */
#define BL_DISTINCT_MAX ((size_t)1 << 20)

/* --- subproblems -------------------------------------------------------------------------------------------------- */

/* Sorts the pieces by group with a counting sort into s->member. begin: [groups+1] zeros; afterwards where each group
 * begins in s->member. BL_EFAIL: out of memory. */
static int subproblems_sort_members(struct bl_subproblems *s, const struct bl_pieces *pieces, size_t groups,
                                    size_t *begin, struct bl_error *e)
{
    const struct bl_lengths *all = &pieces->lengths;
    s->member = malloc((all->count + 1) * sizeof *s->member);
    if (!s->member)
        return bl_error_memory(e);
    for (size_t i = 0; i < all->count; i++)
        if (bl_lengths_has(all, i))
            begin[bl_pieces_group(pieces, i) + 1]++;
    for (size_t g = 0; g < groups; g++)
        begin[g + 1] += begin[g];
    for (size_t i = 0; i < all->count; i++)
        if (bl_lengths_has(all, i))
            s->member[begin[bl_pieces_group(pieces, i)]++] = (uint32_t)i;
    /* Scattering moved each begin to the end of its group, where the next group begins: shifts them back by one. */
    memmove(begin + 1, begin, groups * sizeof *begin);
    begin[0] = 0;
    return BL_OK;
}

/* All subproblems share the lengths of the caller; they differ in the index alone. */
int bl_subproblems_make(struct bl_subproblems *s, const struct bl_pieces *pieces, bool split, struct bl_error *e)
{
    size_t groups = 1;
    for (size_t i = 0; split && i < pieces->lengths.count; i++)
        groups = bl_pieces_group(pieces, i) >= groups ? (size_t)bl_pieces_group(pieces, i) + 1 : groups;
    size_t *begin = calloc(groups + 1, sizeof *begin);
    *s = (struct bl_subproblems){.each = calloc(groups, sizeof *s->each)};
    int code = begin && s->each ? BL_OK : bl_error_memory(e);
    if (code)
        goto out;
    if (!split) {
        s->each[s->count++].lengths = pieces->lengths;
        goto out;
    }
    code = subproblems_sort_members(s, pieces, groups, begin, e);
    for (size_t g = 0; !code && g < groups; g++) {
        if (begin[g] == begin[g + 1])
            continue;
        struct bl_lengths *lengths = &s->each[s->count++].lengths;
        *lengths = pieces->lengths;
        lengths->index = s->member + begin[g];
        lengths->count = begin[g + 1] - begin[g];
    }
out:
    free(begin);
    return code;
}

void bl_subproblem_free(struct bl_subproblem *s)
{
    bl_histogram_free(&s->h);
    bl_patterns_free(&s->patterns);
    bl_draft_free(&s->kept);
}

void bl_subproblems_free(struct bl_subproblems *s)
{
    for (size_t i = 0; i < s->count; i++)
        bl_subproblem_free(&s->each[i]);
    free(s->each);
    free(s->member);
    *s = (struct bl_subproblems){0};
}

/* --- fills -------------------------------------------------------------------------------------------------------- */

#define FILL_ADDRESS(id, name) &bl_fill_ops_##name,
const struct bl_fill_ops *const bl_fills[] = {BL_FILL_LIST(FILL_ADDRESS)};

/* Rounded lengths prove no bound, since rounding up can only need more blocks. The search gets an eighth of the work,
 * as only its bound is used. */
int bl_fill_prepare_bound(struct bl_subproblem *s, int64_t *bound, const struct bl_limits *limits, struct bl_error *e)
{
    if (s->h.distinct > BL_DISTINCT_MAX) {
        bl_histogram_coarsen(&s->h, BL_DISTINCT_MAX);
        return BL_OK;
    }
    const struct bl_limits some = bl_limits_divide(limits, 8);
    struct bl_patterns patterns = {0};
    int code = bl_search_best(&patterns, bound, &s->h, &some, e);
    bl_patterns_free(&patterns);
    return code;
}

/* --- fill optimal ------------------------------------------------------------------------------------------------- */

/* --fill optimal: as few blocks as the search finds. Its patterns make a draft, the same numbers of blocks for every
 * seed; drawing and swaps then decide by the seed which sequences share a block. */

enum {
    EQUAL_ENOUGH = 1000, /* mean number of sequences of a length from which patterns alone can mix well */
    DRAWING_SHARE = 16,  /* drawing gets 1/16 of the work */
};

/* The accepted pair repeat rate beyond that of a random partition. */
static const double FEW_AGAIN = 0.0005;

/* Prepares a histogram with too many lengths. Keeps patterns for rounded lengths, unless best fit with the exact
 * lengths takes fewer blocks, or reaches the bound. */
static int optimal_prepare_rounded(struct bl_subproblem *s, int64_t bound, const struct bl_limits *limits,
                                   struct bl_error *e)
{
    size_t blocks;
    int code = bl_search_bestfit_count(&blocks, &s->h, limits, e);
    if (code)
        return code;
    if ((int64_t)blocks > bound) {
        bl_histogram_coarsen(&s->h, BL_DISTINCT_MAX);
        code = bl_search_best(&s->patterns, &bound, &s->h, limits, e);
        if (code || s->patterns.blocks <= blocks)
            return code;
        bl_patterns_free(&s->patterns);
    }
    bl_histogram_free(&s->h);
    s->by_sequence = true;
    return BL_OK;
}

/* Prepares the patterns of the optimal fill, and raises *bound to what the search proves. */
static int optimal_prepare(struct bl_subproblem *s, int64_t *bound, const struct bl_limits *limits, struct bl_error *e)
{
    if (s->h.distinct > BL_DISTINCT_MAX)
        return optimal_prepare_rounded(s, *bound, limits, e);
    return bl_search_best(&s->patterns, bound, &s->h, limits, e);
}

/* Adds the blocks of the prepared solution to the draft, before they are mixed. */
static int optimal_draft_kept(struct bl_draft *d, const struct bl_subproblem *s, const struct bl_limits *limits,
                              uint64_t seed, struct bl_error *e)
{
    return s->by_sequence ? bl_draft_bestfit(d, &s->lengths, limits, seed, e)
                          : bl_draft_patterns(d, &s->patterns, &s->h, &s->lengths, seed, e);
}

/* Returns n choose 2, in doubles, since n can be 10^9. */
static double pairs_of(double n)
{
    return n * (n - 1) / 2;
}

/* Sets *is_mixed if plans of two seeds share hardly more pairs than random partitions do, although the patterns stay:
 * so many sequences are of equal length, and those of one length are spread over many blocks. Then drawing and swaps
 * gain nothing. BL_EFAIL: out of memory.
 *
 * Of the N pairs of n sequences of one length, p share a block in each plan, so p * p / N pairs are expected to share
 * one in both. */
static int subproblem_find_mixed(const struct bl_subproblem *s, bool *is_mixed, struct bl_error *e)
{
    const struct bl_patterns *p = &s->patterns;
    const struct bl_histogram *h = &s->h;
    *is_mixed = false;
    if (s->by_sequence || h->start[h->distinct] / (h->distinct + 1) < EQUAL_ENOUGH)
        return BL_OK;
    double *pairs = calloc(h->distinct, sizeof *pairs), all = 0, again = 0;
    uint32_t *here = calloc(h->distinct, sizeof *here);
    int code = pairs && here ? BL_OK : bl_error_memory(e);
    if (!code) {
        /* pairs[b]: pairs of sequences of length b that share a block. here[b]: sequences of length b in the present
         * pattern, 0 between patterns. */
        for (size_t i = 0; i < p->count; i++) {
            for (uint32_t k = p->first[i]; k < p->first[i + 1]; k++)
                pairs[p->bucket[k]] += (double)p->use[i] * here[p->bucket[k]]++;
            for (uint32_t k = p->first[i]; k < p->first[i + 1]; k++)
                here[p->bucket[k]] = 0;
        }
    }
    for (size_t i = 0; i < p->count; i++)
        all += p->use[i] * pairs_of(p->first[i + 1] - p->first[i]);
    for (size_t b = 0; !code && b < h->distinct; b++)
        again += pairs[b] > 0 ? pairs[b] * pairs[b] / pairs_of(bl_histogram_count(h, b)) : 0;
    *is_mixed = again <= all * (all / pairs_of(h->start[h->distinct]) + FEW_AGAIN);
    free(pairs);
    free(here);
    return code;
}

/* Replaces the blocks from `first` on by drawn ones. Tries to draw all blocks, then only those without a sequence over
 * 3/4 T, which few others fit beside. If both fail, the blocks of the patterns stay. */
static int optimal_draw(struct bl_draft *d, size_t first, const struct bl_subproblem *s, const struct bl_limits *limits,
                        size_t wanted, uint64_t seed, enum bl_drawn *drawn, struct bl_error *e)
{
    static const double longest[] = {1, 0.75};
    const struct bl_limits some = bl_limits_divide(limits, DRAWING_SHARE);
    struct bl_drawing g = {.lengths = &s->lengths, .limits = &some, .blocks = wanted, .seed = seed};
    int code = BL_OK;
    *drawn = BL_DRAWN_NOT;
    for (size_t i = 0; !code && *drawn != BL_DRAWN && i < sizeof longest / sizeof *longest; i++) {
        g.longest = (int64_t)(longest[i] * (double)limits->T);
        code = bl_drawing_make(d, first, &g, drawn, e);
        if (code || *drawn != BL_DRAWN_SPOILT)
            continue;
        d->blocks = first;
        d->pieces = d->first[first];
        code = optimal_draft_kept(d, s, limits, seed, e);
    }
    return code;
}

/* The patterns give the number of blocks; drawing, if it succeeds, needs no more of them. */
static int optimal_draft(struct bl_draft *d, const struct bl_subproblem *s, const struct bl_limits *limits,
                         const struct bl_wanted *wanted, uint64_t seed, struct bl_error *e)
{
    size_t first = d->blocks, pieces = d->pieces;
    int code = optimal_draft_kept(d, s, limits, seed, e);
    if (code)
        return code;
    size_t blocks = bl_wanted_blocks(wanted, d->blocks - first, d->pieces - pieces);
    enum bl_drawn drawn = BL_DRAWN_NOT;
    /* Blocks of one sequence, or a single block, leave nothing to mix. */
    bool is_fixed = limits->sequences == 1 || blocks < 2;
    if (!is_fixed)
        code = subproblem_find_mixed(s, &is_fixed, e);
    if (!code && !is_fixed)
        code = optimal_draw(d, first, s, limits, blocks, seed, &drawn, e);
    if (!code)
        code = bl_ranks_split(d, first, first + blocks, e);
    if (!code && !is_fixed)
        code = bl_swap_sequences(d, first, &s->lengths, limits->T, NULL, drawn == BL_DRAWN, seed, e);
    return code;
}

const struct bl_fill_ops bl_fill_ops_optimal = {.prepare = optimal_prepare, .draft = optimal_draft};

/* --- fill paper --------------------------------------------------------------------------------------------------- */

/* --fill paper, BLoad's own rule (arXiv 2310.10879): while a remaining sequence fits into the block, add one of those
 * that fit, each with equal probability; then start the next block. O(N log D).
 *
 * A Fenwick tree over the remaining sequences of each bucket allows drawing one of all that fit in O(log D). */

/* The remaining sequences as a Fenwick tree: tree[i] sums the i & -i buckets that end with bucket i - 1, so tree[6]
 * sums buckets 4 and 5. */
struct remaining {
    size_t distinct;
    uint32_t *tree; /* [distinct+1] */
};

/* Takes the sequence with `rank` others before it, in the order of the buckets, and returns its bucket. */
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

/* Makes the tree of a full histogram in linear time, as start[] has the prefix sums. BL_EFAIL: out of memory. */
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

/* The state of the paper fill. h, ids: the caller's. */
struct paper {
    const struct bl_histogram *h;
    struct remaining remaining;
    const uint32_t *ids;
    uint32_t *cursor; /* [D] next id of each bucket */
    struct bl_random random;
};

/* Fills one block after the last one of the draft, which the caller closes. Returns the number of its pieces. */
static size_t paper_draw_block(struct bl_draft *d, struct paper *paper, const struct bl_limits *limits)
{
    size_t size = 0;
    for (int64_t room = limits->T; size < limits->sequences;) {
        /* fit: sequences that fit into the room, a prefix sum of the tree. */
        uint32_t fit = 0;
        for (size_t i = bl_histogram_below(paper->h, room); i > 0; i &= i - 1)
            fit += paper->remaining.tree[i];
        if (fit == 0)
            break;
        size_t bucket = remaining_take(&paper->remaining, (uint32_t)bl_random_below(&paper->random, fit));
        d->sequence[d->pieces + size++] = paper->ids[paper->cursor[bucket]++];
        room -= paper->h->length[bucket];
    }
    return size;
}

/* Draws blocks until all sequences of the histogram have one, and shuffles each. BL_EFAIL: out of memory. */
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
