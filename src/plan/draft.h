/* A draft of a plan: which sequences share a block, before the blocks have an order.
 *
 * Groups of sequences are drafted one after the other. Then blocks are split, added or removed until their number suits
 * the ranks. Finally they are ordered, and the draft becomes the plan's tables. */
#ifndef BL_DRAFT_H
#define BL_DRAFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/histogram.h"
#include "plan/limits.h"
#include "plan/needs.h"
#include "plan/pattern.h"
#include "plan/piece.h"

struct bl_draft {
    uint32_t *sequence; /* [pieces] ids, block by block; allocated for all pieces */
    size_t pieces;
    uint32_t *first; /* [blocks+1] first piece of each block, then `pieces` */
    size_t blocks, capacity;
    bool is_shuffled; /* the blocks are already in random order */
};

/* Allocates room for this number of pieces. Errors here and below: BL_EFAIL, out of memory; the draft must still be
 * freed. */
int bl_draft_make(struct bl_draft *d, size_t pieces, struct bl_error *e);
void bl_draft_free(struct bl_draft *d);

/* Makes a block of the `size` pieces after the last block. */
int bl_draft_close(struct bl_draft *d, size_t size, struct bl_error *e);

/* Makes room for this number of additional blocks. */
int bl_draft_reserve(struct bl_draft *d, size_t blocks, struct bl_error *e);

static inline size_t bl_draft_size(const struct bl_draft *d, size_t block)
{
    return d->first[block + 1] - d->first[block];
}

/* A block as one number, for tables that are shuffled or sorted: its first piece and its size, 32 bits each. */
static inline int64_t bl_draft_entry(const struct bl_draft *d, size_t block)
{
    return (int64_t)((uint64_t)d->first[block] << 32 | bl_draft_size(d, block));
}

static inline size_t bl_entry_first(int64_t entry)
{
    return (uint64_t)entry >> 32;
}

static inline size_t bl_entry_size(int64_t entry)
{
    return (uint64_t)entry & UINT32_MAX;
}

/* The drafting methods. Each adds blocks for all the lengths; the seed decides the order inside every block. */

/* Next fit, in input order: starts a new block if the next piece exceeds T units, the number of sequences or a need, or
 * is of another group. No plan that keeps the order has fewer blocks. */
int bl_draft_keep(struct bl_draft *d, const struct bl_pieces *pieces, const struct bl_limits *limits,
                  const struct bl_needs *needs, struct bl_error *e);

/* Uses patterns that cover the histogram exactly, in random order. */
int bl_draft_patterns(struct bl_draft *d, const struct bl_patterns *patterns, const struct bl_histogram *h,
                      const struct bl_lengths *lengths, uint64_t seed, struct bl_error *e);

/* Best fit decreasing without a histogram: as many blocks as bl_search_bestfit. Takes 8 bytes of temporary memory per
 * length, and 16 per open block. */
int bl_draft_bestfit(struct bl_draft *d, const struct bl_lengths *lengths, const struct bl_limits *limits,
                     uint64_t seed, struct bl_error *e);

#endif
