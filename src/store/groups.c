#include "store/groups.h"

#include <stdlib.h>
#include <xxhash.h>

#include "base/array.h"

int bl_groups_find(struct bl_groups *g, const char *value, size_t size, uint32_t *id, struct bl_error *e)
{
    uint64_t hash = XXH3_64bits(value, size);
    size_t number;
    for (struct bl_hash_probe probe = bl_hash_begin(&g->table, hash); bl_hash_next(&g->table, &probe, &number);) {
        if (g->hash[number] == hash) {
            *id = (uint32_t)number;
            return BL_OK;
        }
    }
    int code = BL_ARRAY_RESERVE(g->hash, g->capacity, g->count + 1, e);
    if (code)
        return code;
    code = bl_hash_add(&g->table, hash, g->count, e);
    if (code)
        return code;
    g->hash[g->count] = hash;
    *id = (uint32_t)g->count++;
    return BL_OK;
}

void bl_groups_free(struct bl_groups *g)
{
    free(g->hash);
    bl_hash_free(&g->table);
    *g = (struct bl_groups){0};
}
