/* A hierarchical bitset: a set of small numbers that can be traversed in both directions.
 *
 * Each level has one bit per word of the level below, which says whether that word is not zero. So a step takes a few
 * words even in a sparse set. */
#ifndef BL_BITSET_H
#define BL_BITSET_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

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

#endif
