/* The residual instance: the lengths that are left while blocks are filled one by one, and the block being filled. */
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
    uint32_t *left;            /* [distinct] how many of each bucket */
    struct bl_bitset nonempty; /* buckets with any left */
    uint32_t *chosen;          /* [count] buckets of the block in the making, already taken */
    size_t count, capacity;
};

/* Everything that the histogram has. Errors here and below: BL_EFAIL, no memory; the object is then still to be freed.
 */
int bl_residual_make(struct bl_residual *s, const struct bl_histogram *h, struct bl_error *e);
void bl_residual_free(struct bl_residual *s);

/* Takes one of a bucket of which there are any, into the block in the making. */
int bl_residual_choose(struct bl_residual *s, size_t bucket, struct bl_error *e);

/* Puts back what was chosen last, until `count` are chosen. */
void bl_residual_put_back(struct bl_residual *s, size_t count);

/* The longest bucket that is left and fits, or BL_BITSET_NONE. */
size_t bl_residual_fitting(const struct bl_residual *s, uint32_t room);

/* The chosen block becomes a pattern, used as often as there are lengths for, up to `most` times, which it returns by
 * *use. */
int bl_residual_close(struct bl_residual *s, uint32_t most, struct bl_patterns *patterns, uint32_t *use,
                      struct bl_error *e);

#endif
