/* Subset sums: which of the lengths that are left fill a room best.
 *
 * Lengths are offered from the longest down. A sum remembers the length that reached it first, so of all ways to the
 * same sum the one is found whose shortest length is longest: short lengths are kept for later, when they are needed
 * more. Wide rooms are counted in units of a power of two, lengths rounded up: what is found always fits. */
#ifndef BL_SUBSET_SUM_H
#define BL_SUBSET_SUM_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct bl_subset_sum {
    uint64_t *reached; /* a bit for every sum from 0 */
    uint32_t *last;    /* by sum: the bucket that reached it */
    uint32_t *items;   /* by sum: how many lengths are in it; NULL without a limit */
    uint32_t most;     /* that a sum may have */
    uint32_t room;     /* units */
    uint32_t top;      /* the highest sum that is reached */
    int shift;
};

/* For rooms up to T. Errors: BL_EFAIL, no memory; then *s is empty. */
int bl_subset_sum_make(struct bl_subset_sum *s, uint32_t T, int limited, struct bl_error *e);
void bl_subset_sum_free(struct bl_subset_sum *s);

/* Begins anew with the empty sum, for `room` steps and at most `most` lengths. */
void bl_subset_sum_begin(struct bl_subset_sum *s, uint32_t room, uint32_t most);

/* Offers a bucket of this length up to `copies` times. The work that it took. */
int64_t bl_subset_sum_offer(struct bl_subset_sum *s, uint32_t bucket, uint32_t length, uint32_t copies);

static inline int bl_subset_sum_is_full(const struct bl_subset_sum *s)
{
    return s->top == s->room;
}

/* The buckets of the highest sum one after the other: *sum begins as s->top; length[] are those that were offered. */
uint32_t bl_subset_sum_take(const struct bl_subset_sum *s, uint32_t *sum, const uint32_t *length);

#endif
