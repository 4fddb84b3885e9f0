#include "kind/text/alphabet.h"

#include <string.h>

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

static uint32_t byte_to_character(uint8_t byte)
{
    if (byte <= 0x20)
        return OTHERS + byte;
    if (byte >= 0x7f && byte <= 0xa0)
        return OTHERS + 0x21U + byte - 0x7f;
    return byte == 0xad ? OTHERS + 67 : byte;
}

void bl_alphabet_append_bytes(const char *text, size_t size, struct bl_buffer *out)
{
    char character[BL_UTF8_MAX];
    for (size_t i = 0; i < size; i++)
        bl_buffer_append(out, character, bl_utf8_encode(byte_to_character((uint8_t)text[i]), character));
}

static bool decode_bytes(const char *text, size_t size, struct bl_buffer *out)
{
    if (!bl_buffer_reserve(out, size))
        return true; /* the buffer remembers it */
    char *to = out->data + out->size;
    for (size_t at = 0; at < size;) {
        uint32_t c = (uint8_t)text[at];
        if (c >= 0x80 && !bl_utf8_length(text + at, size - at))
            return false;
        at += c >= 0x80 ? bl_utf8_decode(text + at, &c) : 1;
        int byte = character_to_byte(c);
        if (byte < 0)
            return false;
        *to++ = (char)byte;
    }
    *to = '\0';
    out->size = (size_t)(to - out->data);
    return true;
}

static bool decode_spaces(const char *text, size_t size, struct bl_buffer *out)
{
    static const size_t mark = sizeof BL_METASPACE - 1;
    if (memchr(text, ' ', size))
        return false;
    for (size_t at = 0; at < size;) {
        bool space = size - at >= mark && !memcmp(text + at, BL_METASPACE, mark);
        bl_buffer_byte(out, space ? ' ' : text[at]);
        at += space ? mark : 1;
    }
    return true;
}

bool bl_alphabet_decode(const struct bl_alphabet *alphabet, const char *text, size_t size, struct bl_buffer *out)
{
    size_t suffix = strlen(alphabet->suffix);
    bool last = suffix && size >= suffix && !memcmp(text + size - suffix, alphabet->suffix, suffix), known = true;
    size -= last ? suffix : 0;
    bl_buffer_clear(out);
    if (alphabet->kind == BL_ALPHABET_BYTES)
        known = decode_bytes(text, size, out);
    else if (alphabet->kind == BL_ALPHABET_SPACES)
        known = decode_spaces(text, size, out);
    else
        bl_buffer_append(out, text, size);
    if (suffix && out->size && memchr(out->data, BL_WORD_END, out->size))
        return false;
    if (last)
        bl_buffer_byte(out, (char)BL_WORD_END);
    return known;
}
