#include "plan/pattern.h"

#include <stdlib.h>

/* Grows by a quarter, since the arrays may be as large as the list of sequences. */
static size_t patterns_grown(size_t capacity)
{
    return capacity + capacity / 4 + 64;
}

static int patterns_resize(uint32_t **array, size_t n, struct bl_error *e)
{
    uint32_t *larger = realloc(*array, n * sizeof **array);
    if (!larger)
        return bl_error_memory(e);
    *array = larger;
    return 0;
}

int bl_patterns_push(struct bl_patterns *p, uint32_t bucket, struct bl_error *e)
{
    if (p->entries == p->entry_capacity) {
        size_t capacity = patterns_grown(p->entry_capacity);
        int code = patterns_resize(&p->bucket, capacity, e);
        if (code)
            return code;
        p->entry_capacity = capacity;
    }
    p->bucket[p->entries++] = bucket;
    return 0;
}

int bl_patterns_close(struct bl_patterns *p, uint32_t use, struct bl_error *e)
{
    if (p->count == p->capacity) {
        size_t capacity = patterns_grown(p->capacity);
        int code = patterns_resize(&p->use, capacity, e);
        if (!code)
            code = patterns_resize(&p->first, capacity + 1, e);
        if (code)
            return code;
        p->capacity = capacity;
    }
    if (p->count == 0)
        p->first[0] = 0;
    p->use[p->count++] = use;
    p->first[p->count] = (uint32_t)p->entries;
    p->blocks += use;
    return 0;
}

int bl_patterns_append(struct bl_patterns *p, const struct bl_patterns *other, struct bl_error *e)
{
    int code = BL_OK;
    for (size_t i = 0; !code && i < other->count; i++) {
        for (uint32_t k = other->first[i]; !code && k < other->first[i + 1]; k++)
            code = bl_patterns_push(p, other->bucket[k], e);
        if (!code)
            code = bl_patterns_close(p, other->use[i], e);
    }
    return code;
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
