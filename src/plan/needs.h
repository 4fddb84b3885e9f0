/* Computes what a block costs, and what the pieces need of the columns of --max-column.
 *
 * Both are integers in units that fit the values, because integers add up alike in any order and on every machine. */
#ifndef BL_NEEDS_H
#define BL_NEEDS_H

#include <stdbool.h>

#include "plan/plan.h"
#include "plan/strategy.h"

/* --- costs -------------------------------------------------------------------------------------------------------- */

/* The cost of a block: alpha for each of its T steps, padding too, and for each of its sequences beta times the squared
 * length, or the cost that a column gives the sequence.
 *
 * Costs are compared as integers, which every machine adds up alike: the most expensive block possible has
 * BL_COST_UNITS. With --cost 1,0.5 and T = 100, a block of sequences of 60 and 40 steps costs 100 + 0.5 * (3600 + 1600)
 * = 2700. */

struct bl_cost {
    const struct bl_pieces *pieces; /* the caller's; must outlive the cost */
    const int64_t *whole;           /* lengths of the uncut sequences in steps, for `column` */
    const double *column;           /* costs of the sequences, or NULL: squared lengths */
    double unit;                    /* units for 1 of the column, or for one squared step */
    int64_t block;                  /* units of every block: alpha T */
};

/* Makes the scale of the costs of these pieces from options->cost; without a cost, squared lengths. length: of the
 * sequences. BL_EUSAGE: a cost that is negative or not finite, or all costs are 0. */
int bl_cost_make(struct bl_cost *cost, const struct bl_pieces *pieces, const int64_t *length, int64_t T,
                 const struct bl_plan_options *options, struct bl_error *e);

/* Returns the cost in units of a piece with this many steps; *piece is read only where a column gives the costs. A
 * piece of a cut sequence has the share of its steps in the cost of the sequence. */
static inline int64_t bl_cost_of_length(const struct bl_cost *c, int64_t steps, const uint32_t *piece)
{
    double length = (double)steps;
    if (!c->column)
        return (int64_t)(length * length * c->unit);
    size_t sequence = c->pieces->sequence ? c->pieces->sequence[*piece] : *piece;
    return (int64_t)(c->column[sequence] * c->unit * (length / (double)c->whole[sequence]));
}

static inline int64_t bl_cost_piece(const struct bl_cost *c, uint32_t piece)
{
    return bl_cost_of_length(c, c->pieces->lengths.length[piece], &piece);
}

/* Returns the cost of a block of these pieces, in units, padding included. */
int64_t bl_cost_block(const struct bl_cost *cost, const uint32_t *piece, size_t pieces);

/* --- needs -------------------------------------------------------------------------------------------------------- */

/* A need is what each piece takes of a column of --max-column, in whole units that add up alike on every machine. */

struct bl_need {
    int32_t *of;   /* [pieces] units, rounded up, at most `most`; 0 for pieces that are not planned */
    int64_t most;  /* units in a block, rounded down: 1 to BL_T_MAX */
    bool is_exact; /* nothing was rounded */
};

struct bl_needs {
    struct bl_need each[BL_PLAN_COLUMNS_MAX]; /* [count] in the order of the options */
    int count;
};

/* Makes the needs of the pieces; a piece of a cut sequence has the share of its steps. The units for 1 of a column are
 * the smallest power of ten that makes all values whole, unless a block would have more than 2^30 of them. length: of
 * the sequences. Free *needs in any case. BL_EUSAGE names a sequence with a value that is no number of at least 0, or
 * more than the maximum. BL_EFAIL: out of memory. */
int bl_needs_make(struct bl_needs *needs, const struct bl_pieces *pieces, const int64_t *length,
                  const struct bl_plan_columns *columns, struct bl_error *e);
void bl_needs_free(struct bl_needs *needs);

/* Sets *by_column to the same pieces with what they need of a column in the place of their lengths, so that the
 * searches for blocks pack the column. Pieces that need nothing of it are out of range. *units: [lengths->count], the
 * array that *by_column refers to; the caller frees it. BL_EFAIL: out of memory. */
int bl_needs_lengths(struct bl_lengths *by_column, int64_t **units, const struct bl_need *need,
                     const struct bl_lengths *lengths, struct bl_error *e);

/* Returns a proven lower bound on the blocks: the sum of a column by its maximum, rounded up. */
int64_t bl_needs_bound(const struct bl_need *need, const struct bl_lengths *lengths);

/* Sequences with more of a column than a block may have, among those that are planned and not cut. */
struct bl_needs_over {
    const struct bl_plan_column *column; /* the first one; NULL: there are none */
    size_t first, count;                 /* the index of the first such sequence; how many there are for this column */
};

/* Finds these sequences, so that a command can name them before it plans. length: [count]. */
void bl_needs_find_over(struct bl_needs_over *over, const int64_t *length, size_t count,
                        const struct bl_plan_options *options);

#endif
