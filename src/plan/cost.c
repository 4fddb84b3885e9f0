#include "plan/cost.h"

#include <math.h>

/* Adds up the costs of the sequences that are planned. */
static int cost_sum_column(const struct bl_cost *c, double *sum, struct bl_error *e)
{
    const struct bl_pieces *p = c->pieces;
    *sum = 0;
    for (size_t i = 0; i < p->lengths.count; i++) {
        size_t sequence = p->sequence ? p->sequence[i] : i;
        double cost = c->column[sequence];
        if (!bl_lengths_has(&p->lengths, i))
            continue;
        if (!(cost >= 0) || isinf(cost))
            return bl_error_set(e, BL_EUSAGE, "sequence %zu costs %g: a cost is a number of at least 0", sequence,
                                cost);
        if (!p->start || p->start[i] == 0 || i == 0 || p->sequence[i - 1] != sequence)
            *sum += cost;
    }
    return isinf(*sum) ? bl_error_set(e, BL_EUSAGE, "the costs add up to more than a number can hold") : BL_OK;
}

int bl_cost_make(struct bl_cost *cost, const struct bl_pieces *pieces, const int64_t *length, int64_t T,
                 const struct bl_plan_options *options, struct bl_error *e)
{
    const struct bl_plan_cost *given = &options->cost;
    bool is_given = bl_plan_cost_is_given(given);
    double alpha = is_given ? given->alpha * (double)T : 0, most = (double)T * (double)T;
    *cost = (struct bl_cost){.pieces = pieces, .whole = length, .column = given->column ? options->column : NULL};
    if (cost->column) {
        int code = cost_sum_column(cost, &most, e);
        if (code)
            return code;
        alpha = 0;
    } else if (is_given) {
        most *= given->beta;
    }
    if (!(alpha >= 0) || !(most >= 0) || isinf(alpha + most))
        return bl_error_set(e, BL_EUSAGE,
                            "a cost of %g,%g: both must be numbers of at least 0, and finite for T = %lld",
                            given->alpha, given->beta, (long long)T);
    if (alpha + most <= 0)
        return bl_error_set(e, BL_EUSAGE, "no block costs anything: %s", cost->column ? "all costs are 0" : "0,0");
    double units = BL_COST_UNITS / (alpha + most);
    cost->block = (int64_t)(alpha * units);
    cost->unit = (cost->column ? 1 : is_given ? given->beta : 1) * units;
    return BL_OK;
}

int64_t bl_cost_block(const struct bl_cost *cost, const uint32_t *piece, size_t pieces)
{
    int64_t sum = cost->block;
    for (size_t p = 0; p < pieces; p++)
        sum += bl_cost_piece(cost, piece[p]);
    return sum;
}
