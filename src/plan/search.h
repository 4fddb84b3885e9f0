/* Declares the bin packing algorithms, which find patterns that cover a histogram of lengths up to T exactly. All are
 * pure functions of histogram and limits; randomness enters later, with the ids.
 *
 * Example: T = 10 and three lengths of 6, one of 4 and two of 2 give the patterns {6 4}, used once, and {6 2}, used
 * twice.
 *
 * Work is counted in elementary operations, not in seconds, so that every machine finds the same plan. A billion of
 * them take about a second. Errors: BL_EFAIL, out of memory; then *patterns is empty. The caller frees *patterns. */
#ifndef BL_SEARCH_H
#define BL_SEARCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/draft.h"
#include "plan/histogram.h"
#include "plan/limits.h"

/* --- remaining lengths -------------------------------------------------------------------------------------------- */

/* The lengths that remain while a solution is fixed block by block, as a separate histogram without empty buckets. */

struct bl_remaining {
    struct bl_histogram h;
    uint32_t *bucket; /* [distinct of h] bucket in the full histogram */
    uint32_t *at;     /* [distinct of the full histogram] the inverse; BL_REMAINDER_NONE if none is left */
};

#define BL_REMAINDER_NONE UINT32_MAX

/* Makes an empty remainder with room for all lengths of `full`. BL_EFAIL: out of memory; *r must still be freed. */
int bl_remainder_make(struct bl_remaining *r, const struct bl_histogram *full, struct bl_error *e);
void bl_remainder_free(struct bl_remaining *r);

/* Sets the remainder. left: [distinct of the full histogram], the remaining count of each bucket. */
void bl_remainder_set(struct bl_remaining *r, const struct bl_histogram *full, const uint32_t *left);

/* --- residual instance -------------------------------------------------------------------------------------------- */

/* The residual instance: the lengths that remain while blocks are filled one by one, and the block that is being
 * filled. */

struct bl_residual {
    const struct bl_histogram *h; /* the caller's */
    uint32_t *left;               /* [distinct] remaining count of each bucket */
    struct bl_bitset nonempty;    /* buckets with a count above 0 */
    uint32_t *chosen;             /* [count] buckets of the unfinished block, already taken */
    size_t count, capacity;
};

/* Starts with all lengths of the histogram. Errors here and below: BL_EFAIL, out of memory; the object must still be
 * freed. */
int bl_residual_make(struct bl_residual *s, const struct bl_histogram *h, struct bl_error *e);
void bl_residual_free(struct bl_residual *s);

/* Moves one length of a nonempty bucket into the unfinished block. */
int bl_residual_choose(struct bl_residual *s, size_t bucket, struct bl_error *e);

/* Puts back the last chosen lengths until `count` are left in the unfinished block. */
void bl_residual_put_back(struct bl_residual *s, size_t count);

/* Returns the longest nonempty bucket whose length is at most `room`, or BL_BITSET_NONE. */
size_t bl_residual_fitting(const struct bl_residual *s, uint32_t room);

/* Adds the unfinished block as a pattern, used as often as the lengths allow, up to `most` times, and starts an empty
 * block. *use: how often the pattern is used. */
int bl_residual_close(struct bl_residual *s, uint32_t most, struct bl_patterns *patterns, uint32_t *use,
                      struct bl_error *e);

/* --- searches ----------------------------------------------------------------------------------------------------- */

/* Best fit decreasing: the longest first, each into the fullest block with room. It needs at most 11/9 of the optimum,
 * and a few more blocks (Johnson et al., 1974). */
int bl_search_bestfit(struct bl_patterns *patterns, const struct bl_histogram *h, const struct bl_limits *limits,
                      struct bl_error *e);

/* Sets *blocks to the blocks of bl_search_bestfit, without patterns: 16 bytes of memory per open block. */
int bl_search_bestfit_count(size_t *blocks, const struct bl_histogram *h, const struct bl_limits *limits,
                            struct bl_error *e);

/* Minimum bin slack (Gupta and Ho, 1999), on counts: takes the longest remaining length and those that leave the least
 * room beside it, and repeats that block while the lengths last. It wastes almost nothing if there are many short
 * lengths, and is poor if most lengths are long. */
int bl_search_min_slack(struct bl_patterns *patterns, const struct bl_histogram *h, const struct bl_limits *limits,
                        struct bl_error *e);

typedef int bl_search_function(struct bl_patterns *patterns, const struct bl_histogram *h,
                               const struct bl_limits *limits, struct bl_error *e);

/* Runs two searches and keeps the better solution; the second search has an eighth of the work. */
int bl_search_either(struct bl_patterns *patterns, const struct bl_histogram *h, const struct bl_limits *limits,
                     bl_search_function *first, bl_search_function *second, struct bl_error *e);

/* Keeps the better solution of bl_search_bestfit and bl_search_min_slack. */
bl_search_function bl_search_greedy;

/* Adds the patterns that `fill` finds for the remaining lengths, left[b] of every bucket. On an error *patterns is
 * unchanged. */
int bl_search_residual(struct bl_patterns *patterns, const struct bl_histogram *h, const uint32_t *left,
                       const struct bl_limits *limits, bl_search_function *fill, struct bl_error *e);

/* Solves the linear relaxation by column generation (Gilmore and Gomory, 1961) and rounds it; bl_search_greedy packs
 * the residual instance. Without price, columns are also fixed one by one, and the relaxation is solved again for the
 * residual. known: patterns for the same histogram, as initial columns and the solution to improve. *bound: set to the
 * proven bound if that is higher (Farley 1990). price: NULL, or [distinct] for the dual prices; zeros if there is no
 * relaxation. patterns->count is 0 if the limits forbid the search, or *bound proves it useless. */
int bl_search_columns(struct bl_patterns *patterns, int64_t *bound, const struct bl_histogram *h,
                      const struct bl_patterns *known, const struct bl_limits *limits, double *price,
                      struct bl_error *e);

/* Improves patterns of bl_search_min_slack: packs the lengths of the last patterns again, by columns, then those of
 * more and more patterns, until there are no more blocks than the bound. patterns->count is 0 if that finds nothing
 * better. */
int bl_search_improve(struct bl_patterns *patterns, int64_t bound, const struct bl_histogram *h,
                      const struct bl_patterns *known, const struct bl_limits *limits, struct bl_error *e);

/* Searches by columns with lengths in units of T / 2048, rounded up, for a T that is too large for the knapsack table.
 * patterns->count is 0 if the limits forbid it. */
int bl_search_coarse(struct bl_patterns *patterns, const struct bl_histogram *h, const struct bl_limits *limits,
                     struct bl_error *e);

/* Item grouping, for many distinct lengths: solves the linear relaxation over some hundred classes of lengths, realises
 * a part of it with the true lengths, and solves it again for the remaining ones. blocks: an estimate of their number.
 * *bound: set to the bound of the dual prices of the first relaxation, if it is higher. */
int bl_search_grouped(struct bl_patterns *patterns, int64_t *bound, const struct bl_histogram *h,
                      const struct bl_limits *limits, uint32_t classes, size_t blocks, struct bl_error *e);

/* Dives fix columns as bl_search_columns does. Their patterns hold no length more often than it remains, and they
 * restart with limited discrepancy, until there are no more blocks than the bound or the work ends. known: patterns for
 * the same histogram, the solution to improve. *bound: raised to what is proven. patterns->count is 0 if the limits
 * forbid the search, or nothing better is found. */
int bl_search_dive(struct bl_patterns *patterns, int64_t *bound, const struct bl_histogram *h,
                   const struct bl_patterns *known, const struct bl_limits *limits, struct bl_error *e);

/* Exact completion of blocks of two to four sequences, in random order, again and again until all lengths are in
 * `blocks` blocks or the work ends. patterns->count is 0 if nothing is found, or the lengths are too many or too short
 * for this search. */
int bl_search_complete(struct bl_patterns *patterns, const struct bl_histogram *h, size_t blocks,
                       const struct bl_limits *limits, struct bl_error *e);

/* Runs all searches above until the blocks equal the bound or the work ends, and keeps the best solution. *bound: a
 * proven lower bound, raised if a search proves more. If solutions are equally good, the one with fewer sequences in
 * the fullest block is kept. */
int bl_search_best(struct bl_patterns *patterns, int64_t *bound, const struct bl_histogram *h,
                   const struct bl_limits *limits, struct bl_error *e);

/* Raises *bound, in blocks, to what the dual prices of classes of the lengths prove; the bound is valid for any prices.
 * price: [classes]; a block has `places` units of the classes. *used: increased by the operations. BL_EFAIL: out of
 * memory. */
int bl_bound_dual(int64_t *bound, const struct bl_histogram *h, int64_t T, const struct bl_histogram *classes,
                  uint32_t places, const double *price, int64_t *used, struct bl_error *e);

#endif
