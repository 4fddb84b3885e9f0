/* Computes what a block costs at each point of a step of training at which the ranks wait for each other.
 *
 * Costs are compared as integers, which every machine adds up alike: the most expensive block possible has 2^47 units.
 * With --cost 1,0.5 and T = 100, a block of sequences of 60 and 40 steps costs 100 + 0.5 * (3600 + 1600) = 2700. */
#ifndef BL_COST_H
#define BL_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/option.h"
#include "plan/plan.h"
#include "plan/strategy.h"

/* --- options ------------------------------------------------------------------------------------------------------ */

/* The type of --cost, over struct bl_plan_cost. */
extern const struct bl_option_type bl_cost_option_type;

/* Checks the fields with a cost: none is given twice, and at most one is not among the columns of fields with steps of
 * their own. BL_EUSAGE. */
int bl_cost_check_fields(const struct bl_plan_cost *cost, const struct bl_plan_columns *own, struct bl_error *e);

/* Returns a cost of the common steps alone, for plans that do not know the fields with steps of their own. */
struct bl_plan_cost bl_cost_of_common(const struct bl_plan_cost *cost, const struct bl_plan_columns *own);

/* --- costs -------------------------------------------------------------------------------------------------------- */

#define BL_COST_UNITS 140737488355328.0 /* 2^47: the sum of 65535 blocks is still below 2^63 */

/* Common steps: a block costs alpha for each of its T steps, padding too, and for each of its sequences beta times the
 * squared length, or the cost that a column gives the sequence. Own steps have no padding: each costs alpha, and those
 * of a sequence cost beta times their squared number. */
struct bl_cost {
    const struct bl_pieces *pieces; /* the caller's; must outlive the cost */
    const int64_t *whole;           /* lengths of the uncut sequences in steps, for `column` */
    struct bl_cost_point {
        char name[BL_PLAN_OWN_NAME_SIZE]; /* of the field; "": the cost is of no named field */
        const double *own;                /* own steps of the sequences, or NULL: common steps */
        const double *column;             /* costs of the sequences, or NULL */
        double square;                    /* units for one squared step, or for 1 of the column */
        double step;                      /* units for one own step */
        int64_t block;                    /* units of every block */
        int64_t most;                     /* steps in a block: T, or the capacity of the field */
    } point[BL_COST_POINTS];
    int points; /* at least 1 */
    struct bl_cost_bundle {
        int64_t *units;       /* [bundles] the costs of the pieces of each bundle; owned, as is steps */
        double *steps;        /* their own steps; NULL: common steps */
    } bundle[BL_COST_POINTS]; /* NULL: the pieces are planned */
};

struct bl_bundles; /* plan/bundles.h */

/* Makes the scale of the costs of these pieces from options->cost; without a cost, squared lengths. length: of the
 * sequences; own steps must be checked. BL_EUSAGE: a cost that is negative or not finite, or all costs are 0. */
int bl_cost_make(struct bl_cost *cost, const struct bl_pieces *pieces, const int64_t *length, int64_t T,
                 const struct bl_plan_options *options, struct bl_error *e);

/* Replaces the pieces by bundles of them, of which each costs what its pieces cost. pieces: the bundles, as pieces; the
 * caller's. BL_EFAIL: out of memory. Then the caller frees the cost with bl_cost_free, also after errors. */
int bl_cost_bundle(struct bl_cost *cost, const struct bl_bundles *bundles, const struct bl_pieces *pieces,
                   struct bl_error *e);
/* Frees what bl_cost_bundle has made; {0} is accepted. */
void bl_cost_free(struct bl_cost *cost);

/* Returns how many steps of point p a piece of `length` common steps has. A piece with own steps is a whole
 * sequence. */
static inline double bl_cost_steps(const struct bl_cost *c, int p, int64_t length, uint32_t piece)
{
    const struct bl_cost_point *point = &c->point[p];
    if (c->bundle[p].steps)
        return c->bundle[p].steps[piece];
    return point->own ? point->own[c->pieces->sequence ? c->pieces->sequence[piece] : piece] : (double)length;
}

/* Returns the cost in units of a piece at point p. *piece is read only where bundles, a column or own steps give the
 * costs. A piece of a cut sequence has the share of its steps in the cost that a column gives the sequence. */
static inline int64_t bl_cost_of_length(const struct bl_cost *c, int p, int64_t length, const uint32_t *piece)
{
    const struct bl_cost_point *point = &c->point[p];
    double steps = (double)length;
    if (c->bundle[p].units)
        return c->bundle[p].units[*piece];
    if (point->column) {
        size_t sequence = c->pieces->sequence ? c->pieces->sequence[*piece] : *piece;
        return (int64_t)(point->column[sequence] * point->square * (steps / (double)c->whole[sequence]));
    }
    if (point->own)
        steps = bl_cost_steps(c, p, length, *piece);
    return (int64_t)(steps * steps * point->square + steps * point->step);
}

static inline int64_t bl_cost_piece(const struct bl_cost *c, int p, uint32_t piece)
{
    return bl_cost_of_length(c, p, c->pieces->lengths.length[piece], &piece);
}

/* Returns the cost of a block of these pieces at point p, in units, padding included. */
int64_t bl_cost_block(const struct bl_cost *cost, int p, const uint32_t *piece, size_t pieces);

#endif
