/* Arrays that grow: an element pointer, a capacity and a count in the caller's own struct. */
#ifndef BL_ARRAY_H
#define BL_ARRAY_H

#include <stddef.h>

#include "base/error.h"

/* Makes room for needed elements in array (a T *) of capacity (a size_t) elements. array may move. BL_EFAIL: no memory;
 * nothing was changed. */
#define BL_ARRAY_RESERVE(array, capacity, needed, e)                                                                   \
    bl_array_reserve(&(array), &(capacity), (needed), sizeof *(array), (e))

/* Makes array have count elements, for several that share a capacity of bl_array_capacity. */
#define BL_ARRAY_RESIZE(array, count, e) bl_array_resize(&(array), (count), sizeof *(array), (e))

/* What an array grows to that has capacity elements and needs more: twice as many while it is small, and a quarter more
 * beyond 64 Ki, as some hold as much as a list of 10^8 sequences. */
size_t bl_array_capacity(size_t capacity, size_t needed);

/* For the macros. array: the address of the pointer. */
int bl_array_reserve(void *array, size_t *capacity, size_t needed, size_t size, struct bl_error *e);
int bl_array_resize(void *array, size_t count, size_t size, struct bl_error *e);

#endif
