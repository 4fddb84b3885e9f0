/* The strategies: how sequences become pieces, and whether pieces share blocks. To add one, see
 * docs/adding-a-strategy.md. */
#ifndef BL_STRATEGY_H
#define BL_STRATEGY_H

#include <stdbool.h>

#include "plan/plan.h"

/* How a sequence is cut. */
enum bl_cut {
    BL_CUT_NOTHING, /* whole; dropped if longer than T */
    BL_CUT_HEAD,    /* the first T steps */
    BL_CUT_SPLIT,   /* consecutive pieces of T steps, then the remainder */
    BL_CUT_CLIP,    /* one piece of T steps from a random start; dropped if shorter than T */
    BL_CUT_CLIPS,   /* every whole T from the start; the remainder is dropped */
    BL_CUT_ROWS,    /* where rows of T steps end, in which all sequences follow each other */
};

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

/* Whether a fill decides which pieces share a block. */
bool bl_strategy_has_fill(const struct bl_plan_options *options);

#endif
