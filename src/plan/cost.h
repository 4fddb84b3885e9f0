/* What a block costs: alpha for each of its T steps, padding too, and for each of its sequences beta times the squared
 * length, or the sequence's own cost.
 *
 * Costs are compared as integers, which every machine adds up alike: BL_COST_UNITS of them are the most that a block
 * can cost. */
#ifndef BL_COST_H
#define BL_COST_H

#include "plan/piece.h"
#include "plan/plan.h"

#define BL_COST_UNITS 140737488355328.0 /* 2^47 */

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

#endif
