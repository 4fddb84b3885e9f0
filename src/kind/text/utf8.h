/* UTF-8: whether it is, what it is replaced by where it is not, and its code points. */
#ifndef BL_UTF8_H
#define BL_UTF8_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

#define BL_UTF8_MAX 4 /* bytes of one code point */

/* The length of the valid beginning: size when all of it is UTF-8, else the offset of the first byte that begins no
 * character. */
size_t bl_utf8_valid(const char *text, size_t size);

/* Appends the text with U+FFFD for every maximal subpart of a character that is ill-formed (The Unicode Standard, 3.9:
 * "U+FFFD Substitution of Maximal Subparts"; as Python's errors="replace" and Rust's from_utf8_lossy), and adds their
 * number to *replaced. BL_EFAIL: out of memory, which the buffer remembers. */
int bl_utf8_replace(const char *text, size_t size, struct bl_buffer *out, int64_t *replaced);

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

#endif
