/* Bundles: sequences that share a block, next to each other in the order of the table.
 *
 * The planner plans a bundle as one piece: its length is that of its members with their alignment, and what it needs
 * of columns and costs are the sums over its members. When a plan is drawn, the members take the place of the bundle.
 * Example: lengths 3, 5, 4 and together = 0 1 0 give the bundles {0 2} of 7 steps and {1} of 5. */
#ifndef BL_BUNDLES_H
#define BL_BUNDLES_H

#include "plan/needs.h"
#include "plan/plan.h"
#include "plan/strategy.h"

/* The bundles of a plan. A piece that has no other one beside it is a bundle of one. */
struct bl_bundles {
    struct bl_pieces pieces; /* the members; those of dropped bundles are in no bundle and not counted */
    size_t count;            /* bundles; 0: no piece has another one beside it, and there are no arrays */
    uint32_t *first;         /* [count + 1] the first entry of each bundle in `member`; owned, as is the next one */
    uint32_t *member;        /* pieces, by bundle, in the order of the table */
    int64_t given;           /* values with several planned sequences */
    int64_t split;           /* of these, those that do not fit into a block */
};

/* Makes the bundles of the pieces by options->together, and replaces *pieces by them: length[i] is that of bundle i,
 * and sequence[i] its first sequence. Does nothing if every piece is alone. A bundle of which a sequence was dropped is
 * dropped. needs: of the pieces. options: with their defaults; counts: T. The caller frees *bundles, also after errors.
 * BL_EUSAGE: the sequences of a bundle have different groups. BL_EFAIL: out of memory, or a bundle does not fit into a
 * block with BL_OVERSIZE_ERROR. */
int bl_bundles_make(struct bl_bundles *bundles, struct bl_pieces *pieces, const struct bl_needs *needs,
                    const int64_t *length, size_t count, const struct bl_plan_options *options,
                    const struct bl_plan *counts, struct bl_error *e);
void bl_bundles_free(struct bl_bundles *bundles);

/* Returns the number of pieces in a bundle. */
static inline size_t bl_bundle_size(const struct bl_bundles *b, size_t bundle)
{
    return b->first[bundle + 1] - b->first[bundle];
}

/* Replaces the needs of pieces by those of bundles of them: sums, and, where a block may have max_sequences pieces, the
 * number of pieces as a further need (BL_SEQUENCES_MAX: any number). BL_EFAIL: out of memory. */
int bl_bundles_need(const struct bl_bundles *bundles, struct bl_needs *needs, int64_t max_sequences,
                    struct bl_error *e);

/* Replaces the bundles in a plan by their members, and sets max_sequences. Does nothing without bundles. BL_EFAIL: out
 * of memory; the caller frees the plan. */
int bl_bundles_open(const struct bl_bundles *bundles, struct bl_plan *plan, struct bl_error *e);

/* Counts the bundles of an opened plan again, of which blocks were removed. BL_EFAIL: out of memory, or the plan does
 * not keep the bundles. */
int bl_bundles_recount(const struct bl_bundles *bundles, struct bl_plan *plan, const int64_t *length, size_t count,
                       const struct bl_plan_options *options, struct bl_error *e);

/* The bundles that do not fit into a block. */
struct bl_bundles_over {
    size_t count;     /* bundles */
    size_t first;     /* the first sequence of the first one */
    size_t sequences; /* of that bundle */
    const char *what; /* what it has too much of: "steps", "sequences" or the name of a column */
    double has, max;  /* how much, and how much a block may have */
};

/* Finds the bundles with more than a block of options->T steps may have, so that a command can name the first one
 * before it plans. options->together: numbers below count. BL_EFAIL: out of memory. */
int bl_bundles_find_over(struct bl_bundles_over *over, const int64_t *length, size_t count,
                         const struct bl_plan_options *options, struct bl_error *e);

#endif
