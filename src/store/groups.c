#include "store/groups.h"

#include <stdlib.h>
#include <xxhash.h>

/* The slot of a hash, or the free slot where it belongs. */
static size_t groups_slot(const struct bl_groups *g, uint64_t hash)
{
    size_t at = hash & (g->capacity - 1);
    while (g->id[at] && g->hash[at] != hash)
        at = (at + 1) & (g->capacity - 1);
    return at;
}

static int groups_grow(struct bl_groups *g, struct bl_error *e)
{
    struct bl_groups larger = {.capacity = g->capacity ? g->capacity * 2 : 64, .count = g->count};
    larger.hash = malloc(larger.capacity * sizeof *larger.hash);
    larger.id = calloc(larger.capacity, sizeof *larger.id);
    if (!larger.hash || !larger.id) {
        bl_groups_free(&larger);
        return bl_error_memory(e);
    }
    for (size_t i = 0; i < g->capacity; i++) {
        if (!g->id[i])
            continue;
        size_t at = groups_slot(&larger, g->hash[i]);
        larger.hash[at] = g->hash[i];
        larger.id[at] = g->id[i];
    }
    bl_groups_free(g);
    *g = larger;
    return BL_OK;
}

int bl_groups_find(struct bl_groups *g, const char *value, size_t size, uint32_t *id, struct bl_error *e)
{
    int code = g->count * 2 >= g->capacity ? groups_grow(g, e) : BL_OK;
    if (code)
        return code;
    uint64_t hash = XXH3_64bits(value, size);
    size_t at = groups_slot(g, hash);
    if (!g->id[at]) {
        g->hash[at] = hash;
        g->id[at] = (uint32_t)++g->count;
    }
    *id = g->id[at] - 1;
    return BL_OK;
}

void bl_groups_free(struct bl_groups *g)
{
    free(g->hash);
    free(g->id);
    *g = (struct bl_groups){0};
}
