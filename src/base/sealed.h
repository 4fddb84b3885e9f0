/* Text files that end with their checksum, in a line of its own: "end 0123456789abcdef". */
#ifndef BL_SEALED_H
#define BL_SEALED_H

#include "base/buffer.h"
#include "base/error.h"

/* Appends the line to a text that ends with a newline, or gets one. */
int bl_sealed_close(struct bl_buffer *text, struct bl_error *e);

/* Checks the line of a text that was read from path, and removes it. BL_EFAIL: the text is not the one that was
 * written. */
int bl_sealed_open(struct bl_buffer *text, const char *path, struct bl_error *e);

/* Reads a whole file of at most max bytes, and opens it. */
int bl_sealed_read(const char *path, size_t max, struct bl_buffer *text, struct bl_error *e);

#endif
