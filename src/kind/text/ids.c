#include "kind/text/ids.h"

#include <stdlib.h>

#include "base/buffer.h"

int bl_ids_reserve(struct bl_ids *ids, size_t more, struct bl_error *e)
{
    if (more > SIZE_MAX - ids->count)
        return bl_error_memory(e);
    if (ids->limit && ids->count > ids->limit) {
        ids->is_over = true;
        return bl_error_set(e, BL_EFAIL, "more than %zu ids", ids->limit);
    }
    return BL_ARRAY_RESERVE(ids->id, ids->capacity, ids->count + more, e);
}

void bl_ids_free(struct bl_ids *ids)
{
    free(ids->id);
    *ids = (struct bl_ids){0};
}
