/* Column generation. The prices of the master are rounded down to whole numbers before the knapsack is solved, so the
 * bound sum(count * price) / worth is one of exact arithmetic, whatever the simplex has lost (Farley: prices divided by
 * the worth of the best block make no block worth more than one). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/fill.h"
#include "plan/knapsack.h"
#include "plan/master.h"

__extension__ typedef unsigned __int128 u128;

enum {
    ROWS_MAX = 4096,      /* the inverse takes 8 bytes for each pair of rows */
    WORTH_MAX = 1 << 26,  /* entries of the knapsack's table */
    COLUMNS_AT_ONCE = 24, /* from one solution of the knapsack */
};

#define EXACT_MAX 9007199254740992.0 /* 2^53 */
#define SAVING_MIN 1e-7

struct generation {
    const struct bl_histogram *h;
    const struct bl_fill_limits *limits;
    struct bl_master master;
    struct bl_knapsack knapsack;
    uint32_t *item; /* a block in the making */
    size_t item_capacity;
    int64_t bound, enough; /* proven so far; what is known to be reachable */
    int64_t work;
};

static void set_prices(struct generation *g)
{
    for (size_t b = 0; b < g->h->distinct; b++) {
        double dual = g->master.dual[b];
        g->knapsack.price[b] = dual <= 0 ? 0 : floor((dual < 1 ? dual : 1) * BL_PRICE_ONE);
    }
}

static void raise_bound(struct generation *g, double worth)
{
    u128 sum = 0;
    if (!(worth > 0 && worth < EXACT_MAX))
        return;
    for (size_t b = 0; b < g->h->distinct; b++)
        sum += (u128)bl_histogram_count(g->h, b) * (uint64_t)g->knapsack.price[b];
    int64_t bound = (int64_t)((sum + (uint64_t)worth - 1) / (uint64_t)worth);
    if (bound > g->bound)
        g->bound = bound;
}

static int add_block(struct generation *g, uint32_t bucket, struct bl_error *e)
{
    size_t n = bl_knapsack_block(&g->knapsack, bucket, g->item, g->item_capacity);
    return n ? bl_master_add(&g->master, g->item, n, e) : 0;
}

/* The best block, and those of other first lengths that are nearly as good: solving once for many steps. */
static int add_blocks(struct generation *g, double worth, struct bl_error *e)
{
    double good = BL_PRICE_ONE + (worth - BL_PRICE_ONE) / 2;
    int rc = add_block(g, BL_KNAPSACK_ANY, e);
    size_t D = g->h->distinct, stride = D / COLUMNS_AT_ONCE + 1;
    for (size_t from = 0; rc == 0 && from < D; from += stride) {
        size_t best = from;
        for (size_t b = from; b < D && b < from + stride; b++)
            if (bl_knapsack_with(&g->knapsack, (uint32_t)b) > bl_knapsack_with(&g->knapsack, (uint32_t)best))
                best = b;
        if (bl_knapsack_with(&g->knapsack, (uint32_t)best) > good)
            rc = add_block(g, (uint32_t)best, e);
    }
    return rc;
}

/* Whether the relaxation can still prove more than is proven: its value only falls. */
static int is_finished(const struct generation *g)
{
    return g->bound >= g->enough || (double)g->bound >= ceil(bl_master_blocks(&g->master) - 0.01);
}

static int generate(struct generation *g, struct bl_error *e)
{
    int64_t solve_work = bl_knapsack_work(g->h, (uint32_t)g->limits->T, g->limits->sequences);
    int rc = 0;
    while (rc == 0 && g->work > 0) {
        double saving;
        uint32_t column = bl_master_price(&g->master, &saving);
        g->work -= (int64_t)g->master.entries;
        if (saving > SAVING_MIN) {
            int64_t spent = bl_master_enter(&g->master, column);
            if (spent == 0)
                break;
            g->work -= spent;
            continue;
        }
        set_prices(g);
        double worth = bl_knapsack_solve(&g->knapsack);
        g->work -= solve_work;
        raise_bound(g, worth);
        if (is_finished(g) || worth <= BL_PRICE_ONE * (1 + SAVING_MIN))
            break;
        rc = add_blocks(g, worth, e);
    }
    return rc;
}

/* --- rounding --------------------------------------------------------------------------------------------------- */

/* As many blocks of a basic column as are wanted and there are lengths for. */
static int take_column(const struct generation *g, uint32_t row, double wanted, uint32_t *left,
                       struct bl_patterns *patterns, struct bl_error *e)
{
    const struct bl_master *m = &g->master;
    const struct bl_column *c = &m->column[m->basis[row]];
    uint32_t use = wanted < 0 ? 0 : wanted > (double)UINT32_MAX ? UINT32_MAX : (uint32_t)wanted;
    for (uint32_t k = c->first; k < c->first + c->count; k++) {
        uint32_t possible = left[m->bucket[k]] / (uint32_t)m->times[k];
        use = possible < use ? possible : use;
    }
    int rc = 0;
    for (uint32_t k = c->first; rc == 0 && use > 0 && k < c->first + c->count; k++) {
        left[m->bucket[k]] -= use * (uint32_t)m->times[k];
        for (uint32_t i = 0; rc == 0 && i < (uint32_t)m->times[k]; i++)
            rc = bl_patterns_push(patterns, m->bucket[k], e);
    }
    return rc == 0 && use > 0 ? bl_patterns_close(patterns, use, e) : rc;
}

/* Whole blocks of every column first, then one more of those whose fraction is at least `up`; the rest by themselves.
 */
static int round_columns(const struct generation *g, double up, uint32_t *left, struct bl_patterns *patterns,
                         struct bl_error *e)
{
    const struct bl_master *m = &g->master;
    int rc = 0;
    for (size_t b = 0; b < g->h->distinct; b++)
        left[b] = bl_histogram_count(g->h, b);
    for (int more = 0; more < 2; more++)
        for (uint32_t r = 0; rc == 0 && r < m->rows; r++) {
            double whole = floor(m->amount[r] + 1e-6), fraction = m->amount[r] - whole;
            if (m->basis[r] < BL_SURPLUS && (!more || fraction >= up))
                rc = take_column(g, r, more ? 1 : whole, left, patterns, e);
        }
    return rc == 0 ? bl_fill_rest(patterns, g->h, left, g->limits, BL_REST_SLACK, e) : rc;
}

static int round_best(struct generation *g, struct bl_patterns *best, struct bl_error *e)
{
    static const double up[] = {1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2};
    uint32_t *left = malloc((g->h->distinct + 1) * sizeof *left);
    int rc = left ? 0 : bl_error_memory(e);
    for (size_t i = 0; rc == 0 && i < sizeof up / sizeof *up; i++) {
        struct bl_patterns tried = {0};
        rc = round_columns(g, up[i], left, &tried, e);
        if (rc == 0 && (best->count == 0 || tried.blocks < best->blocks)) {
            struct bl_patterns worse = *best;
            *best = tried;
            tried = worse;
        }
        bl_patterns_free(&tried);
        if ((int64_t)best->blocks == g->bound)
            break;
    }
    free(left);
    return rc;
}

/* What is known to fill blocks well is offered to the master from the beginning. */
static int offer_known(struct generation *g, const struct bl_patterns *known, struct bl_error *e)
{
    int rc = 0;
    for (size_t p = 0; rc == 0 && p < known->count; p++) {
        size_t n = known->first[p + 1] - known->first[p];
        memcpy(g->item, known->bucket + known->first[p], n * sizeof *g->item);
        rc = bl_master_add(&g->master, g->item, n, e);
    }
    return rc;
}

static int is_affordable(const struct bl_histogram *h, const struct bl_fill_limits *limits)
{
    int64_t T = limits->T, layers = limits->sequences < T / h->length[0] ? limits->sequences : 1;
    int64_t once = bl_knapsack_work(h, (uint32_t)T, limits->sequences) + (int64_t)h->distinct * (int64_t)h->distinct;
    return h->distinct <= ROWS_MAX && (T + 1) * (layers + 1) <= WORTH_MAX && once * 32 <= limits->work;
}

int bl_fill_columns(struct bl_patterns *patterns, int64_t *bound, const struct bl_histogram *h,
                    const struct bl_patterns *known, const struct bl_fill_limits *limits, double *price,
                    struct bl_error *e)
{
    struct generation g = {.h = h, .limits = limits, .bound = *bound, .enough = (int64_t)known->blocks};
    *patterns = (struct bl_patterns){0};
    if (price)
        memset(price, 0, h->distinct * sizeof *price);
    if (!is_affordable(h, limits))
        return 0;
    g.work = limits->work;
    g.item_capacity = (size_t)(limits->T / h->length[0]);
    g.item = malloc((g.item_capacity + 1) * sizeof *g.item);
    int rc = g.item ? 0 : bl_error_memory(e);
    if (rc == 0)
        rc = bl_knapsack_make(&g.knapsack, h, (uint32_t)limits->T, limits->sequences, e);
    if (rc == 0)
        rc = bl_master_make(&g.master, h, limits->T, limits->sequences, e);
    if (rc == 0)
        rc = offer_known(&g, known, e);
    if (rc == 0)
        rc = generate(&g, e);
    for (size_t b = 0; rc == 0 && price && b < h->distinct; b++)
        price[b] = g.master.dual[b];
    if (rc == 0 && g.bound < g.enough)
        rc = round_best(&g, patterns, e);
    *bound = g.bound;
    bl_master_free(&g.master);
    bl_knapsack_free(&g.knapsack);
    free(g.item);
    if (rc < 0)
        bl_patterns_free(patterns);
    return rc;
}
