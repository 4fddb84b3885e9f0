#include "kind/text/vocabulary.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#define UPPER 0xffffffff00000000u

/* Where the token lies, or the free slot where it would. */
static size_t vocabulary_slot(const struct bl_vocabulary *v, const void *bytes, size_t size, uint64_t hash)
{
    size_t mask = v->slots - 1;
    for (size_t at = (size_t)hash & mask;; at = (at + 1) & mask) {
        uint64_t slot = v->slot[at];
        if (!slot)
            return at;
        if ((slot ^ hash) & UPPER)
            continue;
        const struct bl_token *token = &v->token[(uint32_t)slot - 1];
        if (token->size == size && !memcmp(v->bytes.data + token->offset, bytes, size))
            return at;
    }
}

static int vocabulary_grow(struct bl_vocabulary *v, struct bl_error *e)
{
    if (v->count < v->capacity)
        return BL_OK;
    size_t capacity = v->capacity ? 2 * v->capacity : 1024;
    struct bl_token *token = realloc(v->token, capacity * sizeof *token);
    if (token)
        v->token = token;
    uint64_t *slot = calloc(2 * capacity, sizeof *slot);
    if (!token || !slot) {
        free(slot);
        return bl_error_memory(e);
    }
    free(v->slot);
    v->slot = slot;
    v->slots = 2 * capacity;
    v->capacity = capacity;
    for (size_t i = 0; i < v->count; i++) {
        const char *bytes = v->bytes.data + token[i].offset;
        uint64_t hash = XXH3_64bits(bytes, token[i].size);
        v->slot[vocabulary_slot(v, bytes, token[i].size, hash)] = (hash & UPPER) | (i + 1);
    }
    return BL_OK;
}

int bl_vocabulary_add(struct bl_vocabulary *v, const void *bytes, size_t size, int32_t id, int64_t *known,
                      struct bl_error *e)
{
    *known = -1;
    int code = vocabulary_grow(v, e);
    if (code)
        return code;
    uint64_t hash = XXH3_64bits(bytes, size);
    size_t at = vocabulary_slot(v, bytes, size, hash);
    if (v->slot[at]) {
        *known = (int64_t)(uint32_t)v->slot[at] - 1;
        return BL_OK;
    }
    if (v->count == BL_VOCABULARY_MAX)
        return bl_error_set(e, BL_EFAIL, "more than %d tokens", BL_VOCABULARY_MAX);
    if (size > UINT32_MAX - v->bytes.size)
        return bl_error_set(e, BL_EFAIL, "the tokens have more than 4 GiB");
    v->token[v->count] = (struct bl_token){(uint32_t)v->bytes.size, (uint32_t)size, id};
    bl_buffer_append(&v->bytes, bytes, size);
    v->slot[at] = (hash & UPPER) | ++v->count;
    return bl_buffer_check(&v->bytes, e);
}

int64_t bl_vocabulary_find(const struct bl_vocabulary *v, const void *bytes, size_t size)
{
    if (!v->count)
        return -1;
    uint64_t slot = v->slot[vocabulary_slot(v, bytes, size, XXH3_64bits(bytes, size))];
    return (int64_t)(uint32_t)slot - 1;
}

void bl_vocabulary_free(struct bl_vocabulary *v)
{
    bl_buffer_free(&v->bytes);
    free(v->token);
    free(v->slot);
    *v = (struct bl_vocabulary){0};
}
