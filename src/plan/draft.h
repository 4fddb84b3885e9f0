/* A draft of a plan: which sequences share a block, before the blocks have their order.
 *
 * Groups of sequences are drafted one after the other; then blocks are split, added or removed, until their number
 * suits the ranks; then they are put into order and the draft becomes the plan's tables. */
#ifndef BL_DRAFT_H
#define BL_DRAFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/fill.h"
#include "plan/histogram.h"
#include "plan/pattern.h"

struct bl_draft {
    uint32_t *sequence; /* [pieces] ids, block by block; room for all from the beginning */
    size_t pieces;
    uint32_t *first; /* [blocks+1] first piece of each; the last is `pieces` */
    size_t blocks, capacity;
    bool is_shuffled; /* the blocks are in random order already */
};

/* Allocates room for this number of pieces. Errors here and below: BL_EFAIL, no memory; the draft is then still to be
 * freed. */
int bl_draft_make(struct bl_draft *d, size_t pieces, struct bl_error *e);
void bl_draft_free(struct bl_draft *d);

/* The `size` pieces after the last block become the next one. */
int bl_draft_close(struct bl_draft *d, size_t size, struct bl_error *e);

/* Makes room for this number of additional blocks. */
int bl_draft_reserve(struct bl_draft *d, size_t blocks, struct bl_error *e);

static inline size_t bl_draft_size(const struct bl_draft *d, size_t block)
{
    return d->first[block + 1] - d->first[block];
}

/* The ways of drafting. Each adds blocks for all the lengths; inside every block the order is drawn by the seed. */

/* Every length alone in a block, in input order. */
int bl_draft_alone(struct bl_draft *d, const struct bl_lengths *lengths, struct bl_error *e);

/* In input order, a new block where the next length does not fit into T units or would be one too many: next fit, of
 * which no plan that keeps the order has fewer blocks. */
int bl_draft_keep(struct bl_draft *d, const struct bl_lengths *lengths, const struct bl_fill_limits *limits,
                  const uint32_t *group, const uint32_t *owner, struct bl_error *e);

/* By patterns that use every length of the histogram as often as it occurs, in random order. */
int bl_draft_patterns(struct bl_draft *d, const struct bl_patterns *patterns, const struct bl_histogram *h,
                      const struct bl_lengths *lengths, uint64_t seed, struct bl_error *e);

/* Best fit decreasing without a histogram: as many blocks as bl_fill_bestfit makes. 8 bytes of temporary memory for
 * each length, and 16 for each block that is open at a time. */
int bl_draft_bestfit(struct bl_draft *d, const struct bl_lengths *lengths, const struct bl_fill_limits *limits,
                     uint64_t seed, struct bl_error *e);

#endif
