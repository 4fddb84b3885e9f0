/* The data structures of the search for blocks: sets of small numbers, the histogram of the planned lengths, the lower
 * bounds that follow from the histogram, and the open blocks by room. */
#ifndef BL_HISTOGRAM_H
#define BL_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/limits.h"

/* --- bitset ------------------------------------------------------------------------------------------------------- */

/* A hierarchical bitset: a set of small numbers that can be traversed in both directions.
 *
 * Each level has one bit per word of the level below, which says whether that word is not zero. So a step takes a few
 * words even in a sparse set. */

#define BL_BITSET_LEVELS 6
#define BL_BITSET_NONE SIZE_MAX

struct bl_bitset {
    uint64_t *level[BL_BITSET_LEVELS]; /* [0] the set's bits; all levels in one allocation */
    size_t size[BL_BITSET_LEVELS];     /* in bits */
    int levels;
};

/* Makes an empty set for numbers below size. BL_EFAIL: out of memory; then *m is empty. */
int bl_bitset_make(struct bl_bitset *m, size_t size, struct bl_error *e);
void bl_bitset_free(struct bl_bitset *m);
void bl_bitset_add(struct bl_bitset *m, size_t i);
void bl_bitset_remove(struct bl_bitset *m, size_t i);

/* Returns the smallest member >= i, or the largest <= i, or BL_BITSET_NONE. */
size_t bl_bitset_next(const struct bl_bitset *m, size_t i);
size_t bl_bitset_previous(const struct bl_bitset *m, size_t i);

/* --- histogram ---------------------------------------------------------------------------------------------------- */

/* The histogram of the planned lengths, and the ids of the sequences in it.
 *
 * Patterns depend on the histogram only, whatever the number of sequences. Which of several sequences of equal length
 * goes where is drawn afterwards. A bucket is one distinct length; buckets ascend by length. */

struct bl_histogram {
    size_t distinct;  /* D */
    uint32_t *length; /* [D] units, ascending */
    uint32_t *start;  /* [D+1] number of shorter lengths; the last entry is the number of all */
};

static inline uint32_t bl_histogram_count(const struct bl_histogram *h, size_t bucket)
{
    return h->start[bucket + 1] - h->start[bucket];
}

/* Linear time; at most 4 bytes of temporary memory per length (or 256 KiB), whatever the longest length. Without
 * lengths the histogram is empty. BL_EFAIL: out of memory; then *h is empty. */
int bl_histogram_make(struct bl_histogram *h, const struct bl_lengths *lengths, struct bl_error *e);
void bl_histogram_free(struct bl_histogram *h);

/* Makes an empty histogram with room for `distinct` lengths, which bl_histogram_add fills: from the shortest length on,
 * equal ones in a row. BL_EFAIL: out of memory; then *h is empty. */
int bl_histogram_reserve(struct bl_histogram *h, size_t distinct, struct bl_error *e);

static inline void bl_histogram_add(struct bl_histogram *h, uint32_t length, uint32_t count)
{
    if (h->distinct == 0 || h->length[h->distinct - 1] != length) {
        h->length[h->distinct++] = length;
        h->start[h->distinct] = h->start[h->distinct - 1];
    }
    h->start[h->distinct] += count;
}

/* Returns the sum of all lengths, in units. */
int64_t bl_histogram_steps(const struct bl_histogram *h);

/* Returns the number of buckets with lengths up to limit. */
size_t bl_histogram_below(const struct bl_histogram *h, int64_t limit);

/* Returns the same if that number is known to lie between low and high. */
size_t bl_histogram_below_between(const struct bl_histogram *h, int64_t limit, size_t low, size_t high);

/* Rounds lengths up, by less than longest / distinct, so that at most `distinct` of them differ. */
void bl_histogram_coarsen(struct bl_histogram *h, size_t distinct);

/* Lists the ids of the same lengths by bucket, in random order within a bucket: bucket b has ids[start[b] ..
 * start[b+1]-1]. A length belongs to the first bucket with at least this length. The caller frees *ids. Temporary
 * memory: 1 byte per length (or 256 KiB). BL_EFAIL: out of memory. */
int bl_histogram_ids(const struct bl_histogram *h, const struct bl_lengths *lengths, uint64_t seed, uint32_t **ids,
                     struct bl_error *e);

/* --- bounds ------------------------------------------------------------------------------------------------------- */

/* Proven lower bounds on the number of blocks. */

/* L1: the steps, divided by T and rounded up. */
int64_t bl_bound_steps(const struct bl_histogram *h, int64_t T);

/* L2 of Martello and Toth ("Knapsack Problems", 1990, section 8.3.2), never less than L1. No length may exceed T. For a
 * threshold K: lengths over T - K stand alone; those over T/2 need a block each, and lengths from K to T/2 must go into
 * the room beside these, or into further blocks. The best K is one of the lengths. Also the exact bound of the lengths
 * over T/3 alone, by matching (Labbe, Laporte, Mercure, 1991). O(D), no memory. */
int64_t bl_bound_blocks(const struct bl_histogram *h, int64_t T);

/* The bound of a list of lengths and its histogram, in blocks of T steps with at most max_sequences each. A block holds
 * whole units, and at its end part of another one, which patterns leave empty but a bound must count: if units do not
 * divide T, a bound on the steps may be higher. BL_EFAIL: out of memory. */
int bl_bound_lengths(int64_t *bound, const struct bl_lengths *lengths, const struct bl_histogram *h, int64_t T,
                     int64_t max_sequences, struct bl_error *e);

/* --- open blocks -------------------------------------------------------------------------------------------------- */

/* The open blocks, which still have room, ordered by room.
 *
 * A sorted list in chunks: room can reach 2^31-1, which rules out an array or bitmap over it; and there may be as many
 * groups as sequences, which rules out pointers per group. A lookup takes two binary searches, a change moves one
 * chunk. */

/* Blocks with equal contents. */
struct bl_open_group {
    uint32_t room;   /* steps left in each */
    uint32_t blocks; /* number of blocks */
    uint32_t node;   /* the caller's key to their contents */
    uint32_t places; /* sequences that may still be added to each */
};

struct bl_open_blocks {
    struct bl_open_chunk **chunk; /* [chunks] none empty, ascending by room */
    size_t chunks, capacity;
};

/* The position of a group; valid until the next insertion or removal. */
struct bl_open_place {
    size_t chunk, index;
};

/* Returns the group with the least room >= `room`, or NULL. */
struct bl_open_group *bl_open_blocks_find(const struct bl_open_blocks *r, uint32_t room, struct bl_open_place *place);
void bl_open_blocks_remove(struct bl_open_blocks *r, struct bl_open_place place);
/* Inserts a group before those with equal room. BL_EFAIL: out of memory. */
int bl_open_blocks_insert(struct bl_open_blocks *r, struct bl_open_group group, struct bl_error *e);
void bl_open_blocks_free(struct bl_open_blocks *r);

#endif
