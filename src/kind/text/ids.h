/* Token ids: a growing array. */
#ifndef BL_IDS_H
#define BL_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* How ids are stored in a file. */
struct bl_id_number {
    size_t size; /* bytes, at most 8 */
    bool is_signed, is_big_endian;
};

struct bl_ids {
    int32_t *id;
    size_t count, capacity;
    size_t limit; /* with more ids it does not grow; 0: there is no limit */
    bool is_over; /* it would have grown with more ids than that */
};

/* Makes room for more ids. Start from {0}. BL_EFAIL: out of memory, or it more ids than the limit. */
int bl_ids_reserve(struct bl_ids *ids, size_t more, struct bl_error *e);

/* Appends an id. BL_EFAIL: the same. */
static inline int bl_ids_add(struct bl_ids *ids, int32_t id, struct bl_error *e)
{
    int code = ids->count < ids->capacity ? BL_OK : bl_ids_reserve(ids, 1, e);
    if (code)
        return code;
    ids->id[ids->count++] = id;
    return BL_OK;
}

void bl_ids_free(struct bl_ids *ids);

#endif
