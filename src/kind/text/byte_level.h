/* The alphabet of byte-level tokenizers: files write each byte of a token as a printable character.
 *
 * 21-7E, A1-AC and AE-FF stand for themselves, the other bytes, in order, for U+0100 onwards. */
#ifndef BL_BYTE_LEVEL_H
#define BL_BYTE_LEVEL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* Replaces the contents of out with the bytes of a token. False: a character of its text is not in the alphabet. */
bool bl_byte_level_decode(const char *text, size_t size, struct bl_buffer *out);

#endif
