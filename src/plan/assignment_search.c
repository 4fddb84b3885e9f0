/* Searches for an assignment to a given number of micro-batches.
 *
 * Several beginnings are tried, until one reaches the proven bound. Three divide the groups among the ranks by the
 * largest differencing method (plan/differencing.h): by cost, by cost with equally many groups on each rank, and by
 * tokens; then the bundles of each rank are packed into its micro-batches. The fourth packs all bundles into
 * micro-batches as the planner packs blocks, and deals these to the ranks; it finds room where max_tokens leaves hardly
 * any. Every beginning is then levelled by exchanges (assignment_level.c). If ranks wait after every micro-batch, a
 * fifth comes first (assignment_rows.c). */
#include <stdlib.h>
#include <string.h>

#include "plan/assignment_problem.h"
#include "plan/differencing.h"
#include "plan/draft.h"
#include "plan/limits.h"
#include "plan/search.h"

enum beginning { BY_COST, BY_ROWS, BY_COST_EVENLY, BY_BLOCKS, BY_TOKENS, BEGINNINGS };

#define NO_BLOCK UINT32_MAX

enum {
    GOOD = 200000,        /* what is lost above the target by so small a part ends the search */
    OTHERS = 3,           /* parts of the work of BY_ROWS that levelling other beginnings may take */
    PACK_LEAST = 2000000, /* operations of a search for blocks; a few milliseconds */
    PACK_EACH = 20000,    /* the same, for each bundle */
    PACK_MOST = 200000000,
};

/* --- packing ------------------------------------------------------------------------------------------------------ */

/* Sets the blocks of the bundles from the patterns that were found. */
static int pack_write(uint32_t *block, const struct bl_patterns *patterns, const struct bl_histogram *h,
                      const struct bl_lengths *lengths, struct bl_error *e)
{
    struct bl_draft d = {0};
    int code = bl_draft_make(&d, lengths->count, e);
    if (!code)
        code = bl_draft_patterns(&d, patterns, h, lengths, 0, e);
    for (size_t b = 0; !code && b < d.blocks; b++)
        for (uint32_t i = d.first[b]; i < d.first[b + 1]; i++)
            block[d.sequence[i]] = (uint32_t)b;
    bl_draft_free(&d);
    return code;
}

/* The search is told that `most` blocks are the bound, so that it ends as soon as it has so few. Bundles without tokens
 * are in no block. */
int bl_assignment_pack(uint32_t *block, size_t *blocks, int64_t *bound, const struct bl_assignment_problem *p,
                       const uint32_t *id, size_t count, size_t most, struct bl_error *e)
{
    const struct bl_lengths lengths = {
        .length = p->length, .index = id, .count = count, .shortest = 1, .longest = p->cap, .unit = 1, .cap = p->cap};
    int64_t work = PACK_LEAST + PACK_EACH * (int64_t)count, enough = (int64_t)most;
    const struct bl_limits limits = {
        .T = p->cap, .sequences = UINT32_MAX, .work = work < PACK_MOST ? work : PACK_MOST, .cancel = p->cancel};
    struct bl_histogram h;
    struct bl_patterns patterns = {0};
    for (size_t i = 0; i < count; i++)
        block[id[i]] = NO_BLOCK;
    *blocks = 0;
    BL_TRY(bl_histogram_make(&h, &lengths, e));
    int code = BL_OK;
    int64_t known = h.distinct ? bl_bound_blocks(&h, p->cap) : 0;
    *bound = known > *bound ? known : *bound;
    if (h.distinct && *bound <= enough) {
        code = bl_search_best(&patterns, &enough, &h, &limits, e);
        *bound = enough > (int64_t)most ? enough : *bound;
        *blocks = patterns.blocks;
        if (!code && patterns.blocks <= most)
            code = pack_write(block, &patterns, &h, &lengths, e);
    } else if (h.distinct) {
        *blocks = most + 1;
    }
    bl_patterns_free(&patterns);
    bl_histogram_free(&h);
    return code;
}

/* --- the micro-batches of a rank ---------------------------------------------------------------------------------- */

/* The bundles of each rank, in order of their numbers, and arrays for those of one rank. */
struct arranging {
    const struct bl_assignment_problem *p;
    struct bl_assignment_state *s;
    size_t *first;    /* [ranks + 1] */
    uint32_t *bundle; /* [bundles] */
    uint32_t *part;   /* [bundles] */
    uint32_t *block;  /* [bundles] by bundle */
    int64_t *cost;    /* [max(bundles, rows)] */
    int64_t *tokens;  /* [rows] */
};

static void arranging_free(struct arranging *a)
{
    free(a->first);
    free(a->bundle);
    free(a->part);
    free(a->block);
    free(a->cost);
    free(a->tokens);
}

static int arranging_make(struct arranging *a, struct bl_assignment_state *s, const struct bl_assignment_problem *p,
                          struct bl_error *e)
{
    size_t bundles = p->bundles + 1;
    *a = (struct arranging){.p = p,
                            .s = s,
                            .first = calloc(p->ranks + 2, sizeof *a->first),
                            .bundle = malloc(bundles * sizeof *a->bundle),
                            .part = malloc(bundles * sizeof *a->part),
                            .block = malloc(bundles * sizeof *a->block),
                            .cost = malloc((bundles + p->rows) * sizeof *a->cost),
                            .tokens = malloc(p->rows * sizeof *a->tokens)};
    if (!a->first || !a->bundle || !a->part || !a->block || !a->cost || !a->tokens)
        return bl_error_memory(e);
    for (size_t b = 0; b < p->bundles; b++)
        a->first[s->rank[p->group[b]] + 2]++;
    for (size_t r = 0; r < p->ranks; r++)
        a->first[r + 2] += a->first[r + 1];
    for (size_t b = 0; b < p->bundles; b++)
        a->bundle[a->first[s->rank[p->group[b]] + 1]++] = (uint32_t)b;
    return BL_OK;
}

/* Returns whether the parts of the bundles of a rank are within the maximum. */
static bool rank_is_within(struct arranging *a, size_t rank)
{
    const struct bl_assignment_problem *p = a->p;
    memset(a->tokens, 0, p->rows * sizeof *a->tokens);
    for (size_t i = a->first[rank]; i < a->first[rank + 1]; i++)
        a->tokens[a->part[i]] += p->length[a->bundle[i]];
    for (size_t m = 0; m < p->rows && p->cap; m++)
        if (a->tokens[m] > p->cap)
            return false;
    return true;
}

/* Divides the bundles of a rank into micro-batches: by the differencing method, or, if must, by a search for blocks
 * within the maximum. Otherwise they stay as they are. *is_done: whether the rank is within the maximum. */
static int rank_divide(struct arranging *a, size_t rank, bool must, bool *is_done, struct bl_error *e)
{
    const struct bl_assignment_problem *p = a->p;
    const uint32_t *id = a->bundle + a->first[rank];
    size_t count = a->first[rank + 1] - a->first[rank], blocks;
    uint32_t *part = a->part + a->first[rank];
    int64_t bound = 0;
    for (size_t i = 0; i < count; i++)
        a->cost[i] = p->cost[id[i]];
    BL_TRY(bl_differencing(part, a->cost, count, p->rows, false, e));
    *is_done = rank_is_within(a, rank);
    if (!*is_done && must) {
        BL_TRY(bl_assignment_pack(a->block, &blocks, &bound, p, id, count, p->rows, e));
        *is_done = blocks <= p->rows;
        for (size_t i = 0; i < count; i++)
            part[i] = a->block[id[i]] == NO_BLOCK ? 0 : a->block[id[i]];
    }
    for (size_t i = 0; i < count && *is_done; i++)
        a->s->bin[id[i]] = (uint32_t)(rank * p->rows + part[i]);
    return BL_OK;
}

/* Numbers the micro-batches of a rank by cost, the most expensive first, so that those of all ranks with one number
 * cost alike. Ties keep their order. */
static void rank_order(struct arranging *a, size_t rank)
{
    const struct bl_assignment_problem *p = a->p;
    uint32_t *order = a->part; /* free by now */
    size_t begin = a->first[rank], end = a->first[rank + 1];
    if (begin == end)
        return;
    memset(a->cost, 0, p->rows * sizeof *a->cost);
    memset(a->tokens, 0, p->rows * sizeof *a->tokens);
    for (size_t i = begin; i < end; i++) {
        size_t m = a->s->bin[a->bundle[i]] % p->rows;
        a->cost[m] += p->cost[a->bundle[i]];
        a->tokens[m] = 1; /* it has a bundle */
    }
    size_t used = 0;
    for (size_t m = 0; m < p->rows; m++) {
        if (!a->tokens[m])
            continue;
        size_t at = used++;
        for (; at > 0 && a->cost[order[at - 1]] < a->cost[m]; at--)
            order[at] = order[at - 1];
        order[at] = (uint32_t)m;
    }
    for (size_t i = 0; i < used; i++)
        a->tokens[order[i]] = (int64_t)i; /* the new number */
    for (size_t i = begin; i < end; i++)
        a->s->bin[a->bundle[i]] = (uint32_t)(rank * p->rows + (size_t)a->tokens[a->s->bin[a->bundle[i]] % p->rows]);
}

/* Divides the bundles of all ranks into micro-batches, and orders these. must: as for rank_divide; *is_done: whether
 * all ranks are within the maximum. */
static int ranks_arrange(struct bl_assignment_state *s, const struct bl_assignment_problem *p, bool must, bool *is_done,
                         struct bl_error *e)
{
    struct arranging a;
    int code = arranging_make(&a, s, p, e);
    *is_done = true;
    for (size_t r = 0; !code && r < p->ranks && (*is_done || !must); r++) {
        code = bl_assignment_check_cancelled(p, e);
        if (!code)
            code = rank_divide(&a, r, must, is_done, e);
        if (!code)
            rank_order(&a, r);
    }
    memset(s->used, 0, p->ranks * p->rows * sizeof *s->used);
    for (size_t b = 0; b < p->bundles && !code; b++)
        s->used[s->bin[b]] += p->length[b];
    arranging_free(&a);
    return code;
}

/* Orders the micro-batches of all ranks again. */
static int ranks_order(struct bl_assignment_state *s, const struct bl_assignment_problem *p, struct bl_error *e)
{
    struct arranging a;
    int code = arranging_make(&a, s, p, e);
    for (size_t r = 0; !code && r < p->ranks; r++)
        rank_order(&a, r);
    arranging_free(&a);
    return code;
}

/* --- beginnings --------------------------------------------------------------------------------------------------- */

/* Deals blocks to ranks, the most expensive first: each to the rank that costs least so far and has a micro-batch left.
 * order: [blocks]; bin: [blocks], set; full: [ranks] and cost: [ranks], 0. */
static void blocks_deal(const struct bl_assignment_problem *p, struct bl_assignment_costed *order, size_t blocks,
                        uint32_t *bin, uint32_t *full, int64_t *cost)
{
    qsort(order, blocks, sizeof *order, bl_assignment_costed_compare);
    for (size_t i = 0; i < blocks; i++) {
        size_t best = p->ranks;
        for (size_t r = 0; r < p->ranks; r++)
            if (full[r] < p->rows && (best == p->ranks || cost[r] < cost[best]))
                best = r;
        bin[order[i].number] = (uint32_t)(best * p->rows + full[best]);
        full[best]++;
        cost[best] += order[i].cost;
    }
}

/* Begins with blocks of all bundles. *is_found: whether there are few enough. */
static int begin_by_blocks(struct bl_assignment_state *s, struct bl_assignment_problem *p, bool *is_found,
                           struct bl_error *e)
{
    size_t most = p->ranks * p->rows, blocks = 0;
    uint32_t *id = malloc((p->bundles + 1) * sizeof *id), *block = malloc((p->bundles + 1) * sizeof *block);
    uint32_t *bin = malloc(most * sizeof *bin), *full = calloc(p->ranks, sizeof *full);
    struct bl_assignment_costed *order = calloc(most, sizeof *order);
    int64_t *cost = calloc(p->ranks, sizeof *cost);
    int code = id && block && bin && full && order && cost ? BL_OK : bl_error_memory(e);
    for (size_t b = 0; !code && b < p->bundles; b++)
        id[b] = (uint32_t)b;
    if (!code)
        code = bl_assignment_pack(block, &blocks, &p->blocks, p, id, p->bundles, most, e);
    *is_found = !code && blocks <= most;
    if (*is_found) {
        for (size_t b = 0; b < blocks; b++)
            order[b].number = (uint32_t)b;
        for (size_t b = 0; b < p->bundles; b++)
            order[block[b] == NO_BLOCK ? 0 : block[b]].cost += p->cost[b];
        blocks_deal(p, order, blocks ? blocks : 1, bin, full, cost);
        for (size_t b = 0; b < p->bundles; b++) {
            s->bin[b] = bin[block[b] == NO_BLOCK ? 0 : block[b]];
            s->rank[p->group[b]] = (uint32_t)(s->bin[b] / p->rows);
            s->used[s->bin[b]] += p->length[b];
        }
    }
    free(id);
    free(block);
    free(bin);
    free(full);
    free(order);
    free(cost);
    return code;
}

/* Makes one of the beginnings. *is_found: whether all micro-batches are within the maximum. */
static int begin(struct bl_assignment_state *s, struct bl_assignment_problem *p, enum beginning kind, bool *is_found,
                 struct bl_error *e)
{
    bool is_free = p->groups == p->bundles;
    *is_found = false;
    if (kind == BY_ROWS)
        return is_free && p->is_micro && p->rows > 1 ? bl_assignment_begin_by_rows(s, p, is_found, e) : BL_OK;
    if (kind == BY_BLOCKS)
        return is_free && p->cap ? begin_by_blocks(s, p, is_found, e) : BL_OK;
    if (kind == BY_TOKENS && !p->cap)
        return BL_OK;
    const int64_t *cost = kind == BY_TOKENS ? p->group_length : p->group_cost;
    BL_TRY(bl_differencing(s->rank, cost, p->groups, p->ranks, kind == BY_COST_EVENLY, e));
    *is_found = true;
    return p->cap ? ranks_arrange(s, p, true, is_found, e) : BL_OK;
}

int bl_assignment_costed_compare(const void *a, const void *b)
{
    const struct bl_assignment_costed *x = a, *y = b;
    if (x->cost != y->cost)
        return x->cost > y->cost ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* --- search ------------------------------------------------------------------------------------------------------- */

/* Levels a beginning. */
static int improve(struct bl_assignment_state *s, const struct bl_assignment_problem *p, enum beginning kind,
                   struct bl_error *e)
{
    bool is_done;
    if (kind == BY_ROWS)
        return bl_assignment_level_bins(s, p, 1, e);
    BL_TRY(bl_assignment_level_ranks(s, p, e));
    BL_TRY(ranks_arrange(s, p, false, &is_done, e));
    return p->is_micro ? bl_assignment_level_bins(s, p, p->groups == p->bundles ? OTHERS : 1, e) : BL_OK;
}

int bl_assignment_search(struct bl_assignment_state *best, struct bl_assignment_problem *p, bool *is_found,
                         struct bl_error *e)
{
    int code = BL_OK;
    *best = (struct bl_assignment_state){0};
    *is_found = false;
    for (int k = 0; k < BEGINNINGS && !code; k++) {
        struct bl_assignment_state s;
        bool found = false;
        if (*is_found && (best->lost <= p->target + p->target / GOOD))
            continue;
        code = bl_assignment_state_make(&s, p, e);
        if (!code)
            code = begin(&s, p, (enum beginning)k, &found, e);
        if (!code && found)
            code = improve(&s, p, (enum beginning)k, e);
        if (!code)
            code = bl_assignment_check_cancelled(p, e);
        if (!code && found && (!*is_found || s.lost < best->lost)) {
            struct bl_assignment_state former = *best;
            *best = s;
            s = former;
            *is_found = true;
        }
        bl_assignment_state_free(&s);
    }
    if (!code && *is_found)
        code = bl_assignment_fill_empty(best, p, e);
    if (!code && *is_found && !p->is_micro)
        code = ranks_order(best, p, e);
    if (code)
        bl_assignment_state_free(best);
    return code;
}
