/* Turns costs and columns, which are real numbers, into integers.
 *
 * Sums of real numbers depend on their order; sums of integers do not, so every machine makes the same plan. Example:
 * --max-column images=2.5 with values 0.5 and 1.25 needs units of 1 / 100: a block has 250, and the sequences take 50
 * and 125. */
#include "plan/needs.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "plan/strategy.h"

#define BL_COST_UNITS 140737488355328.0 /* 2^47: the sum of 65535 blocks is still below 2^63 */

/* --- costs -------------------------------------------------------------------------------------------------------- */

/* Sets *sum to the costs of all sequences that have a piece in range; several pieces of one sequence count once.
 * BL_EUSAGE: a cost is negative or not finite, or the sum is infinite. */
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
    /* Without --cost, squared lengths are measured: alpha is 0 and beta 1. */
    const struct bl_plan_cost *given = &options->cost;
    bool is_given = bl_plan_cost_is_given(given);
    double alpha = is_given ? given->alpha * (double)T : 0, most = (double)T * (double)T;
    *cost = (struct bl_cost){.pieces = pieces, .whole = length, .column = given->column ? options->column : NULL};
    if (cost->column) {
        BL_TRY(cost_sum_column(cost, &most, e));
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
    /* The most that a block can cost is alpha T plus T^2 beta (one sequence fills it), or all costs of the column. */
    double units = BL_COST_UNITS / (alpha + most);
    /* Costs are rounded down, by less than one unit of 2^47. */
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

/* --- needs -------------------------------------------------------------------------------------------------------- */

enum {
    UNITS_MAX = 1 << 30, /* units in a block: below BL_T_MAX, as needs are searched like lengths */
    FINEST = 1000000000  /* units for 1 of a column: nine decimal places */
};

/* Returns whether a number of units is whole, apart from the rounding error of its product: 0.1 * 10 counts as 1. */
static bool units_are_whole(double units)
{
    return fabs(units - rint(units)) <= 4 * DBL_EPSILON * units;
}

/* The two functions round to the nearest integer where the number counts as whole, so 0.3 * 10 is 3 for both. */
static int64_t units_round_down(double units)
{
    return (int64_t)(units_are_whole(units) ? rint(units) : floor(units));
}

static int64_t units_round_up(double units)
{
    return (int64_t)(units_are_whole(units) ? rint(units) : ceil(units));
}

/* Returns the value of a piece in a column: that of its sequence, or the share of its steps if the sequence was cut. */
static double piece_value(const struct bl_pieces *p, const int64_t *length, const struct bl_plan_column *c, size_t i)
{
    if (!p->sequence)
        return c->value[i];
    size_t sequence = p->sequence[i];
    return c->value[sequence] * ((double)p->lengths.length[i] / (double)length[sequence]);
}

/* Returns the units for 1 of a column: the smallest power of ten that makes all values whole, or the largest for which
 * a block has no more than UNITS_MAX. */
static double column_find_units(const struct bl_pieces *p, const int64_t *length, const struct bl_plan_column *c)
{
    double units = 1, most = 1;
    /* A maximum above 2^30 takes less than one unit for 1 of the column. */
    while (c->max * most > UNITS_MAX)
        most /= 10;
    while (most >= 1 && most < FINEST && c->max * most * 10 <= UNITS_MAX)
        most *= 10;
    for (size_t i = 0; units < most && i < p->lengths.count; i++)
        while (units < most && bl_lengths_has(&p->lengths, i) && !units_are_whole(piece_value(p, length, c, i) * units))
            units *= 10;
    return units < most ? units : most;
}

/* Makes the units of all pieces for one column. Rounding pieces up and the maximum down is safe: no block exceeds the
 * maximum in real numbers. Errors as of bl_needs_make; n->of must be freed in any case. */
static int need_make(struct bl_need *n, const struct bl_pieces *p, const int64_t *length,
                     const struct bl_plan_column *c, struct bl_error *e)
{
    double units = column_find_units(p, length, c);
    *n = (struct bl_need){
        .of = calloc(p->lengths.count + 1, sizeof *n->of), .most = units_round_down(c->max * units), .is_exact = true};
    if (!n->of)
        return bl_error_memory(e);
    for (size_t i = 0; i < p->lengths.count; i++) {
        if (!bl_lengths_has(&p->lengths, i))
            continue;
        double value = piece_value(p, length, c, i);
        size_t sequence = p->sequence ? p->sequence[i] : i;
        if (!(value >= 0))
            return bl_error_set(e, BL_EUSAGE, "sequence %zu has %g %s: --max-column needs numbers of at least 0",
                                sequence, value, c->name);
        if (value > c->max || units_round_up(value * units) > n->most)
            return bl_error_set(e, BL_EUSAGE, "sequence %zu alone has %.15g %s: more than --max-column %s=%.15g",
                                sequence, value, c->name, c->name, c->max);
        n->is_exact &= units_are_whole(value * units);
        n->of[i] = (int32_t)units_round_up(value * units);
    }
    n->most = n->most ? n->most : 1; /* 0 only if no piece needs anything; lengths are at least 1 */
    return BL_OK;
}

int bl_needs_make(struct bl_needs *needs, const struct bl_pieces *pieces, const int64_t *length,
                  const struct bl_plan_columns *columns, struct bl_error *e)
{
    *needs = (struct bl_needs){0};
    int code = BL_OK;
    while (!code && needs->count < columns->count) {
        int c = needs->count++;
        code = need_make(&needs->each[c], pieces, length, &columns->each[c], e);
    }
    return code;
}

void bl_needs_free(struct bl_needs *needs)
{
    for (int c = 0; c < needs->count; c++)
        free(needs->each[c].of);
    *needs = (struct bl_needs){0};
}

/* Needs are kept in 32 bits and lengths in 64, so the units are copied, in the order of the index. */
int bl_needs_lengths(struct bl_lengths *by_column, int64_t **units, const struct bl_need *need,
                     const struct bl_lengths *lengths, struct bl_error *e)
{
    *units = malloc((lengths->count + 1) * sizeof **units);
    if (!*units)
        return bl_error_memory(e);
    for (size_t i = 0; i < lengths->count; i++)
        (*units)[i] = need->of[bl_lengths_id(lengths, i)];
    /* Units from 1 to the maximum are in range; a unit is one step of these lengths. */
    *by_column = (struct bl_lengths){*units, NULL, lengths->count, 1, need->most, 1, need->most};
    return BL_OK;
}

int64_t bl_needs_bound(const struct bl_need *need, const struct bl_lengths *lengths)
{
    /* Rounding adds less than one unit to a piece and takes less than one from the maximum. So where anything was
     * rounded, one unit less for each piece and one more for a block give a valid bound. Full blocks are counted as
     * they occur, so that the sum cannot overflow. */
    int64_t blocks = 0, sum = 0, rounded = !need->is_exact;
    for (size_t i = 0; i < lengths->count; i++) {
        int64_t units = need->of[bl_lengths_id(lengths, i)];
        if (!bl_lengths_has(lengths, i) || units <= rounded)
            continue;
        sum += units - rounded;
        blocks += sum >= need->most + rounded;
        sum -= sum >= need->most + rounded ? need->most + rounded : 0;
    }
    return blocks + (sum > 0);
}

/* It reports one column at a time: the first one that a sequence exceeds, with the number of such sequences. */
void bl_needs_find_over(struct bl_needs_over *over, const int64_t *length, size_t count,
                        const struct bl_plan_options *o)
{
    *over = (struct bl_needs_over){0};
    int64_t longest = o->max_length ? o->max_length : INT64_MAX;
    if (o->oversize != BL_OVERSIZE_ERROR && o->T && o->T < longest)
        longest = o->T; /* longer sequences are dropped or cut */
    for (int c = 0; c < o->max_column.count; c++) {
        const struct bl_plan_column *column = &o->max_column.each[c];
        for (size_t i = 0; i < count; i++) {
            if (length[i] < 1 || length[i] < o->min_length || length[i] > longest ||
                !(column->value[i] > column->max) || (over->column && over->column != column) ||
                (column->is_field &&
                 (!(column->max > 0) || o->oversize == BL_OVERSIZE_DROP || o->strategy == BL_STRATEGY_STORE)))
                continue;
            over->first = over->count++ ? over->first : i;
            over->column = column;
        }
    }
}
