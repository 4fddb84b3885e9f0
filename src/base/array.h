/* Growing arrays: an element pointer, a capacity and a count in the caller's struct. */
#ifndef BL_ARRAY_H
#define BL_ARRAY_H

#include <stddef.h>

#include "base/error.h"

/* Makes room for needed elements in array (a T *), whose capacity (a size_t) counts elements. array may move. BL_EFAIL:
 * out of memory; nothing has changed. */
#define BL_ARRAY_RESERVE(array, capacity, needed, e)                                                                   \
    bl_array_reserve(&(array), &(capacity), (needed), sizeof *(array), (e))

/* Makes array hold exactly count elements, for arrays that share one capacity from bl_array_capacity. */
#define BL_ARRAY_RESIZE(array, count, e) bl_array_resize(&(array), (count), sizeof *(array), (e))

/* Returns the new capacity of an array that needs more than its present one. Small arrays double. Beyond 64 Ki elements
 * they grow by a quarter, since some hold a list of 10^8 sequences. */
size_t bl_array_capacity(size_t capacity, size_t needed);

/* For the macros. array: the address of the pointer. */
int bl_array_reserve(void *array, size_t *capacity, size_t needed, size_t size, struct bl_error *e);
int bl_array_resize(void *array, size_t count, size_t size, struct bl_error *e);

#endif
