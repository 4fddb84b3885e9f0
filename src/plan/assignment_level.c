/* Levels an assignment: exchanges groups between ranks, and bundles between micro-batches (plan/relief.h). */
#include "plan/assignment_problem.h"

#include <stdlib.h>
#include <string.h>

enum {
    WORK_LEAST = 200000, /* comparisons of one search; a few milliseconds */
    WORK_ELEMENT = 300,  /* the same, for each element */
    FILL_LEAST = 100000, /* bundles that are offered to empty micro-batches */
    FILL_EACH = 30,      /* the same, for each bundle */
    SHARE = 1000000,     /* what is lost above the target by so small a part is not worth a search */
};

struct levelling_state {
    struct bl_assignment_state *s;
    const struct bl_assignment_problem *p;
    int64_t *room; /* [rows] of a rank, while groups are placed */
    uint32_t *row; /* [bundles] the micro-batch chosen for a bundle of the groups that are placed */
};

static uint32_t group_size(const struct bl_assignment_problem *p, uint32_t group)
{
    return p->first[group + 1] - p->first[group];
}

/* --- ranks -------------------------------------------------------------------------------------------------------- */

/* Places the bundles of group `come`, the longest first, into the fullest micro-batches of a rank that have room, after
 * group `gone` has left it. Returns false if they do not fit. */
static bool rank_place(const struct levelling_state *v, size_t rank, uint32_t come, uint32_t gone)
{
    const struct bl_assignment_problem *p = v->p;
    size_t begin = rank * p->rows;
    if (come == BL_RELIEF_NONE)
        return true;
    for (size_t m = 0; m < p->rows; m++)
        v->room[m] = p->cap - v->s->used[begin + m];
    for (uint32_t i = gone == BL_RELIEF_NONE ? 0 : p->first[gone]; gone != BL_RELIEF_NONE && i < p->first[gone + 1];
         i++)
        v->room[v->s->bin[p->member[i]] - begin] += p->length[p->member[i]];
    for (uint32_t i = p->first[come]; i < p->first[come + 1]; i++) {
        int64_t length = p->length[p->member[i]];
        size_t best = p->rows;
        for (size_t m = 0; m < p->rows; m++)
            if (v->room[m] >= length && (best == p->rows || v->room[m] < v->room[best]))
                best = m;
        if (best == p->rows)
            return false;
        v->room[best] -= length;
        v->row[p->member[i]] = (uint32_t)(begin + best);
    }
    return true;
}

static bool ranks_fit(void *context, size_t from, uint32_t x, size_t to, uint32_t y)
{
    const struct levelling_state *v = context;
    return !v->p->cap || (rank_place(v, to, x, y) && rank_place(v, from, y, x));
}

/* Moves a group to a rank, and its bundles to the micro-batches that rank_place has chosen. */
static void rank_move(const struct levelling_state *v, size_t rank, uint32_t group)
{
    const struct bl_assignment_problem *p = v->p;
    v->s->rank[group] = (uint32_t)rank;
    for (uint32_t i = p->first[group]; p->cap && i < p->first[group + 1]; i++) {
        uint32_t bundle = p->member[i];
        v->s->used[v->s->bin[bundle]] -= p->length[bundle];
        v->s->bin[bundle] = v->row[bundle];
        v->s->used[v->s->bin[bundle]] += p->length[bundle];
    }
}

/* The pair that was offered last need not be the one that is made, so the bundles are placed again. */
static void ranks_exchange(void *context, size_t from, uint32_t x, size_t to, uint32_t y)
{
    const struct levelling_state *v = context;
    if (!ranks_fit(context, from, x, to, y))
        return; /* never: it did fit */
    rank_move(v, to, x);
    if (y != BL_RELIEF_NONE)
        rank_move(v, from, y);
}

/* --- micro-batches ------------------------------------------------------------------------------------------------ */

/* Returns whether a bundle may go from one micro-batch to another: to another rank only if it is a whole group. */
static bool bundle_may_go(const struct levelling_state *v, size_t from, uint32_t bundle, size_t to)
{
    return from / v->p->rows == to / v->p->rows || group_size(v->p, v->p->group[bundle]) == 1;
}

static bool bins_fit(void *context, size_t from, uint32_t x, size_t to, uint32_t y)
{
    const struct levelling_state *v = context;
    const struct bl_assignment_problem *p = v->p;
    int64_t moved = p->length[x] - (y == BL_RELIEF_NONE ? 0 : p->length[y]);
    if (p->cap && (v->s->used[to] + moved > p->cap || v->s->used[from] - moved > p->cap))
        return false;
    return bundle_may_go(v, from, x, to) && (y == BL_RELIEF_NONE || bundle_may_go(v, to, y, from));
}

static void bundle_move(const struct levelling_state *v, uint32_t bundle, size_t to)
{
    struct bl_assignment_state *s = v->s;
    s->used[s->bin[bundle]] -= v->p->length[bundle];
    s->bin[bundle] = (uint32_t)to;
    s->used[to] += v->p->length[bundle];
    s->rank[v->p->group[bundle]] = (uint32_t)(to / v->p->rows);
}

static void bins_exchange(void *context, size_t from, uint32_t x, size_t to, uint32_t y)
{
    const struct levelling_state *v = context;
    bundle_move(v, x, to);
    if (y != BL_RELIEF_NONE)
        bundle_move(v, y, from);
}

/* --- levelling ---------------------------------------------------------------------------------------------------- */

/* Frees the holders of the last search, and makes `holders` others: element i is in holder at[i]. */
static int holders_fill(struct bl_assignment_state *s, size_t holders, const uint32_t *at, const int64_t *cost,
                        size_t elements, struct bl_error *e)
{
    bl_holders_free(s->own, s->holders);
    s->holders = holders;
    s->own = calloc(holders, sizeof *s->own);
    if (!s->own)
        return bl_error_memory(e);
    for (size_t i = 0; i < elements; i++)
        BL_TRY(bl_holder_add(&s->own[at[i]], (uint32_t)i, cost, e));
    return BL_OK;
}

/* Runs the search over the holders of the state. */
static int levelling_run(struct bl_relief *r, struct levelling_state *v, size_t elements, int part, struct bl_error *e)
{
    const struct bl_assignment_problem *p = v->p;
    v->room = malloc(p->rows * sizeof *v->room);
    v->row = malloc((p->bundles + 1) * sizeof *v->row);
    r->holder = v->s->own;
    r->holders = v->s->holders;
    r->context = v;
    r->target = p->target + p->target / SHARE;
    r->work = (WORK_LEAST + WORK_ELEMENT * (int64_t)elements) / part;
    int code = v->room && v->row ? bl_relief_run(r, e) : bl_error_memory(e);
    v->s->lost = code ? 0 : bl_relief_lost(r);
    free(v->room);
    free(v->row);
    return code;
}

int bl_assignment_level_ranks(struct bl_assignment_state *s, const struct bl_assignment_problem *p, struct bl_error *e)
{
    struct levelling_state v = {.s = s, .p = p};
    struct bl_relief r = {.rows = 1, .cost = p->group_cost, .fits = ranks_fit, .exchange = ranks_exchange};
    BL_TRY(holders_fill(s, p->ranks, s->rank, p->group_cost, p->groups, e));
    return levelling_run(&r, &v, p->groups, 1, e);
}

int bl_assignment_level_bins(struct bl_assignment_state *s, const struct bl_assignment_problem *p, int part,
                             struct bl_error *e)
{
    struct levelling_state v = {.s = s, .p = p};
    struct bl_relief r = {.rows = p->rows, .cost = p->cost, .fits = bins_fit, .exchange = bins_exchange};
    BL_TRY(holders_fill(s, p->ranks * p->rows, s->bin, p->cost, p->bundles, e));
    return levelling_run(&r, &v, p->bundles, part, e);
}

/* --- empty micro-batches ------------------------------------------------------------------------------------------ */

/* The costs and sizes by which empty micro-batches are filled without more being lost. */
struct filling {
    int64_t *cost;    /* [ranks] of a rank; or [bins] of a micro-batch, if ranks wait after each */
    int64_t *highest; /* [1] or [rows] the highest of them */
    uint32_t *size;   /* [bins] bundles */
};

/* Moves a bundle to an empty micro-batch, if its own keeps another one and no more is lost. Returns whether it did. */
static bool filling_offer(struct filling *f, struct levelling_state *v, uint32_t bundle, size_t to)
{
    const struct bl_assignment_problem *p = v->p;
    size_t from = v->s->bin[bundle], own = from, other = to, row = to % p->rows;
    if (!p->is_micro) {
        own /= p->rows;
        other /= p->rows;
        row = 0;
    }
    if (f->size[from] < 2 || !bundle_may_go(v, from, bundle, to) ||
        (own != other && f->cost[other] + p->cost[bundle] > f->highest[row]))
        return false;
    f->size[from]--;
    f->size[to]++;
    f->cost[own] -= p->cost[bundle];
    f->cost[other] += p->cost[bundle];
    bundle_move(v, bundle, to);
    return true;
}

/* Offers the bundles to each empty micro-batch, the cheapest first. */
static void filling_run(struct filling *f, struct levelling_state *v, const struct bl_assignment_costed *order)
{
    const struct bl_assignment_problem *p = v->p;
    size_t bins = p->ranks * p->rows;
    int64_t work = FILL_LEAST + FILL_EACH * (int64_t)p->bundles;
    for (size_t b = 0; b < p->bundles; b++) {
        size_t at = p->is_micro ? v->s->bin[b] : v->s->bin[b] / p->rows;
        f->cost[at] += p->cost[b];
        f->size[v->s->bin[b]]++;
    }
    for (size_t h = 0; h < (p->is_micro ? bins : p->ranks); h++) {
        size_t row = p->is_micro ? h % p->rows : 0;
        f->highest[row] = f->cost[h] > f->highest[row] ? f->cost[h] : f->highest[row];
    }
    for (size_t to = 0; to < bins && work > 0; to++)
        for (size_t i = p->bundles; f->size[to] == 0 && i-- > 0 && work-- > 0;)
            filling_offer(f, v, order[i].number, to);
}

int bl_assignment_fill_empty(struct bl_assignment_state *s, const struct bl_assignment_problem *p, struct bl_error *e)
{
    struct levelling_state v = {.s = s, .p = p};
    size_t bins = p->ranks * p->rows;
    struct filling f = {calloc(bins, sizeof *f.cost), calloc(p->rows, sizeof *f.highest), calloc(bins, sizeof *f.size)};
    struct bl_assignment_costed *order = malloc((p->bundles + 1) * sizeof *order);
    int code = f.cost && f.highest && f.size && order ? BL_OK : bl_error_memory(e);
    for (size_t b = 0; !code && b < p->bundles; b++)
        order[b] = (struct bl_assignment_costed){p->cost[b], (uint32_t)b};
    if (!code) {
        qsort(order, p->bundles, sizeof *order, bl_assignment_costed_compare);
        filling_run(&f, &v, order);
    }
    free(f.cost);
    free(f.highest);
    free(f.size);
    free(order);
    return code;
}

/* --- states ------------------------------------------------------------------------------------------------------- */

int bl_assignment_state_make(struct bl_assignment_state *s, const struct bl_assignment_problem *p, struct bl_error *e)
{
    *s = (struct bl_assignment_state){.rank = calloc(p->groups + 1, sizeof *s->rank),
                                      .bin = calloc(p->bundles + 1, sizeof *s->bin),
                                      .used = calloc(p->ranks * p->rows, sizeof *s->used)};
    return s->rank && s->bin && s->used ? BL_OK : bl_error_memory(e);
}

void bl_assignment_state_free(struct bl_assignment_state *s)
{
    free(s->rank);
    free(s->bin);
    free(s->used);
    bl_holders_free(s->own, s->holders);
    *s = (struct bl_assignment_state){0};
}
