#include "kind/text/vocabulary.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define BATCH 64 /* tokens whose places in the table are fetched together */

int64_t bl_vocabulary_find_hash(const struct bl_vocabulary *v, const void *bytes, size_t size, uint64_t hash)
{
    size_t number;
    for (struct bl_hash_probe probe = bl_hash_begin(&v->table, hash); bl_hash_next(&v->table, &probe, &number);) {
        const struct bl_token *token = &v->token[number];
        if (token->size == size && !memcmp(v->bytes.data + token->offset, bytes, size))
            return (int64_t)number;
    }
    return -1;
}

int bl_vocabulary_reserve(struct bl_vocabulary *v, size_t count, size_t bytes, struct bl_error *e)
{
    int code = BL_ARRAY_RESERVE(v->token, v->capacity, count, e);
    return code || bl_buffer_reserve(&v->bytes, bytes) ? code : bl_error_memory(e);
}

int bl_vocabulary_append(struct bl_vocabulary *v, const void *bytes, size_t size, int32_t id, struct bl_error *e)
{
    if (v->count == BL_VOCABULARY_MAX)
        return bl_error_set(e, BL_EFAIL, "more than %d tokens", BL_VOCABULARY_MAX);
    if (size > UINT32_MAX - v->bytes.size)
        return bl_error_set(e, BL_EFAIL, "the tokens have more than 4 GiB");
    int code = BL_ARRAY_RESERVE(v->token, v->capacity, v->count + 1, e);
    if (code)
        return code;
    v->token[v->count++] = (struct bl_token){(uint32_t)v->bytes.size, (uint32_t)size, id};
    bl_buffer_append(&v->bytes, bytes, size);
    return bl_buffer_check(&v->bytes, e);
}

int bl_vocabulary_index(struct bl_vocabulary *v, int64_t *twice, struct bl_error *e)
{
    uint64_t hash[BATCH];
    *twice = -1;
    int code = bl_hash_reserve(&v->table, v->count, e);
    for (size_t first = v->table.count, n; first < v->count && !code; first += n) {
        n = v->count - first < BATCH ? v->count - first : BATCH;
        for (size_t i = 0; i < n; i++) {
            hash[i] = bl_vocabulary_hash(bl_vocabulary_bytes(v, first + i), v->token[first + i].size);
            bl_hash_prefetch(&v->table, hash[i]);
        }
        for (size_t i = 0; i < n && !code; i++) {
            const uint8_t *bytes = bl_vocabulary_bytes(v, first + i);
            if (*twice < 0 && bl_vocabulary_find_hash(v, bytes, v->token[first + i].size, hash[i]) >= 0)
                *twice = (int64_t)(first + i);
            code = bl_hash_add(&v->table, hash[i], first + i, e);
        }
    }
    return code;
}

int bl_vocabulary_add(struct bl_vocabulary *v, const void *bytes, size_t size, int32_t id, int64_t *known,
                      struct bl_error *e)
{
    uint64_t hash = bl_vocabulary_hash(bytes, size);
    int code = v->table.count < v->count ? bl_vocabulary_index(v, known, e) : BL_OK;
    if (code)
        return code;
    *known = bl_vocabulary_find_hash(v, bytes, size, hash);
    if (*known >= 0)
        return BL_OK;
    code = bl_vocabulary_append(v, bytes, size, id, e);
    return code ? code : bl_hash_add(&v->table, hash, v->count - 1, e);
}

int64_t bl_vocabulary_find(const struct bl_vocabulary *v, const void *bytes, size_t size)
{
    for (size_t i = v->table.count; i < v->count; i++) {
        if (v->token[i].size == size && !memcmp(bl_vocabulary_bytes(v, i), bytes, size))
            return (int64_t)i;
    }
    return bl_vocabulary_find_hash(v, bytes, size, bl_vocabulary_hash(bytes, size));
}

void bl_vocabulary_free(struct bl_vocabulary *v)
{
    bl_buffer_free(&v->bytes);
    free(v->token);
    bl_hash_free(&v->table);
    *v = (struct bl_vocabulary){0};
}
