/* The fills: a fill decides which sequences share a block, and solves one subproblem at a time. To add one, see
 * docs/adding-a-strategy.md. */
#ifndef BL_FILL_H
#define BL_FILL_H

#include <stdbool.h>

#include "plan/draft.h"
#include "plan/histogram.h"
#include "plan/needs.h"
#include "plan/order.h"
#include "plan/plan.h"
#include "plan/pool.h"
#include "plan/strategy.h"

/* --- subproblems -------------------------------------------------------------------------------------------------- */

/* A subproblem has the pieces that may share blocks: all, or those of one group. Groups are planned one after the
 * other. */

struct bl_subproblem {
    struct bl_lengths lengths;
    struct bl_histogram h;              /* of the lengths; prepare frees it if draft does not need it */
    struct bl_patterns patterns;        /* the solution of the optimal fill */
    bool by_sequence;                   /* for the optimal fill: best fit by sequence, without histogram and patterns */
    const struct bl_needs *needs;       /* of all pieces; NULL: blocks are limited by steps and sequences alone */
    struct bl_draft kept;               /* with needs: blocks that keep to the maxima, the same for every seed */
    struct bl_pool_weighting weighting; /* with needs: how blocks are filled; zeros: not chosen */
};

struct bl_subproblems {
    struct bl_subproblem *each; /* ascending by group */
    size_t count;
    uint32_t *member; /* pieces by group; NULL: one subproblem has all pieces */
};

/* Makes a subproblem for each group that has pieces if `split`, otherwise one for all pieces. Sets their lengths only,
 * which refer to the arrays of *pieces. BL_EFAIL: out of memory; *s must still be freed. */
int bl_subproblems_make(struct bl_subproblems *s, const struct bl_pieces *pieces, bool split, struct bl_error *e);
void bl_subproblems_free(struct bl_subproblems *s);

/* Frees everything except the lengths of one subproblem, which belong to the caller. */
void bl_subproblem_free(struct bl_subproblem *s);

/* --- fills -------------------------------------------------------------------------------------------------------- */

/* The functions of a fill. Both return BL_EFAIL if memory runs out. */
struct bl_fill_ops {
    bool is_random; /* the number of blocks varies by seed; not with --order keep */
    /* Computes what is the same for every seed, from s->lengths and s->h: stores in *s what draft needs, and raises
     * *bound, a proven lower bound on the blocks, if it can. Pure: no seed, no clock. */
    int (*prepare)(struct bl_subproblem *s, int64_t *bound, const struct bl_limits *limits, struct bl_error *e);
    /* Adds blocks for all sequences of *s to a draft: every id once, all blocks within the limits. All randomness comes
     * from the seed, through the streams of plan/random.h. It may add fewer than are wanted. */
    int (*draft)(struct bl_draft *d, const struct bl_subproblem *s, const struct bl_limits *limits,
                 const struct bl_wanted *wanted, uint64_t seed, struct bl_error *e);
};

#define BL_FILL_DECLARE(id, name) extern const struct bl_fill_ops bl_fill_ops_##name;
BL_FILL_LIST(BL_FILL_DECLARE)
#undef BL_FILL_DECLARE

/* The optimal fill for pieces with needs, where columns have maxima, too. */
extern const struct bl_fill_ops bl_fill_ops_vector;

/* Indexed by enum bl_fill. */
extern const struct bl_fill_ops *const bl_fills[BL_FILL_COUNT];

/* Prepares a fill that needs no patterns: keeps the histogram, with at most BL_DISTINCT_MAX lengths, and searches for
 * a better bound within limits. */
int bl_fill_prepare_bound(struct bl_subproblem *s, int64_t *bound, const struct bl_limits *limits, struct bl_error *e);

#endif
