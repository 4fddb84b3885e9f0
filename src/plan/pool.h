/* The pool: the sequences that remain while blocks are drawn at random, as buckets of a histogram. */
#ifndef BL_POOL_H
#define BL_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/bitset.h"
#include "plan/histogram.h"
#include "plan/random.h"

struct bl_pool {
    const struct bl_histogram *h;
    uint32_t *order; /* [all] the bucket of each sequence, in random order; those from `next` on are ahead */
    uint32_t *left;  /* [distinct] remaining sequences of each bucket */
    uint32_t *early; /* [distinct] sequences that are taken, but still ahead in the order */
    uint32_t *below; /* buckets with lengths up to r << shift, for each r up to the longest, and one more */
    int shift;
    struct bl_bitset nonempty; /* buckets with remaining sequences */
    size_t next, all;
    struct bl_random random;
};

/* Starts with all sequences of the histogram. BL_EFAIL: out of memory; the pool must still be freed. */
int bl_pool_make(struct bl_pool *p, const struct bl_histogram *h, uint64_t seed, struct bl_error *e);
void bl_pool_free(struct bl_pool *p);

/* Returns the bucket of the next sequence in the order that fits, or BL_BITSET_NONE if a few dozen do not. Those that
 * do not fit stay near, so that the sequences ahead remain a random sample. */
size_t bl_pool_draw(struct bl_pool *p, int64_t room);

static inline size_t bl_pool_ahead(const struct bl_pool *p)
{
    return p->all - p->next;
}

/* Returns the bucket of the i-th sequence ahead, or BL_BITSET_NONE if that is taken, or beyond the bucket `last`. */
static inline size_t bl_pool_peek(const struct bl_pool *p, size_t i, size_t last)
{
    uint32_t bucket = p->order[p->next + i];
    return bucket <= last && p->left[bucket] && !p->early[bucket] ? bucket : BL_BITSET_NONE;
}

/* Returns the bucket of the longest remaining sequence that fits, or BL_BITSET_NONE. One sequence of the bucket
 * `without` is not counted, if it is not BL_BITSET_NONE. */
size_t bl_pool_fitting(const struct bl_pool *p, int64_t room, size_t without);

/* Takes a sequence of a bucket that has one. Returns its position in the histogram, below start[distinct]. */
uint32_t bl_pool_take(struct bl_pool *p, size_t bucket);

#endif
