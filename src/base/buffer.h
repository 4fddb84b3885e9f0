/* A growing run of bytes, for text and headers that are built up piece by piece.
 *
 * Appending never fails in place: running out of memory is remembered in the buffer and told once, by
 * bl_buffer_check, so that code that builds text reads straight down. Start from {0}; free with bl_buffer_free. */
#ifndef BL_BUFFER_H
#define BL_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct bl_buffer {
    char *data;  /* NUL-terminated once anything was appended */
    size_t size; /* bytes, without that NUL */
    size_t capacity;
    bool failed;
};

/* Makes room for size more bytes; false when there is no memory. */
bool bl_buffer_reserve(struct bl_buffer *b, size_t size);
void bl_buffer_append(struct bl_buffer *b, const void *data, size_t size);
void bl_buffer_text(struct bl_buffer *b, const char *text);
void bl_buffer_byte(struct bl_buffer *b, char byte);
/* A decimal integer; printf's %lld would cost most of the time of writing a large table. */
void bl_buffer_int(struct bl_buffer *b, int64_t value);
void bl_buffer_printf(struct bl_buffer *b, const char *format, ...) BL_PRINTF(2, 3);
/* Empties it and keeps the memory. */
void bl_buffer_clear(struct bl_buffer *b);
/* 0, or BL_EFAIL "out of memory" if anything was lost. */
int bl_buffer_check(const struct bl_buffer *b, struct bl_error *e);
void bl_buffer_free(struct bl_buffer *b);

#endif
