/* What blocks and pieces take: the cost of a block, its steps, and what the pieces need of the columns of
 * --max-column. */
#ifndef BL_NEEDS_H
#define BL_NEEDS_H

#include <stdbool.h>

#include "plan/plan.h"
#include "plan/strategy.h"

/* --- costs -------------------------------------------------------------------------------------------------------- */

/* What a block costs: alpha for each of its T steps, padding too, and for each of its sequences beta times the squared
 * length, or the sequence's own cost.
 *
 * Costs are compared as integers, which every machine adds up alike: BL_COST_UNITS of them are the most that a block
 * can cost. */

struct bl_cost {
    const struct bl_pieces *pieces;
    const int64_t *whole; /* lengths of the sequences, for `column` */
    const double *column; /* costs of the sequences, or NULL: squared lengths */
    double unit;          /* units for 1 of the column, or for one squared step */
    int64_t block;        /* units of every block: alpha T */
};

/* Makes the scale for these pieces from the options' cost; squared lengths where they have none. length: of the
 * sequences. BL_EUSAGE: a cost that is negative or not finite, or nothing costs anything. */
int bl_cost_make(struct bl_cost *cost, const struct bl_pieces *pieces, const int64_t *length, int64_t T,
                 const struct bl_plan_options *options, struct bl_error *e);

/* Returns the cost of a piece of this length; *piece is read only where a column has the costs. One of a sequence that
 * was cut has the share of its steps. */
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

/* Returns the cost of a block of these pieces. */
int64_t bl_cost_block(const struct bl_cost *cost, const uint32_t *piece, size_t pieces);

/* --- needs -------------------------------------------------------------------------------------------------------- */

/* Needs: what the pieces take of the columns of --max-column, in whole units that add up alike on every machine. */

struct bl_need {
    int64_t *of;   /* [pieces] units, rounded up, at most `most`; 0 for pieces that are not planned */
    int64_t most;  /* units in a block, rounded down: 1 to BL_T_MAX */
    bool is_exact; /* nothing was rounded */
};

struct bl_needs {
    struct bl_need each[BL_PLAN_COLUMNS_MAX];
    int count;
};

/* Makes the needs of the pieces; a piece of a sequence that was cut has the share of its steps. Units are a power of
 * ten that all values are multiples of, if a block has no more than 2^30 of them. length: of the sequences. Free it in
 * any case. BL_EUSAGE names a sequence with a value that is no number of at least 0, or more than the maximum.
 * BL_EFAIL: out of memory. */
int bl_needs_make(struct bl_needs *needs, const struct bl_pieces *pieces, const int64_t *length,
                  const struct bl_plan_columns *columns, struct bl_error *e);
void bl_needs_free(struct bl_needs *needs);

/* Returns the lengths of the same pieces by a column, in its units: those that need nothing of it are out of range. */
struct bl_lengths bl_needs_lengths(const struct bl_need *need, const struct bl_lengths *lengths);

/* Returns a proven bound on the blocks by the sum of a column. */
int64_t bl_needs_bound(const struct bl_need *need, const struct bl_lengths *lengths);

/* Sequences that take more of a column than a block has, among those that are planned and not cut. */
struct bl_needs_over {
    const struct bl_plan_column *column; /* the first one; NULL: there are none */
    size_t first, count;
};

void bl_needs_find_over(struct bl_needs_over *over, const int64_t *length, size_t count,
                        const struct bl_plan_options *options);

#endif
