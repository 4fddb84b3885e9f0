/* The alphabet of byte-level tokenizers: every byte has a printable character, by which files write tokens.
 *
 * 21-7E, A1-AC and AE-FF stand for themselves, the other bytes, in order, for U+0100 onwards. */
#ifndef BL_BYTE_LEVEL_H
#define BL_BYTE_LEVEL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* Replaces out by the bytes that a token's text stands for. False: it has a character that stands for none. */
bool bl_byte_level_decode(const char *text, size_t size, struct bl_buffer *out);

#endif
