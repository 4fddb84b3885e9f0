/* The fills: how a strategy that packs chooses what goes into a block together. docs/adding-a-strategy.md tells how to
 * add one. */
#ifndef BL_FILLS_H
#define BL_FILLS_H

#include <stdbool.h>

#include "plan/draft.h"
#include "plan/fill.h"
#include "plan/plan.h"

/* More distinct lengths than this are rounded up, to less than a millionth of the longest: patterns and prices for them
 * all would need more memory than the lengths. */
#define BL_DISTINCT_MAX ((size_t)1 << 20)

/* Sequences that may share blocks: those of one group, or all of them without groups. */
struct bl_subproblem {
    struct bl_lengths lengths;
    struct bl_histogram h;       /* of the lengths; freed by prepare where draft does not need it */
    struct bl_patterns patterns; /* of the optimal fill: the solution */
    bool by_sequence;            /* of the optimal fill: best fit by sequence, which needs neither of the two */
};

/* Errors of both functions: BL_EFAIL, no memory. */
struct bl_fill_ops {
    bool is_random; /* the seed decides which lengths meet, so the number of blocks varies; not with --order keep */
    /* What is the same for every seed, from s->lengths and s->h: keeps in *s what draft needs, and raises *bound, a
     * proven lower bound on the blocks, where it can prove more. Pure: no seed, no clock. */
    int (*prepare)(struct bl_subproblem *s, int64_t *bound, const struct bl_fill_limits *limits, struct bl_error *e);
    /* Adds blocks for all sequences of *s to a draft: every id once, no block above the limits. All chance comes from
     * the seed, by streams of plan/random.h. */
    int (*draft)(struct bl_draft *d, const struct bl_subproblem *s, const struct bl_fill_limits *limits, uint64_t seed,
                 struct bl_error *e);
};

#define BL_FILL_DECLARE(id, name) extern const struct bl_fill_ops bl_fill_ops_##name;
BL_FILL_LIST(BL_FILL_DECLARE)
#undef BL_FILL_DECLARE

/* By enum bl_fill. */
extern const struct bl_fill_ops *const bl_fills[BL_FILL_COUNT];

/* A `prepare` for fills that draw without patterns: keeps the histogram, with at most BL_DISTINCT_MAX lengths, and
 * searches a while for a better bound. */
int bl_fill_prepare_bound(struct bl_subproblem *s, int64_t *bound, const struct bl_fill_limits *limits,
                          struct bl_error *e);

#endif
