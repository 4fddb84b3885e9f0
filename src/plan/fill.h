/* Algorithms of bin packing: from a histogram whose lengths are all at most T to patterns that use every length as
 * often as it occurs. All are pure functions of histogram and limits; randomness comes later, with the ids.
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
    int64_t T;          /* capacity of a block, at most BL_T_MAX */
    uint32_t sequences; /* maximum in a block, at least 1; UINT32_MAX: any number */
    int64_t work;       /* of one algorithm; what it cannot finish is left to best fit */
};

/* Best fit decreasing: the longest first, each into the fullest block that has room. At most 11/9 of the optimum. */
int bl_fill_bestfit(struct bl_patterns *patterns, const struct bl_histogram *h, const struct bl_fill_limits *limits,
                    struct bl_error *e);

/* The number of blocks that takes, with 16 bytes of memory for each open block. */
int bl_fill_bestfit_count(size_t *blocks, const struct bl_histogram *h, const struct bl_fill_limits *limits,
                          struct bl_error *e);

/* Minimum bin slack (Gupta and Ho, 1999), on counts: the longest length that is left, and with it those that leave
 * the least room; repeated while there are lengths for it. Wastes almost nothing where short lengths abound; poor where
 * long ones dominate. */
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

/* The linear relaxation by column generation (Gilmore and Gomory, 1961), rounded; the residual instance is packed by
 * bl_fill_greedy. Without price, also by diving: columns are fixed and the relaxation is solved again for the residual.
 * known: patterns for the same histogram, the initial columns and the blocks to beat. *bound: raised to what is proven
 * (Farley 1990). price: NULL, or [distinct] for the dual prices; zeros without a relaxation. patterns->count is 0 where
 * the limits forbid it, or *bound proves that it cannot help. */
int bl_fill_columns(struct bl_patterns *patterns, int64_t *bound, const struct bl_histogram *h,
                    const struct bl_patterns *known, const struct bl_fill_limits *limits, double *price,
                    struct bl_error *e);

/* Local search on patterns of bl_fill_min_slack: packs the lengths of the last patterns again, by columns, and those of
 * ever more of them, until the blocks meet the bound. patterns->count is 0 where that does not help. */
int bl_fill_improve(struct bl_patterns *patterns, int64_t bound, const struct bl_histogram *h,
                    const struct bl_patterns *known, const struct bl_fill_limits *limits, struct bl_error *e);

/* Columns with lengths in units of T / 2048, rounded up: for a T that is too large for the knapsack's table.
 * patterns->count is 0 where the limits forbid it. */
int bl_fill_coarse(struct bl_patterns *patterns, const struct bl_histogram *h, const struct bl_fill_limits *limits,
                   struct bl_error *e);

/* For many distinct lengths: item grouping. The linear relaxation over some hundred classes of lengths is realised with
 * the true lengths, and solved again for what is left. blocks: an estimate of their number. *bound: raised to what the
 * dual prices of the first relaxation prove. */
int bl_fill_grouped(struct bl_patterns *patterns, int64_t *bound, const struct bl_histogram *h,
                    const struct bl_fill_limits *limits, uint32_t classes, size_t blocks, struct bl_error *e);

/* The best of all of these. *bound: a proven lower bound, raised where more is proven; the search stops once the blocks
 * meet it. Ties: the one with fewer sequences in the fullest block. */
int bl_fill_optimal(struct bl_patterns *patterns, int64_t *bound, const struct bl_histogram *h,
                    const struct bl_fill_limits *limits, struct bl_error *e);

#endif
