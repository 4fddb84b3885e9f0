/* Subset sums, by which minimum bin slack finds the remaining lengths that fill a room best. The searches of
 * search_min_slack.c are declared in search.h. */
#ifndef BL_SEARCH_MIN_SLACK_H
#define BL_SEARCH_MIN_SLACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct bl_subset_sum {
    uint64_t *reached; /* one bit per sum, from 0 */
    uint32_t *last;    /* [sums] the bucket that reached it */
    uint32_t *items;   /* [sums] number of lengths in it; NULL without a limit */
    uint32_t most;     /* limit of lengths in a sum */
    uint32_t room;     /* units */
    uint32_t top;      /* highest sum reached */
    int shift;
};

/* For rooms up to T. BL_EFAIL: out of memory; then *s is empty. */
int bl_subset_sum_make(struct bl_subset_sum *s, uint32_t T, int limited, struct bl_error *e);
void bl_subset_sum_free(struct bl_subset_sum *s);

/* Starts again with the empty sum, for `room` steps and at most `most` lengths. */
void bl_subset_sum_begin(struct bl_subset_sum *s, uint32_t room, uint32_t most);

/* Offers a bucket of this length up to `copies` times. Returns the work done. */
int64_t bl_subset_sum_offer(struct bl_subset_sum *s, uint32_t bucket, uint32_t length, uint32_t copies);

/* Returns the buckets of the highest sum one after the other: *sum starts as s->top; length[]: the offered lengths. */
uint32_t bl_subset_sum_take(const struct bl_subset_sum *s, uint32_t *sum, const uint32_t *length);

#endif
