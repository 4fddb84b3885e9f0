#include "plan/pattern.h"

#include <stdlib.h>

#include "base/array.h"

int bl_patterns_push(struct bl_patterns *p, uint32_t bucket, struct bl_error *e)
{
    int code = BL_ARRAY_RESERVE(p->bucket, p->entry_capacity, p->entries + 1, e);
    if (code)
        return code;
    p->bucket[p->entries++] = bucket;
    return BL_OK;
}

int bl_patterns_close(struct bl_patterns *p, uint32_t use, struct bl_error *e)
{
    if (p->count == p->capacity) {
        size_t capacity = bl_array_capacity(p->capacity, p->count + 1);
        int code = BL_ARRAY_RESIZE(p->use, capacity, e);
        if (code)
            return code;
        code = BL_ARRAY_RESIZE(p->first, capacity + 1, e);
        if (code)
            return code;
        p->capacity = capacity;
    }
    if (p->count == 0)
        p->first[0] = 0;
    p->use[p->count++] = use;
    p->first[p->count] = (uint32_t)p->entries;
    p->blocks += use;
    return BL_OK;
}

int bl_patterns_append(struct bl_patterns *p, const struct bl_patterns *from, size_t first, size_t end,
                       const uint32_t *as, struct bl_error *e)
{
    int code = BL_OK;
    for (size_t i = first; !code && i < end; i++) {
        for (uint32_t k = from->first[i]; !code && k < from->first[i + 1]; k++)
            code = bl_patterns_push(p, as ? as[from->bucket[k]] : from->bucket[k], e);
        if (!code)
            code = bl_patterns_close(p, from->use[i], e);
    }
    return code;
}

void bl_patterns_truncate(struct bl_patterns *p, size_t count)
{
    while (p->count > count)
        p->blocks -= p->use[--p->count];
    p->entries = p->count ? p->first[p->count] : 0;
}

void bl_patterns_keep_fewer(struct bl_patterns *best, struct bl_patterns *other)
{
    if (other->count > 0 && (best->count == 0 || other->blocks < best->blocks)) {
        struct bl_patterns worse = *best;
        *best = *other;
        *other = worse;
    }
    bl_patterns_free(other);
}

uint32_t bl_patterns_widest(const struct bl_patterns *p)
{
    uint32_t widest = 0;
    for (size_t i = 0; i < p->count; i++)
        if (p->first[i + 1] - p->first[i] > widest)
            widest = p->first[i + 1] - p->first[i];
    return widest;
}

void bl_patterns_free(struct bl_patterns *p)
{
    free(p->use);
    free(p->first);
    free(p->bucket);
    *p = (struct bl_patterns){0};
}
