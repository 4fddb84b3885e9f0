/* Turns the values of columns, which are real numbers, into integers.
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
    *n = (struct bl_need){.of = calloc(p->lengths.count + 1, sizeof *n->of), .most = units_round_down(c->max * units)};
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
        n->rounded |= !units_are_whole(value * units);
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
    int64_t blocks = 0, sum = 0, most = need->most + (need->rounded > 0);
    for (size_t i = 0; i < lengths->count; i++) {
        int64_t units = need->of[bl_lengths_id(lengths, i)];
        if (!bl_lengths_has(lengths, i) || units <= need->rounded)
            continue;
        sum += units - need->rounded;
        blocks += sum >= most;
        sum -= sum >= most ? most : 0;
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
