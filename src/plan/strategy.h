/* Defines the strategies: how sequences become pieces, and whether pieces share blocks.
 *
 * The planner asks the functions of a strategy and never its name. To add one, see docs/adding-a-strategy.md. */
#ifndef BL_STRATEGY_H
#define BL_STRATEGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/histogram.h"
#include "plan/plan.h"

/* --- pieces ------------------------------------------------------------------------------------------------------- */

/* The pieces of a plan: the sequences after strategy and --oversize have cut them. */

/* If nothing is cut, the pieces are the caller's lengths: piece i is sequence i if its length is in range, and the
 * three arrays are NULL. Otherwise piece i is lengths.length[i] steps of sequence[i], from step start[i] (0 if start is
 * NULL). Example: T = 4 splits lengths 3 and 6 into sequence = 0 1 1, length = 3 4 2, start = 0 0 4. */
struct bl_pieces {
    struct bl_lengths lengths;
    uint32_t *sequence;    /* owned, as are the next two */
    int64_t *length;       /* steps; also lengths.length */
    int64_t *start;        /* steps */
    const uint32_t *group; /* by sequence, the caller's; NULL: no groups */
    bool is_random;        /* the seed decides the starts */
    size_t count;          /* pieces in range, to be placed */
    int64_t steps;         /* of these pieces */
    int64_t repeated;      /* steps that overlap repeats, as in struct bl_plan */
    int64_t cut;           /* as in struct bl_plan */
    int64_t dropped;       /* as in struct bl_plan */
};

/* Returns the group of a piece; 0 without groups. */
static inline uint32_t bl_pieces_group(const struct bl_pieces *p, size_t piece)
{
    return p->group ? p->group[p->sequence ? p->sequence[piece] : piece] : 0;
}

/* Cuts the sequences. counts: T, and sequences, steps and longest of all lengths. T and clip must be resolved (not 0),
 * no length negative, and options->oversize not ERROR if any length exceeds T. The caller frees *pieces. BL_EFAIL: out
 * of memory, or more pieces than a plan can hold; then *pieces is empty. */
int bl_pieces_make(struct bl_pieces *pieces, const int64_t *length, size_t count, const struct bl_plan_options *options,
                   const struct bl_plan *counts, struct bl_error *e);

/* Draws the starts of BL_CUT_CLIP from a seed; does nothing for other cuts. length: the array of bl_pieces_make. */
void bl_pieces_draw(struct bl_pieces *pieces, const int64_t *length, int64_t T, uint64_t seed);
/* Frees the arrays; {0} is accepted. */
void bl_pieces_free(struct bl_pieces *pieces);

/* --- strategies --------------------------------------------------------------------------------------------------- */

/* How a sequence is cut. */
enum bl_cut {
    BL_CUT_NOTHING, /* whole; dropped if longer than T */
    BL_CUT_HEAD,    /* the first T steps */
    BL_CUT_SPLIT,   /* consecutive pieces of T steps, then the remainder */
    BL_CUT_CLIP,    /* one piece of T steps from a random start; dropped if shorter than T */
    BL_CUT_CLIPS,   /* every whole T from the start; the remainder is dropped */
    BL_CUT_ROWS,    /* where rows of T steps end, in which all sequences follow each other */
};

/* A strategy. The members are constants, and cut is a pure function of the options. */
struct bl_strategy_ops {
    bool is_packed;  /* pieces share blocks by a fill; otherwise each has its own block */
    bool is_clipped; /* T is --clip or the mean length; --T and --oversize are ignored */
    bool is_kept;    /* sequences and blocks are in input order: nothing depends on the seed, or on ranks */
    enum bl_cut (*cut)(const struct bl_plan_options *options);
};

#define BL_STRATEGY_DECLARE(id, name) extern const struct bl_strategy_ops bl_strategy_ops_##name;
BL_STRATEGY_LIST(BL_STRATEGY_DECLARE)
#undef BL_STRATEGY_DECLARE

/* Indexed by enum bl_strategy. */
extern const struct bl_strategy_ops *const bl_strategies[BL_STRATEGY_COUNT];

/* Returns whether a fill decides which pieces share a block; with --order keep, the input order does. */
bool bl_strategy_has_fill(const struct bl_plan_options *options);

#endif
