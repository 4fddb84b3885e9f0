/* A growing run of bytes, for text and headers that are built piece by piece.
 *
 * Appending returns no error. The buffer remembers that memory ran out, and bl_buffer_check reports it once, so that
 * code that builds text needs no checks in between. Start from {0}; free with bl_buffer_free. */
#ifndef BL_BUFFER_H
#define BL_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* --- buffer ------------------------------------------------------------------------------------------------------- */

struct bl_buffer {
    char *data;  /* NUL-terminated after the first append */
    size_t size; /* bytes, without the NUL */
    size_t capacity;
    size_t limit;  /* bytes up to which appending makes it grow; 0: there is no limit */
    size_t missed; /* bytes that were not appended, since it failed */
    bool failed;
    bool is_over; /* it failed since it would have grown beyond the limit */
};

/* Makes room for size more bytes, whatever the limit is. False: out of memory. */
bool bl_buffer_reserve(struct bl_buffer *b, size_t size);
void bl_buffer_append(struct bl_buffer *b, const void *data, size_t size);
void bl_buffer_text(struct bl_buffer *b, const char *text);
void bl_buffer_byte(struct bl_buffer *b, char byte);
/* Appends a decimal integer. printf's %lld would take most of the time of writing a large table. */
void bl_buffer_int(struct bl_buffer *b, int64_t value);
void bl_buffer_printf(struct bl_buffer *b, const char *format, ...) BL_PRINTF(2, 3);
/* Empties the buffer and keeps its memory and its limit. */
void bl_buffer_clear(struct bl_buffer *b);
/* 0, or BL_EFAIL "out of memory" if an append failed. */
int bl_buffer_check(const struct bl_buffer *b, struct bl_error *e);
void bl_buffer_free(struct bl_buffer *b);

/* --- array -------------------------------------------------------------------------------------------------------- */

/* Growing arrays: an element pointer, a capacity and a count in the caller's struct. */

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
