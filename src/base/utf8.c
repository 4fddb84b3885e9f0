/* UTF-8 by the table of well-formed sequences in the Unicode standard (section 3.9, table 3-7).
 *
 * Most text that bload reads is ASCII, so validation skips runs of 32 ASCII bytes at once and looks at single
 * characters only elsewhere. The table excludes overlong encodings (c0 80 for NUL), surrogates (ed a0 80) and code
 * points above U+10FFFF (f4 90 80 80); each of them shows in the first two bytes. */
#include "base/utf8.h"

#include <string.h>

/* Returns the number of leading ASCII bytes of text, a multiple of 32. Up to 31 further ASCII bytes may follow, which
 * the caller handles one at a time. */
static size_t utf8_ascii_run(const char *text, size_t size)
{
    size_t at = 0;
    for (; size - at >= 32; at += 32) {
        uint64_t word[4];
        memcpy(word, text + at, sizeof word);
        /* The top bit of a byte is set in all bytes outside ASCII, and in none within it. */
        if ((word[0] | word[1] | word[2] | word[3]) & 0x8080808080808080U)
            break;
    }
    return at;
}

size_t bl_utf8_part(const char *text, size_t size, bool *whole)
{
    const unsigned char *s = (const unsigned char *)text;
    *whole = s[0] < 0x80;
    /* 80..bf continue a character, c0 and c1 begin overlong ones, and f5..ff begin none. */
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 1;
    size_t length = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    /* Overlong forms, surrogates and code points above U+10FFFF show in the second byte. */
    unsigned low = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : 0x80;
    unsigned high = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : 0xbf;
    if (size < 2 || s[1] < low || s[1] > high)
        return 1;
    for (size_t i = 2; i < length; i++) {
        /* The prefix that is well-formed counts as one unit: decoders replace it by one U+FFFD (Unicode, 3.9, "maximal
         * subpart"). */
        if (i == size || (s[i] & 0xc0) != 0x80)
            return i;
    }
    *whole = true;
    return length;
}

/* Stops at the first bad byte: its offset is what a message shows. */
size_t bl_utf8_valid(const char *text, size_t size)
{
    size_t at = 0;
    while (at < size) {
        if (!(text[at] & 0x80)) {
            size_t run = utf8_ascii_run(text + at, size - at);
            at += run ? run : 1;
            continue;
        }
        bool whole;
        size_t length = bl_utf8_part(text + at, size - at, &whole);
        if (!whole)
            return at;
        at += length;
    }
    return size;
}

/* The first byte has as many leading ones as the sequence has bytes; each further byte carries 6 bits. */
size_t bl_utf8_encode(uint32_t point, char out[BL_UTF8_MAX])
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    if (point < 0x800) {
        out[0] = (char)(0xc0 | point >> 6);
        out[1] = (char)(0x80 | (point & 0x3f));
        return 2;
    }
    if (point < 0x10000) {
        out[0] = (char)(0xe0 | point >> 12);
        out[1] = (char)(0x80 | (point >> 6 & 0x3f));
        out[2] = (char)(0x80 | (point & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | point >> 18);
    out[1] = (char)(0x80 | (point >> 12 & 0x3f));
    out[2] = (char)(0x80 | (point >> 6 & 0x3f));
    out[3] = (char)(0x80 | (point & 0x3f));
    return 4;
}

size_t bl_utf8_length(const char *text, size_t size)
{
    /* An empty text has no character, and a prefix of one is not valid. */
    bool whole = false;
    size_t length = size ? bl_utf8_part(text, size, &whole) : 0;
    return whole ? length : 0;
}

const char *bl_utf8_other_mark(const void *head, size_t size)
{
    /* The mark of UTF-32 begins with that of UTF-16. */
    if (size >= 4 && (memcmp(head, "\xff\xfe\0\0", 4) == 0 || memcmp(head, "\0\0\xfe\xff", 4) == 0))
        return "UTF-32 text (convert it to UTF-8)";
    if (size >= 2 && (memcmp(head, "\xff\xfe", 2) == 0 || memcmp(head, "\xfe\xff", 2) == 0))
        return "UTF-16 text (convert it to UTF-8)";
    return NULL;
}

size_t bl_utf8_visible(const char *text, size_t size)
{
    size_t length = bl_utf8_length(text, size);
    uint32_t point = 0;
    if (!length)
        return 0;
    bl_utf8_decode(text, &point);
    /* Controls (C0, DEL, C1), line ends, marks of writing direction, byte order marks, and noncharacters. */
    bool is_hidden = point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x61c || point == 0x200e ||
                     point == 0x200f || (point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069) ||
                     point == 0xfeff || point == 0xfffe || point == 0xffff;
    return is_hidden ? 0 : length;
}

size_t bl_utf8_mask(char *text, size_t size, const char *keep)
{
    /* Each bad byte becomes one "?", and each character takes at most as many bytes as before, so that the text is
     * changed in place: out never passes at. */
    size_t out = 0;
    for (size_t at = 0; at < size;) {
        size_t visible = bl_utf8_visible(text + at, size - at), length = bl_utf8_length(text + at, size - at);
        if (visible || (text[at] && strchr(keep, text[at]))) {
            memmove(text + out, text + at, length);
            out += length;
        } else {
            text[out++] = '?';
        }
        at += length ? length : 1;
    }
    if (out < size)
        text[out] = '\0';
    return out;
}
