/* UTF-8: validation, code points, and which text can be shown as it is. */
#ifndef BL_UTF8_H
#define BL_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BL_UTF8_MAX 4 /* bytes of one code point */

/* The length of the valid prefix: size if all of the text is UTF-8, otherwise the offset of the first invalid byte. */
size_t bl_utf8_valid(const char *text, size_t size);

/* Why a text that begins with head is not UTF-8: the byte order mark of another encoding, as a reason. NULL: it has
 * none. */
const char *bl_utf8_other_mark(const void *head, size_t size);

/* Whether a byte of UTF-8 begins a character: it does not continue one. */
static inline bool bl_utf8_begins(char byte)
{
    return ((unsigned char)byte & 0xc0) != 0x80;
}

/* Decodes the code point at text, which must be valid UTF-8. Returns its number of bytes. */
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

/* Encodes a code point, at most U+10FFFF and no surrogate. Returns its number of bytes. */
size_t bl_utf8_encode(uint32_t point, char out[BL_UTF8_MAX]);

/* Bytes of the valid UTF-8 character at text (of size bytes), or 0 if it is not valid. */
size_t bl_utf8_length(const char *text, size_t size);

/* Bytes of the longest prefix of a UTF-8 character at text, of size > 0 bytes; *whole: whether that is a complete
 * character. At least 1, for a byte that begins no character. */
size_t bl_utf8_part(const char *text, size_t size, bool *whole);

/* Bytes of the UTF-8 character at text (of size bytes) if it can be shown as it is. 0: a control character, a line end,
 * a change of writing direction, or not UTF-8. */
size_t bl_utf8_visible(const char *text, size_t size);

/* Replaces each character and byte that bl_utf8_visible refuses with "?", except those in keep. Returns the new size,
 * never larger; text that became shorter is NUL-terminated. */
size_t bl_utf8_mask(char *text, size_t size, const char *keep);

#endif
