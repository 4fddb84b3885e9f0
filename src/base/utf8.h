/* UTF-8: whether it is, what it is replaced by where it is not, and its code points. */
#ifndef BL_UTF8_H
#define BL_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BL_UTF8_MAX 4 /* bytes of one code point */

/* The length of the valid beginning: size when all of it is UTF-8, else the offset of the first byte that begins no
 * character. */
size_t bl_utf8_valid(const char *text, size_t size);

/* The code point at text, which is valid UTF-8, and its number of bytes. */
static inline size_t bl_utf8_decode(const char *text, uint32_t *point)
{
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] < 0x80) {
        *point = s[0];
        return 1;
    }
    if (s[0] < 0xe0) {
        *point = (s[0] & 0x1fU) << 6 | (s[1] & 0x3fU);
        return 2;
    }
    if (s[0] < 0xf0) {
        *point = (s[0] & 0xfU) << 12 | (s[1] & 0x3fU) << 6 | (s[2] & 0x3fU);
        return 3;
    }
    *point = (s[0] & 7U) << 18 | (s[1] & 0x3fU) << 12 | (s[2] & 0x3fU) << 6 | (s[3] & 0x3fU);
    return 4;
}

/* Writes a code point, no surrogate and at most U+10FFFF; its number of bytes. */
size_t bl_utf8_encode(uint32_t point, char out[BL_UTF8_MAX]);

/* Bytes of the valid UTF-8 character at text (of size bytes), or 0 when there is none. */
size_t bl_utf8_length(const char *text, size_t size);

/* Bytes of the longest beginning of a UTF-8 character at text, of size > 0 bytes; whole tells whether it is all of one.
 * At least 1: a byte that begins none. */
size_t bl_utf8_part(const char *text, size_t size, bool *whole);

/* Bytes of the UTF-8 character at text (of size bytes) that can be shown to people as it is; 0: what stands there is a
 * control character, ends a line, turns the direction of writing, or is not UTF-8. */
size_t bl_utf8_visible(const char *text, size_t size);

/* Puts "?" in place of each character and byte that bl_utf8_visible refuses, but for those in keep. Returns the new
 * size, which is not larger, and ends the text there where it has become less. */
size_t bl_utf8_mask(char *text, size_t size, const char *keep);

#endif
