/* A hierarchical bitset: a set of small numbers that can be walked in both directions.
 *
 * Bits, and above every 64 words of bits a word that says which of them are not zero, as often as it takes: a step
 * costs a few words however thin the set has become. */
#ifndef BL_BITSET_H
#define BL_BITSET_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define BL_BITSET_LEVELS 6
#define BL_BITSET_NONE SIZE_MAX

struct bl_bitset {
    uint64_t *level[BL_BITSET_LEVELS]; /* [0] the bits themselves; all in one allocation */
    size_t size[BL_BITSET_LEVELS];     /* bits of each level */
    int levels;
};

/* The empty set of numbers below size. Errors: BL_EFAIL, no memory; then *m is empty. */
int bl_bitset_make(struct bl_bitset *m, size_t size, struct bl_error *e);
void bl_bitset_free(struct bl_bitset *m);
void bl_bitset_add(struct bl_bitset *m, size_t i);
void bl_bitset_remove(struct bl_bitset *m, size_t i);

/* The smallest member from i on, the largest up to i, or BL_BITSET_NONE. */
size_t bl_bitset_next(const struct bl_bitset *m, size_t i);
size_t bl_bitset_previous(const struct bl_bitset *m, size_t i);

#endif
