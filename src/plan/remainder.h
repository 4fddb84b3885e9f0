/* The lengths that remain while a solution is fixed block by block, as a histogram of their own. */
#ifndef BL_REMAINDER_H
#define BL_REMAINDER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/histogram.h"

struct bl_remainder {
    struct bl_histogram h;
    uint32_t *bucket; /* [distinct of h] bucket in the full histogram */
    uint32_t *at;     /* [distinct of the full histogram] the inverse; BL_REMAINDER_NONE if none is left */
};

#define BL_REMAINDER_NONE UINT32_MAX

/* Makes an empty remainder of a histogram. BL_EFAIL: out of memory; *r must still be freed. */
int bl_remainder_make(struct bl_remainder *r, const struct bl_histogram *full, struct bl_error *e);
void bl_remainder_free(struct bl_remainder *r);

/* left: [distinct of the full histogram] the remaining count of each bucket. */
void bl_remainder_set(struct bl_remainder *r, const struct bl_histogram *full, const uint32_t *left);

#endif
