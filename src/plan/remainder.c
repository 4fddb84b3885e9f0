#include "plan/remainder.h"

#include <stdlib.h>

int bl_remainder_make(struct bl_remainder *r, const struct bl_histogram *full, struct bl_error *e)
{
    size_t n = full->distinct + 1;
    *r = (struct bl_remainder){.bucket = malloc(n * sizeof *r->bucket), .at = malloc(n * sizeof *r->at)};
    if (!r->bucket || !r->at)
        return bl_error_memory(e);
    return bl_histogram_reserve(&r->h, full->distinct, e);
}

void bl_remainder_free(struct bl_remainder *r)
{
    bl_histogram_free(&r->h);
    free(r->bucket);
    free(r->at);
    *r = (struct bl_remainder){0};
}

void bl_remainder_set(struct bl_remainder *r, const struct bl_histogram *full, const uint32_t *left)
{
    r->h.distinct = 0;
    for (size_t b = 0; b < full->distinct; b++) {
        r->at[b] = left[b] ? (uint32_t)r->h.distinct : BL_REMAINDER_NONE;
        if (left[b] == 0)
            continue;
        r->bucket[r->h.distinct] = (uint32_t)b;
        bl_histogram_add(&r->h, full->length[b], left[b]);
    }
}
