/* Buffers, growing arrays and a hash table: the only containers of the tool.
 *
 * A buffer doubles its capacity when it is full, so that n appended bytes cost O(n) copies, and always has one byte
 * more than its content, for a NUL. After a failure it stays failed, and later appends do nothing: a caller builds a
 * whole text and calls bl_buffer_check once. The hash table stores numbers of elements, not elements: the caller's
 * array has them, and the caller compares. A slot is one word:
 *
 *     bits 63..32  upper half of the hash        bits 31..0  number of the element + 1; a slot of 0 is free */
#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- buffer ------------------------------------------------------------------------------------------------------- */

/* Makes room for size more bytes and a NUL, up to `limit` bytes in all. Most calls of append find room, so that this
 * part is a function by itself and append stays small enough to be inlined. */
static __attribute__((noinline)) bool buffer_grow(struct bl_buffer *b, size_t size, size_t limit)
{
    /* The addition and the doubling below cannot overflow after this test. */
    if (b->failed || size > SIZE_MAX / 2 - b->size - 1) {
        b->failed = true;
        return false;
    }
    size_t needed = b->size + size + 1;
    if (needed <= b->capacity)
        return true;
    if (needed - 1 > limit) {
        b->failed = b->is_over = true;
        return false;
    }
    size_t capacity = b->capacity ? b->capacity : 256;
    while (capacity < needed)
        capacity *= 2;
    /* The last step allocates only up to the limit. */
    if (capacity - 1 > limit)
        capacity = limit + 1;
    char *data = realloc(b->data, capacity);
    if (!data) {
        b->failed = true;
        return false;
    }
    b->data = data;
    b->capacity = capacity;
    return true;
}

bool bl_buffer_reserve(struct bl_buffer *b, size_t size)
{
    return buffer_grow(b, size, SIZE_MAX - 1);
}

/* Makes room for appending, within the buffer's own limit. False: there is no room, and `missed` counts the bytes, so
 * that a caller learns how large the text would have been. The first test is inlined into append and byte, which tables
 * call for each value. */
static inline bool buffer_make_room(struct bl_buffer *b, size_t size)
{
    if (!b->failed && size < b->capacity - b->size)
        return true;
    if (buffer_grow(b, size, b->limit ? b->limit : SIZE_MAX - 1))
        return true;
    b->missed += size;
    return false;
}

void bl_buffer_append(struct bl_buffer *b, const void *data, size_t size)
{
    if (!buffer_make_room(b, size))
        return;
    if (size)
        memcpy(b->data + b->size, data, size);
    b->size += size;
    b->data[b->size] = '\0';
}

void bl_buffer_text(struct bl_buffer *b, const char *text)
{
    bl_buffer_append(b, text, strlen(text));
}

void bl_buffer_byte(struct bl_buffer *b, char byte)
{
    if (!buffer_make_room(b, 1))
        return;
    b->data[b->size++] = byte;
    b->data[b->size] = '\0';
}

void bl_buffer_int(struct bl_buffer *b, int64_t value)
{
    char digits[24];
    size_t at = sizeof digits;
    /* The magnitude of INT64_MIN fits an unsigned number. */
    uint64_t magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do {
        digits[--at] = (char)('0' + magnitude % 10);
        magnitude /= 10;
    } while (magnitude);
    if (value < 0)
        digits[--at] = '-';
    bl_buffer_append(b, digits + at, sizeof digits - at);
}

void bl_buffer_printf(struct bl_buffer *b, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    /* The first call measures, and the second one writes; each needs its own list of arguments. */
    int size = vsnprintf(NULL, 0, format, arguments);
    if (size < 0)
        b->failed = true;
    else if (bl_buffer_reserve(b, (size_t)size)) {
        vsnprintf(b->data + b->size, (size_t)size + 1, format, again);
        b->size += (size_t)size;
    }
    va_end(again);
    va_end(arguments);
}

/* The memory stays, so that a buffer in a loop allocates only in the first turns. */
void bl_buffer_clear(struct bl_buffer *b)
{
    b->size = b->missed = 0;
    b->failed = b->is_over = false;
    if (b->data)
        b->data[0] = '\0';
}

/* A failure of a buffer is nearly always memory; a caller with a limit looks at is_over before. */
int bl_buffer_check(const struct bl_buffer *b, struct bl_error *e)
{
    return b->failed ? bl_error_memory(e) : BL_OK;
}

void bl_buffer_free(struct bl_buffer *b)
{
    free(b->data);
    *b = (struct bl_buffer){0};
}

/* The failure of the part would otherwise be lost: its bytes are already appended, or are missing. */
void bl_buffer_free_part(struct bl_buffer *part, struct bl_buffer *whole)
{
    whole->failed |= part->failed;
    bl_buffer_free(part);
}

/* --- growing arrays ----------------------------------------------------------------------------------------------- */

#define CAPACITY_MIN 16 /* elements: smaller arrays would grow several times before they hold anything useful */
#define CAPACITY_DOUBLED                                                                                               \
    ((size_t)1 << 16) /* elements; above this, arrays grow by a quarter, which wastes less memory */

size_t bl_array_capacity(size_t capacity, size_t needed)
{
    size_t more = capacity < CAPACITY_DOUBLED ? capacity : capacity / 4;
    size_t larger = capacity + more < CAPACITY_MIN ? CAPACITY_MIN : capacity + more;
    return larger < needed ? needed : larger;
}

/* With count 0, realloc may return NULL, which is no failure then. */
int bl_array_resize(void *array, size_t count, size_t size, struct bl_error *e)
{
    /* The caller's pointer changes only after realloc has succeeded. */
    void *old; /* the array has any type of element, so that its pointer is read and written by memcpy */
    memcpy(&old, array, sizeof old);
    void *moved = count && size > SIZE_MAX / count ? NULL : realloc(old, count * size);
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
    BL_TRY(bl_array_resize(array, larger, size, e));
    *capacity = larger;
    return BL_OK;
}

/* --- hash table --------------------------------------------------------------------------------------------------- */

#define SLOTS_MIN 64
#define SHIFT_MIN 32 /* a slot holds only the upper half of the hash, so that a table has at most 2^32 slots */

/* Stores a slot at the first free position (linear probing), from the position that its upper bits select. The table
 * has a free slot. */
static void hash_put(struct bl_hash *h, uint64_t slot)
{
    size_t at = (size_t)(slot >> h->shift);
    while (h->slot[at])
        at = (at + 1) & h->mask;
    h->slot[at] = slot;
    h->count++;
}

/* At most three quarters of the slots are in use: longer searches begin there. */
int bl_hash_reserve(struct bl_hash *h, size_t count, struct bl_error *e)
{
    if (h->slot && count <= h->mask / 4 * 3)
        return BL_OK;
    /* The table doubles until the elements fit, so that adding n elements costs O(n). */
    size_t slots = h->slot ? 2 * (h->mask + 1) : SLOTS_MIN;
    while (slots < (size_t)1 << SHIFT_MIN && (slots - 1) / 4 * 3 < count)
        slots *= 2;
    struct bl_hash larger = {.mask = slots - 1, .shift = 64 - __builtin_ctzll(slots)};
    if (larger.shift >= SHIFT_MIN)
        larger.slot = calloc(slots, sizeof *larger.slot);
    if (!larger.slot)
        return bl_error_memory(e);
    for (size_t i = 0; h->slot && i <= h->mask; i++) {
        if (h->slot[i])
            hash_put(&larger, h->slot[i]);
    }
    free(h->slot);
    *h = larger;
    return BL_OK;
}

int bl_hash_add(struct bl_hash *h, uint64_t hash, size_t number, struct bl_error *e)
{
    /* The number + 1 must fit 32 bits, and 0 marks a free slot. */
    if (number >= UINT32_MAX)
        return bl_error_set(e, BL_EFAIL, "more than %u elements in a table", UINT32_MAX);
    BL_TRY(bl_hash_reserve(h, h->count + 1, e));
    hash_put(h, hash >> 32 << 32 | (number + 1));
    return BL_OK;
}

void bl_hash_free(struct bl_hash *h)
{
    free(h->slot);
    *h = (struct bl_hash){0};
}
