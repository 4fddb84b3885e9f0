/* Subproblems: the pieces that may share blocks, which are planned one group after the other. */
#ifndef BL_SUBPROBLEM_H
#define BL_SUBPROBLEM_H

#include <stdbool.h>

#include "plan/draft.h"
#include "plan/histogram.h"
#include "plan/needs.h"
#include "plan/strategy.h"

struct bl_subproblem {
    struct bl_lengths lengths;
    struct bl_histogram h;        /* of the lengths; prepare frees it if draft does not need it */
    struct bl_patterns patterns;  /* the solution of the optimal fill */
    bool by_sequence;             /* for the optimal fill: best fit by sequence, without histogram and patterns */
    const struct bl_needs *needs; /* of all pieces; NULL: blocks are limited by steps and sequences alone */
    struct bl_draft kept;         /* with needs: blocks that keep to the maxima, the same for every seed */
};

struct bl_subproblems {
    struct bl_subproblem *each; /* ascending by group */
    size_t count;
    uint32_t *member; /* pieces by group; NULL: one subproblem has all pieces */
};

/* A subproblem for each group that has pieces; one for all pieces unless `split`. Only their lengths are set. BL_EFAIL:
 * out of memory; *s must still be freed. */
int bl_subproblems_make(struct bl_subproblems *s, const struct bl_pieces *pieces, bool split, struct bl_error *e);
void bl_subproblems_free(struct bl_subproblems *s);

/* Frees all but the lengths of one. */
void bl_subproblem_free(struct bl_subproblem *s);

#endif
