/* Reading characters of UTF-8 by their classes (unicode.h), and the steps past characters that the scanners of grammars
 * share.
 *
 * A scanner works on bytes and looks at code points only where it must: ASCII, most of most texts, takes one load from
 * a table. All functions are inline, since a scanner calls them for every character. Example: from the "d" of "don't
 * go", bl_skip_class with BL_LETTER returns the apostrophe. */
#ifndef BL_SKIP_H
#define BL_SKIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kind/text/unicode.h"

/* --- classes of characters ---------------------------------------------------------------------------------------- */

/* The classes of characters in valid UTF-8. Invalid text gives arbitrary classes, but no read past its end. */

/* Returns the classes of the character at p, which must be below end. Sets *bytes to its size. In invalid text the
 * classes are arbitrary, but nothing is read behind the end: a character that is cut off has no class and one byte. */
static inline unsigned bl_character_class(const uint8_t *p, const uint8_t *end, size_t *bytes)
{
    uint32_t c = *p;
    *bytes = 1;
    if (c < 0x80)
        return bl_unicode_class(c);
    size_t size = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    if ((size_t)(end - p) < size)
        return 0;
    *bytes = size;
    if (size == 2)
        return bl_unicode_class((c & 0x1f) << 6 | (p[1] & 0x3f));
    if (size == 3)
        return bl_unicode_class((c & 0xf) << 12 | (uint32_t)(p[1] & 0x3f) << 6 | (p[2] & 0x3f));
    return bl_unicode_class((c & 7) << 18 | (uint32_t)(p[1] & 0x3f) << 12 | (uint32_t)(p[2] & 0x3f) << 6 |
                            (p[3] & 0x3f));
}

/* Returns the size in bytes of the white space at the start of the text. */
static inline size_t bl_character_space(const uint8_t *text, size_t size)
{
    size_t at = 0, bytes;
    while (at < size && (bl_character_class(text + at, text + size, &bytes) & BL_SPACE))
        at += bytes;
    return at;
}

/* Returns the size in bytes of the text without its trailing white space. It goes back over the bytes 80 to BF, which
 * continue a character, to the byte that begins the last one. */
static inline size_t bl_character_trim(const uint8_t *text, size_t size)
{
    for (size_t end = size, bytes;; end = size) {
        while (end && (text[end - 1] & 0xc0) == 0x80)
            end--;
        if (!end || !(bl_character_class(text + end - 1, text + size, &bytes) & BL_SPACE) || end - 1 + bytes != size)
            return size;
        size = end - 1;
    }
}

/* --- steps of scanners -------------------------------------------------------------------------------------------- */

/* Steps past the characters of some classes. */

/* Returns the first character from p on that has none of the classes, or end. */
static inline const uint8_t *bl_skip_class(const uint8_t *p, const uint8_t *end, unsigned classes)
{
    size_t bytes;
    while (p < end && (bl_character_class(p, end, &bytes) & classes))
        p += bytes;
    return p;
}

/* Returns the first character from p on that has one of the classes, or end. */
static inline const uint8_t *bl_skip_others(const uint8_t *p, const uint8_t *end, unsigned classes)
{
    size_t bytes;
    while (p < end && !(bl_character_class(p, end, &bytes) & classes))
        p += bytes;
    return p;
}

/* Returns the first byte from p on that is no line break, or end. slash: "/" is skipped, too, as in the pattern of
 * o200k, [\r\n/]*. */
static inline const uint8_t *bl_skip_breaks(const uint8_t *p, const uint8_t *end, bool slash)
{
    while (p < end && (*p == '\r' || *p == '\n' || (slash && *p == '/')))
        p++;
    return p;
}

/* Returns the end of the match of \s+(?!\S)|\s+ at p. If text follows the white space, its last character is left for
 * the word after it, unless the white space is that one character. Example: of "a   b" three spaces follow "a"; the
 * match has two of them, and the third begins " b". */
static inline const uint8_t *bl_skip_space(const uint8_t *p, const uint8_t *end)
{
    const uint8_t *last = p, *at = p;
    size_t bytes;
    while (at < end && (bl_character_class(at, end, &bytes) & BL_SPACE)) {
        last = at;
        at += bytes;
    }
    return at == end || last == p ? at : last;
}

/* Returns the end of the match of \s*[\r\n]+|\s+(?!\S)|\s+ at p: behind the last line break of the white space, if
 * there is one. whole_at_end: white space that ends the text is matched as a whole, as \s+$ before the alternatives
 * does. */
static inline const uint8_t *bl_skip_lines(const uint8_t *p, const uint8_t *end, bool whole_at_end)
{
    const uint8_t *at = p, *line = NULL;
    size_t bytes;
    while (at < end && (bl_character_class(at, end, &bytes) & BL_SPACE)) {
        if (*at == '\r' || *at == '\n')
            line = at + 1;
        at += bytes;
    }
    if (line && !(whole_at_end && at == end))
        return line;
    return bl_skip_space(p, end);
}

#endif
