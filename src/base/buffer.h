/* Memory that grows as needed: a buffer of bytes, arrays of any type, and a hash table over the elements of an
 * array. */
#ifndef BL_BUFFER_H
#define BL_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/vector.h"

/* --- buffer ------------------------------------------------------------------------------------------------------- */

/* A growing run of bytes, for text and headers that are built piece by piece.
 *
 * Appending returns no error. The buffer remembers that memory ran out, and bl_buffer_check reports it once, so that
 * code that builds text needs no checks in between. Start from {0}; free with bl_buffer_free. */

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
/* Appends size bytes. data may be NULL if size is 0. */
void bl_buffer_append(struct bl_buffer *b, const void *data, size_t size);
/* Appends a text without its NUL. */
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
/* Frees a buffer whose content was appended to another one. If part failed, whole fails, too, so that one check of
 * whole covers both. */
void bl_buffer_free_part(struct bl_buffer *part, struct bl_buffer *whole);

/* --- growing arrays ----------------------------------------------------------------------------------------------- */

/* The caller's struct has a pointer to the elements, a capacity and a count. Example:
 *
 *     BL_TRY(BL_ARRAY_RESERVE(list->row, list->capacity, list->rows + 1, e));
 *     list->row[list->rows++] = row; */

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

/* --- hash table --------------------------------------------------------------------------------------------------- */

/* A hash table that finds elements of the caller's array by number.
 *
 * The table stores hashes and numbers only. A lookup visits the numbers of all elements with a hash, and perhaps some
 * with another hash; the caller compares. The table uses open addressing and is at most three quarters full. A slot
 * holds 32 bits of the hash, and its leading bits give the position, so that the table grows without computing hashes
 * again. A lookup:
 *
 *     for (struct bl_hash_probe p = bl_hash_begin(&h, hash); bl_hash_next(&h, &p, &number);) {
 *         if (strcmp(name[number], wanted) == 0)
 *             return number;
 *     } */

/* Begin with {0}, end with bl_hash_free. */
struct bl_hash {
    uint64_t *slot; /* [mask + 1], or NULL: the upper half of the hash, then the number + 1; 0: free */
    size_t mask, count;
    int shift; /* right shift from a hash to its position */
};

/* The state of a lookup. */
struct bl_hash_probe {
    uint64_t tag; /* the upper half of the hash */
    size_t at;
};

static inline struct bl_hash_probe bl_hash_begin(const struct bl_hash *h, uint64_t hash)
{
    return (struct bl_hash_probe){hash >> 32 << 32, h->slot ? (size_t)(hash >> h->shift) : 0};
}

/* Sets the next number under the hash. False: none is left. */
static inline bool bl_hash_next(const struct bl_hash *h, struct bl_hash_probe *probe, size_t *number)
{
    if (!h->slot)
        return false;
    for (uint64_t slot; (slot = h->slot[probe->at]) != 0;) {
        probe->at = (probe->at + 1) & h->mask;
        if ((slot ^ probe->tag) <= UINT32_MAX) {
            *number = (uint32_t)slot - 1;
            return true;
        }
    }
    return false;
}

/* Fetches what a lookup reads first. Lookups of many hashes are faster if all are prefetched before the first one. */
BL_PREFETCHES void bl_hash_prefetch(const struct bl_hash *h, uint64_t hash)
{
    if (h->slot)
        __builtin_prefetch(&h->slot[hash >> h->shift]);
}

/* Makes room for so many elements in all. BL_EFAIL: out of memory; nothing has changed. */
int bl_hash_reserve(struct bl_hash *h, size_t count, struct bl_error *e);
/* Adds an element that is not in the table, with a number below 2^32 - 1. BL_EFAIL: out of memory; nothing has
 * changed. */
int bl_hash_add(struct bl_hash *h, uint64_t hash, size_t number, struct bl_error *e);
void bl_hash_free(struct bl_hash *h);

#endif
