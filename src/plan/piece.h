/* The pieces of a plan: what is left of the sequences once they are cut as strategy and --oversize say. */
#ifndef BL_PIECE_H
#define BL_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/histogram.h"
#include "plan/plan.h"

/* Where nothing is cut, the pieces are the caller's lengths as they stand: piece i is sequence i if its length is in
 * range, and the three arrays are NULL. Otherwise piece i is lengths.length[i] steps of sequence[i] from start[i]
 * (0 where start is NULL). */
struct bl_pieces {
    struct bl_lengths lengths;
    uint32_t *sequence;
    int64_t *length; /* lengths.length, where it is ours */
    int64_t *start;
    bool is_random;  /* the starts are drawn by the seed */
    size_t count;    /* in range: to be placed */
    int64_t steps;   /* of those */
    int64_t cut;     /* as in struct bl_plan */
    int64_t dropped; /* likewise */
};

/* counts: T, and sequences, steps and longest of all lengths. T and clip are settled (not 0), no length is negative,
 * and options->oversize is not ERROR if any is longer than T. Errors: BL_EFAIL, no memory or more pieces than a plan
 * can hold; then *pieces is empty. */
int bl_pieces_make(struct bl_pieces *pieces, const int64_t *length, size_t count, const struct bl_plan_options *options,
                   const struct bl_plan *counts, struct bl_error *e);

/* Draws the starts of BL_CUT_CLIP by a seed; does nothing for other cuts. length: the one of bl_pieces_make. */
void bl_pieces_draw(struct bl_pieces *pieces, const int64_t *length, int64_t T, uint64_t seed);
void bl_pieces_free(struct bl_pieces *pieces);

#endif
