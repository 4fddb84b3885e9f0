#include "plan/colgen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 u128;

enum {
    ROWS_MAX = 4096,       /* lengths; more would need more simplex steps than the work limit allows */
    WORTH_MAX = 1 << 26,   /* entries of the knapsack table */
    BOUNDED_MAX = 1 << 22, /* of a bounded one, which is solved thousands of times */
    SOLUTIONS_MIN = 48,    /* of the knapsack, within the work */
    COLUMNS_AT_ONCE = 24,  /* from one knapsack solution */
};

#define EXACT_MAX 9007199254740992.0 /* 2^53 */

static void colgen_raise_bound(struct bl_colgen *g, double worth)
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

static int colgen_add_column(struct bl_colgen *g, uint32_t bucket, struct bl_error *e)
{
    size_t n = bl_knapsack_block(&g->knapsack, bucket, g->item, g->item_capacity);
    return n ? bl_master_add(&g->master, g->item, n, e) : 0;
}

/* Adds the best block, and nearly as good ones with other first lengths, so that one knapsack solution serves many
 * steps. */
static int colgen_add_columns(struct bl_colgen *g, double worth, struct bl_error *e)
{
    double good = BL_PRICE_ONE + (worth - BL_PRICE_ONE) / 2;
    int code = colgen_add_column(g, BL_KNAPSACK_ANY, e);
    size_t D = g->h->distinct, stride = D / COLUMNS_AT_ONCE + 1;
    for (size_t from = 0; !code && from < D; from += stride) {
        size_t best = from;
        for (size_t b = from; b < D && b < from + stride; b++)
            if (bl_knapsack_with(&g->knapsack, (uint32_t)b) > bl_knapsack_with(&g->knapsack, (uint32_t)best))
                best = b;
        if (bl_knapsack_with(&g->knapsack, (uint32_t)best) > good)
            code = colgen_add_column(g, (uint32_t)best, e);
    }
    return code;
}

int bl_colgen_run(struct bl_colgen *g, struct bl_error *e)
{
    int64_t solve_work = bl_knapsack_work(g->h, (uint32_t)g->limits->T, g->limits->sequences, g->knapsack.is_bounded);
    int code = BL_OK;
    while (!code && g->work > 0) {
        double saving;
        uint32_t column = bl_master_price(&g->master, &saving, &g->work);
        if (saving > BL_SAVING_MIN) {
            bool entered;
            code = bl_master_pivot(&g->master, column, &g->work, &entered, e);
            if (!entered)
                break;
            continue;
        }
        for (size_t b = 0; b < g->h->distinct; b++) {
            double dual = g->master.dual[b];
            g->knapsack.price[b] = dual <= 0 ? 0 : floor((dual < 1 ? dual : 1) * BL_PRICE_ONE);
        }
        double worth = bl_knapsack_solve(&g->knapsack);
        g->work -= solve_work;
        colgen_raise_bound(g, worth);
        /* The value of the relaxation, which only decreases, may leave no room for a higher bound. */
        if (g->bound >= g->enough || (double)g->bound >= ceil(bl_master_objective(&g->master) - 0.01) ||
            worth <= BL_PRICE_ONE * (1 + BL_SAVING_MIN))
            break;
        code = colgen_add_columns(g, worth, e);
    }
    return code;
}

int bl_colgen_offer(struct bl_colgen *g, const uint32_t *bucket, size_t n, struct bl_error *e)
{
    memcpy(g->item, bucket, n * sizeof *g->item);
    return bl_master_add(&g->master, g->item, n, e);
}

bool bl_colgen_is_affordable(const struct bl_histogram *h, const struct bl_limits *limits, bool is_bounded)
{
    uint32_t T = (uint32_t)limits->T, sequences = limits->sequences;
    int64_t rows = (int64_t)h->distinct, most = is_bounded ? BOUNDED_MAX : WORTH_MAX;
    if (rows > ROWS_MAX || bl_knapsack_entries(h, T, sequences, is_bounded) > most)
        return false;
    return (bl_knapsack_work(h, T, sequences, is_bounded) + rows * rows) * SOLUTIONS_MIN <= limits->work;
}

int bl_colgen_make(struct bl_colgen *g, const struct bl_histogram *h, const struct bl_limits *limits, bool is_bounded,
                   uint32_t salt, struct bl_error *e)
{
    *g = (struct bl_colgen){.h = h, .limits = limits, .enough = INT64_MAX};
    g->item_capacity = (size_t)(limits->T / h->length[0]);
    g->item = malloc((g->item_capacity + 1) * sizeof *g->item);
    int code = g->item ? BL_OK : bl_error_memory(e);
    if (!code)
        code = bl_knapsack_make(&g->knapsack, h, (uint32_t)limits->T, limits->sequences, is_bounded, e);
    if (code)
        return code;
    return bl_master_make(&g->master, h, limits->T, limits->sequences, is_bounded, salt, e);
}

void bl_colgen_free(struct bl_colgen *g)
{
    bl_master_free(&g->master);
    bl_knapsack_free(&g->knapsack);
    free(g->item);
    *g = (struct bl_colgen){0};
}
