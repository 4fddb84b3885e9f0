#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- buffer ------------------------------------------------------------------------------------------------------- */

/* Makes room for size more bytes of at most limit in all. Most appending finds room: this is kept apart from it. */
static __attribute__((noinline)) bool buffer_grow(struct bl_buffer *b, size_t size, size_t limit)
{
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

/* The same for appending; what has no room is counted. */
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

void bl_buffer_clear(struct bl_buffer *b)
{
    b->size = b->missed = 0;
    b->failed = b->is_over = false;
    if (b->data)
        b->data[0] = '\0';
}

int bl_buffer_check(const struct bl_buffer *b, struct bl_error *e)
{
    return b->failed ? bl_error_memory(e) : BL_OK;
}

void bl_buffer_free(struct bl_buffer *b)
{
    free(b->data);
    *b = (struct bl_buffer){0};
}

/* --- array -------------------------------------------------------------------------------------------------------- */

/* Growing arrays: an element pointer, a capacity and a count in the caller's struct. */

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
