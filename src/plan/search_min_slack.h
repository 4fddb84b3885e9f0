/* Declares subset sums, by which minimum bin slack finds the remaining lengths that fill a room best.
 *
 * The searches of search_min_slack.c are declared in search.h. Calls for one block: begin, then offer for each length
 * from the longest down, then take until *sum is 0. */
#ifndef BL_SEARCH_MIN_SLACK_H
#define BL_SEARCH_MIN_SLACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* The sums that the offered lengths reach. The struct owns its arrays. */
struct bl_subset_sum {
    uint64_t *reached; /* one bit per sum, from 0 */
    uint32_t *last;    /* [sums] the bucket that reached it */
    uint32_t *items;   /* [sums] number of lengths in it; NULL without a limit */
    uint32_t most;     /* limit of lengths in a sum */
    uint32_t room;     /* units */
    uint32_t top;      /* highest sum reached */
    int shift;         /* a unit is 2^shift steps */
};

/* Makes the tables for rooms up to T steps. limited: the number of lengths in a sum has a limit. BL_EFAIL: out of
 * memory; then *s is empty. */
int bl_subset_sum_make(struct bl_subset_sum *s, uint32_t T, int limited, struct bl_error *e);
void bl_subset_sum_free(struct bl_subset_sum *s);

/* Starts again with the empty sum, for `room` steps and at most `most` lengths. */
void bl_subset_sum_begin(struct bl_subset_sum *s, uint32_t room, uint32_t most);

/* Offers a bucket of `length` steps up to `copies` times. Returns the operations done. */
int64_t bl_subset_sum_offer(struct bl_subset_sum *s, uint32_t bucket, uint32_t length, uint32_t copies);

/* Returns the buckets of the highest sum, one with each call: *sum is s->top at first and 0 after the last. length:
 * [bucket] the offered lengths. */
uint32_t bl_subset_sum_take(const struct bl_subset_sum *s, uint32_t *sum, const uint32_t *length);

#endif
