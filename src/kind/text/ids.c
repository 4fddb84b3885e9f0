#include "kind/text/ids.h"

#include <stdlib.h>

int bl_ids_reserve(struct bl_ids *ids, size_t more, struct bl_error *e)
{
    if (more <= ids->capacity - ids->count)
        return BL_OK;
    if (more > SIZE_MAX / sizeof *ids->id / 4 - ids->count)
        return bl_error_memory(e);
    size_t capacity = ids->capacity ? ids->capacity : 256;
    while (capacity < ids->count + more)
        capacity *= 2;
    int32_t *id = realloc(ids->id, capacity * sizeof *id);
    if (!id)
        return bl_error_memory(e);
    ids->id = id;
    ids->capacity = capacity;
    return BL_OK;
}

void bl_ids_free(struct bl_ids *ids)
{
    free(ids->id);
    *ids = (struct bl_ids){0};
}
