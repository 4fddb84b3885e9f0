#include "kind/video/bits.h"

#include <string.h>

/* Passes a byte that is not part of the content. */
static void bits_unescape(struct bl_bits *b)
{
    size_t byte = b->at / 8;
    if (b->at % 8 == 0 && byte >= 2 && byte < b->size && b->data[byte] == 3 && !b->data[byte - 1] && !b->data[byte - 2])
        b->at += 8;
}

/* Takes what is left of a byte at once. */
uint32_t bl_bits_get(struct bl_bits *b, int count)
{
    uint32_t value = 0;
    while (count > 0) {
        if (b->escaped)
            bits_unescape(b);
        int left = 8 - (int)(b->at % 8), part = left < count ? left : count;
        unsigned byte = b->at / 8 < b->size ? b->data[b->at / 8] : 0;
        value = value << part | (byte >> (left - part) & ((1u << part) - 1));
        b->at += (size_t)part;
        count -= part;
    }
    return value;
}

/* Passes whole bytes up to the next that may not be part of the content: messages may be long. */
static unsigned bits_skip_bytes(struct bl_bits *b, unsigned bytes)
{
    size_t byte = b->at / 8, left = b->size - byte, count = bytes < left ? bytes : left;
    const uint8_t *three = memchr(b->data + byte, 3, count);
    if (three)
        count = (size_t)(three - b->data) - byte;
    b->at += count * 8;
    return (unsigned)count;
}

void bl_bits_skip(struct bl_bits *b, unsigned count)
{
    if (!b->escaped) {
        b->at = bl_bits_ended(b) || count > b->size * 8 - b->at ? b->size * 8 + 1 : b->at + count;
        return;
    }
    while (count > 0 && !bl_bits_ended(b)) {
        if (b->at % 8 == 0 && count >= 16 && b->at / 8 < b->size)
            count -= 8 * bits_skip_bytes(b, count / 8);
        if (count == 0)
            return;
        bits_unescape(b);
        b->at++;
        count--;
    }
}

uint32_t bl_bits_unsigned(struct bl_bits *b)
{
    int zeros = 0;
    while (zeros < 32 && !bl_bits_get(b, 1)) {
        if (bl_bits_ended(b))
            return 0;
        zeros++;
    }
    return zeros == 32 ? UINT32_MAX : (UINT32_C(1) << zeros) - 1 + bl_bits_get(b, zeros);
}

int32_t bl_bits_signed(struct bl_bits *b)
{
    uint32_t code = bl_bits_unsigned(b);
    if (code == UINT32_MAX)
        return INT32_MIN;
    return code & 1 ? (int32_t)(code / 2 + 1) : -(int32_t)(code / 2);
}

bool bl_bits_ended(const struct bl_bits *b)
{
    return b->at > b->size * 8;
}
