/* Groups of rows: equal values of a column get the same number, counted from 0 in order of appearance. Values are
 * identified by their 64-bit hash. */
#ifndef BL_GROUPS_H
#define BL_GROUPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/hash.h"

struct bl_groups {
    struct bl_hash table;
    uint64_t *hash; /* [count] of each group's value */
    size_t count, capacity;
};

/* The number of a value. BL_EFAIL: out of memory. Start from {0}; free with bl_groups_free. */
int bl_groups_find(struct bl_groups *g, const char *value, size_t size, uint32_t *id, struct bl_error *e);
void bl_groups_free(struct bl_groups *g);

#endif
