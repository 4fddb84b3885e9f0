#include "kind/text/utf8.h"

#include <stdbool.h>
#include <string.h>

#include "base/text.h"

/* The number of bytes at text that are ASCII, a few short of it perhaps: whole runs of 32. */
static size_t ascii_run(const char *text, size_t size)
{
    size_t at = 0;
    for (; size - at >= 32; at += 32) {
        uint64_t word[4];
        memcpy(word, text + at, sizeof word);
        if ((word[0] | word[1] | word[2] | word[3]) & 0x8080808080808080U)
            break;
    }
    return at;
}

size_t bl_utf8_valid(const char *text, size_t size)
{
    size_t at = 0;
    while (at < size) {
        if (!(text[at] & 0x80)) {
            size_t run = ascii_run(text + at, size - at);
            at += run ? run : 1;
            continue;
        }
        bool whole;
        size_t length = bl_text_utf8_part(text + at, size - at, &whole);
        if (!whole)
            return at;
        at += length;
    }
    return size;
}

int bl_utf8_replace(const char *text, size_t size, struct bl_buffer *out, int64_t *replaced)
{
    while (size) {
        size_t valid = bl_utf8_valid(text, size);
        bl_buffer_append(out, text, valid);
        text += valid;
        size -= valid;
        if (!size)
            break;
        bool whole;
        size_t bad = bl_text_utf8_part(text, size, &whole);
        bl_buffer_append(out, "\xef\xbf\xbd", 3);
        ++*replaced;
        text += bad;
        size -= bad;
    }
    return bl_buffer_check(out, NULL);
}

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
