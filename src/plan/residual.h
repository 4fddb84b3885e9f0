/* The residual instance: the lengths that remain while blocks are filled one by one, and the block being filled. */
#ifndef BL_RESIDUAL_H
#define BL_RESIDUAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/histogram.h"
#include "plan/bitset.h"
#include "plan/pattern.h"

struct bl_residual {
    const struct bl_histogram *h;
    uint32_t *left;            /* [distinct] remaining count of each bucket */
    struct bl_bitset nonempty; /* buckets that are not empty */
    uint32_t *chosen;          /* [count] buckets of the unfinished block, already taken */
    size_t count, capacity;
};

/* Starts with all lengths of the histogram. Errors here and below: BL_EFAIL, out of memory; the object must still be
 * freed. */
int bl_residual_make(struct bl_residual *s, const struct bl_histogram *h, struct bl_error *e);
void bl_residual_free(struct bl_residual *s);

/* Moves one length of a nonempty bucket into the unfinished block. */
int bl_residual_choose(struct bl_residual *s, size_t bucket, struct bl_error *e);

/* Puts back the last chosen lengths, until `count` remain. */
void bl_residual_put_back(struct bl_residual *s, size_t count);

/* Returns the longest nonempty bucket that fits, or BL_BITSET_NONE. */
size_t bl_residual_fitting(const struct bl_residual *s, uint32_t room);

/* Adds the chosen block as a pattern, used as often as the lengths allow, up to `most` times; *use: how often. */
int bl_residual_close(struct bl_residual *s, uint32_t most, struct bl_patterns *patterns, uint32_t *use,
                      struct bl_error *e);

#endif
