#include "kind/text/byte_level.h"

#include "base/utf8.h"

#define OTHERS 0x100 /* the character of the first byte that is not written as itself */

/* The byte of a character, or -1. The others are 00-20, 7F-A0 and AD. */
static int character_to_byte(uint32_t c)
{
    if ((c >= 0x21 && c <= 0x7e) || (c >= 0xa1 && c <= 0xac) || (c >= 0xae && c <= 0xff))
        return (int)c;
    uint32_t place = c - OTHERS;
    if (c < OTHERS || place > 67)
        return -1;
    return place <= 0x20 ? (int)place : place < 67 ? (int)(place - 0x21 + 0x7f) : 0xad;
}

bool bl_byte_level_decode(const char *text, size_t size, struct bl_buffer *out)
{
    bl_buffer_clear(out);
    for (size_t at = 0; at < size;) {
        uint32_t c;
        if (!bl_utf8_length(text + at, size - at))
            return false;
        at += bl_utf8_decode(text + at, &c);
        int byte = character_to_byte(c);
        if (byte < 0)
            return false;
        bl_buffer_byte(out, (char)byte);
    }
    return true;
}
