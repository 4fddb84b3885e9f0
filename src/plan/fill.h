/* Ways of filling blocks: from a histogram whose lengths are all at most T to patterns that use every length as often
 * as it occurs. All are pure functions of histogram and limits; chance comes later, with the identities.
 *
 * Work is counted in elementary operations, not in seconds, so that every machine finds the same plan. A billion of
 * them take about a second.
 * Errors: BL_EFAIL, no memory; then *patterns is empty. */
#ifndef BL_FILL_H
#define BL_FILL_H

#include <stdint.h>

#include "base/error.h"
#include "plan/histogram.h"
#include "plan/pattern.h"

struct bl_fill_limits {
    int64_t T;          /* what the lengths of a block may add up to, at most BL_T_MAX */
    uint32_t sequences; /* the most in a block, at least 1; UINT32_MAX: any number */
    int64_t work;       /* of one way of filling; what it cannot finish is left to best fit */
};

/* Best fit decreasing: the longest first, each into the fullest block that has room. At most 11/9 of the optimum. */
int bl_fill_bestfit(struct bl_patterns *patterns, const struct bl_histogram *h, const struct bl_fill_limits *limits,
                    struct bl_error *e);

/* How many blocks that takes; 16 bytes for each block that is open at a time. */
int bl_fill_bestfit_count(size_t *blocks, const struct bl_histogram *h, const struct bl_fill_limits *limits,
                          struct bl_error *e);

/* Minimum bin slack (Gupta and Ho, 1999), on counts: the longest length that is left, and beside it those that leave
 * the least room; as many blocks so as there are lengths for. Leaves almost nothing where many short lengths are there
 * to choose from; poor where long ones dominate. */
int bl_fill_min_slack(struct bl_patterns *patterns, const struct bl_histogram *h, const struct bl_fill_limits *limits,
                      struct bl_error *e);

/* The better of these two; the second has a sixteenth of the work. */
int bl_fill_greedy(struct bl_patterns *patterns, const struct bl_histogram *h, const struct bl_fill_limits *limits,
                   struct bl_error *e);

typedef int bl_fill_function(struct bl_patterns *patterns, const struct bl_histogram *h,
                             const struct bl_fill_limits *limits, struct bl_error *e);

/* The residual instance: adds patterns for what is left, left[b] of every bucket, as `fill` makes them. On an error
 * *patterns stays as it was. */
int bl_fill_residual(struct bl_patterns *patterns, const struct bl_histogram *h, const uint32_t *left,
                     const struct bl_fill_limits *limits, bl_fill_function *fill, struct bl_error *e);

/* The linear relaxation by column generation (Gilmore and Gomory, 1961), rounded down; what is left is packed by the
 * ways above. known: patterns for the same histogram, to begin with and to beat. *bound is raised to the bound that was
 * proven (Farley 1990). price: NULL, or [distinct] for the prices of the lengths in the end; zeros without a
 * relaxation. Nothing is begun that the limits forbid, or that *bound shows to be in vain: then
 * patterns->count is 0. */
int bl_fill_columns(struct bl_patterns *patterns, int64_t *bound, const struct bl_histogram *h,
                    const struct bl_patterns *known, const struct bl_fill_limits *limits, double *price,
                    struct bl_error *e);

/* Takes the last of the known patterns apart, as they come from bl_fill_min_slack, and fills what was in them by
 * columns; ever more of them, until the blocks meet the bound. patterns->count is 0 where that is of no use. */
int bl_fill_improve(struct bl_patterns *patterns, int64_t bound, const struct bl_histogram *h,
                    const struct bl_patterns *known, const struct bl_fill_limits *limits, struct bl_error *e);

/* Columns for few lengths that are too long for that, in units of a few thousandths of T, rounded up. patterns->count
 * is 0 where the limits forbid it. */
int bl_fill_coarse(struct bl_patterns *patterns, const struct bl_histogram *h, const struct bl_fill_limits *limits,
                   struct bl_error *e);

/* For many: linear relaxations over some hundred classes of lengths, one after the other for what is left, carried out
 * with the true lengths. blocks: about how many there will be. *bound is raised to what the prices of the first prove.
 */
int bl_fill_grouped(struct bl_patterns *patterns, int64_t *bound, const struct bl_histogram *h,
                    const struct bl_fill_limits *limits, uint32_t classes, size_t blocks, struct bl_error *e);

/* The best of all; *bound is a proven lower bound, raised where more is proven. Stops as soon as the two meet. Of
 * equally many blocks those with fewer sequences in the fullest. */
int bl_fill_optimal(struct bl_patterns *patterns, int64_t *bound, const struct bl_histogram *h,
                    const struct bl_fill_limits *limits, struct bl_error *e);

#endif
