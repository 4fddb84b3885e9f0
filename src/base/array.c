#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY_MIN 16
#define CAPACITY_DOUBLED ((size_t)1 << 16) /* elements; above this, arrays grow by a quarter */

size_t bl_array_capacity(size_t capacity, size_t needed)
{
    size_t more = capacity < CAPACITY_DOUBLED ? capacity : capacity / 4;
    size_t larger = capacity + more < CAPACITY_MIN ? CAPACITY_MIN : capacity + more;
    return larger < needed ? needed : larger;
}

int bl_array_resize(void *array, size_t count, size_t size, struct bl_error *e)
{
    void *old, *moved;
    memcpy(&old, array, sizeof old);
    moved = count && size > SIZE_MAX / count ? NULL : realloc(old, count * size);
    if (!moved && count)
        return bl_error_memory(e);
    memcpy(array, &moved, sizeof moved);
    return BL_OK;
}

int bl_array_reserve(void *array, size_t *capacity, size_t needed, size_t size, struct bl_error *e)
{
    if (needed <= *capacity)
        return BL_OK;
    size_t larger = bl_array_capacity(*capacity, needed);
    int code = bl_array_resize(array, larger, size, e);
    if (!code)
        *capacity = larger;
    return code;
}
