/* The table of pairs of byte-pair encoding: see bpe.h. Inline: encoding spends most of its time here. */
#ifndef BL_BPE_PAIR_H
#define BL_BPE_PAIR_H

#include "kind/text/bpe.h"

/* The symbol that two symbols merge to, or BL_SYMBOL_NONE. */
static inline uint32_t bl_bpe_pair_find(const struct bl_bpe *bpe, uint64_t left, uint64_t right)
{
    uint64_t key = left << BL_SYMBOL_BITS | right, hash = key * BL_PAIR_FACTOR;
    size_t mask = ((size_t)1 << (64 - bpe->shift)) - 1;
    size_t bit = (size_t)(hash >> (bpe->shift - 3));
    if (!(bpe->filter[bit / 64] >> bit % 64 & 1))
        return BL_SYMBOL_NONE;
    for (size_t at = (size_t)(hash >> bpe->shift);; at = (at + 1) & mask) {
        uint64_t slot = bpe->pair[at];
        if (slot >> BL_SYMBOL_BITS == key)
            return (uint32_t)slot & ((1u << BL_SYMBOL_BITS) - 1);
        if (slot == UINT64_MAX)
            return BL_SYMBOL_NONE;
    }
}

/* Whether two adjacent tokens, which do not merge, stay as they are when their bytes are merged together. Their merges
 * are undone, the last one first: a merge across the boundary that comes before the undone one would have been made
 * instead of it. Of equal merges the left one is made first. */
static inline bool bl_bpe_pair_holds(const struct bl_bpe *bpe, uint32_t left, uint32_t right)
{
    while (left >= 256 || right >= 256) {
        uint32_t limit;
        if (left > right) {
            limit = left;
            left = bpe->symbol[left].right;
        } else {
            limit = right + 1;
            right = bpe->symbol[right].left;
        }
        if (bl_bpe_pair_find(bpe, left, right) < limit)
            return false;
    }
    return true;
}

#endif
