/* Token ids: a growing array. */
#ifndef BL_IDS_H
#define BL_IDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct bl_ids {
    int32_t *id;
    size_t count, capacity;
};

/* Room for so many more. Start from {0}. */
int bl_ids_reserve(struct bl_ids *ids, size_t more, struct bl_error *e);
void bl_ids_free(struct bl_ids *ids);

#endif
