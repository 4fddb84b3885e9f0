/* A hash table that finds elements of the caller's array by number.
 *
 * The table stores hashes and numbers only. A lookup visits the numbers of all elements with a hash, and perhaps some
 * with another hash; the caller compares. Open addressing, at most three quarters full. A slot holds 32 bits of the
 * hash, and its leading bits give the position, so that the table grows without computing hashes again. */
#ifndef BL_HASH_H
#define BL_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/prefetch.h"

/* Begin with {0}, end with bl_hash_free. */
struct bl_hash {
    uint64_t *slot; /* [mask + 1], or NULL: the upper half of the hash, then the number + 1; 0: free */
    size_t mask, count;
    int shift; /* right shift from a hash to its position */
};

/* The state of a lookup. */
struct bl_hash_probe {
    uint64_t tag; /* the upper half of the hash */
    size_t at;
};

static inline struct bl_hash_probe bl_hash_begin(const struct bl_hash *h, uint64_t hash)
{
    return (struct bl_hash_probe){hash >> 32 << 32, h->slot ? (size_t)(hash >> h->shift) : 0};
}

/* Sets the next number under the hash. False: none is left. */
static inline bool bl_hash_next(const struct bl_hash *h, struct bl_hash_probe *probe, size_t *number)
{
    if (!h->slot)
        return false;
    for (uint64_t slot; (slot = h->slot[probe->at]) != 0;) {
        probe->at = (probe->at + 1) & h->mask;
        if ((slot ^ probe->tag) <= UINT32_MAX) {
            *number = (uint32_t)slot - 1;
            return true;
        }
    }
    return false;
}

/* Fetches what a lookup reads first. Lookups of many hashes are faster if all are prefetched before the first one. */
BL_PREFETCHES void bl_hash_prefetch(const struct bl_hash *h, uint64_t hash)
{
    if (h->slot)
        __builtin_prefetch(&h->slot[hash >> h->shift]);
}

/* Makes room for so many elements in all. BL_EFAIL: out of memory; nothing has changed. */
int bl_hash_reserve(struct bl_hash *h, size_t count, struct bl_error *e);
/* Adds an element that is not in the table, with a number below 2^32 - 1. BL_EFAIL: out of memory; nothing has
 * changed. */
int bl_hash_add(struct bl_hash *h, uint64_t hash, size_t number, struct bl_error *e);
void bl_hash_free(struct bl_hash *h);

#endif
