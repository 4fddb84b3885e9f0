#include "plan/residual.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/sort.h"

int bl_residual_make(struct bl_residual *s, const struct bl_histogram *h, struct bl_error *e)
{
    *s = (struct bl_residual){.h = h, .left = malloc((h->distinct + 1) * sizeof *s->left)};
    int code = s->left ? bl_bitset_make(&s->nonempty, h->distinct, e) : bl_error_memory(e);
    for (size_t b = 0; !code && b < h->distinct; b++) {
        s->left[b] = bl_histogram_count(h, b);
        if (s->left[b])
            bl_bitset_add(&s->nonempty, b);
    }
    return code;
}

void bl_residual_free(struct bl_residual *s)
{
    bl_bitset_free(&s->nonempty);
    free(s->left);
    free(s->chosen);
    *s = (struct bl_residual){0};
}

static void residual_take(struct bl_residual *s, size_t bucket, uint32_t times)
{
    s->left[bucket] -= times;
    if (s->left[bucket] == 0)
        bl_bitset_remove(&s->nonempty, bucket);
}

int bl_residual_choose(struct bl_residual *s, size_t bucket, struct bl_error *e)
{
    if (BL_ARRAY_RESERVE(s->chosen, s->capacity, s->count + 1, e))
        return BL_EFAIL;
    residual_take(s, bucket, 1);
    s->chosen[s->count++] = (uint32_t)bucket;
    return BL_OK;
}

void bl_residual_put_back(struct bl_residual *s, size_t count)
{
    while (s->count > count) {
        size_t bucket = s->chosen[--s->count];
        if (s->left[bucket]++ == 0)
            bl_bitset_add(&s->nonempty, bucket);
    }
}

size_t bl_residual_fitting(const struct bl_residual *s, uint32_t room)
{
    size_t below = bl_histogram_below(s->h, room);
    return below ? bl_bitset_previous(&s->nonempty, below - 1) : BL_BITSET_NONE;
}

/* Returns how many more blocks can repeat the chosen one, up to `most`, and takes their lengths. */
static uint32_t residual_repeat(struct bl_residual *s, uint32_t most)
{
    for (int applying = 0; applying < 2; applying++)
        for (size_t i = 0, j; i < s->count; i = j) {
            for (j = i; j < s->count && s->chosen[j] == s->chosen[i]; j++)
                ;
            uint32_t uses = (uint32_t)(j - i), possible = s->left[s->chosen[i]] / uses;
            if (applying && most > 0)
                residual_take(s, s->chosen[i], uses * most);
            else if (!applying)
                most = possible < most ? possible : most;
        }
    return most;
}

int bl_residual_close(struct bl_residual *s, uint32_t most, struct bl_patterns *patterns, uint32_t *use,
                      struct bl_error *e)
{
    int code = BL_OK;
    bl_sort_u32(s->chosen, s->count);
    *use = 1 + residual_repeat(s, most - 1);
    for (size_t i = s->count; !code && i-- > 0;)
        code = bl_patterns_push(patterns, s->chosen[i], e);
    s->count = 0;
    if (code)
        return code;
    return bl_patterns_close(patterns, *use, e);
}
