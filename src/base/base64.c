#include "base/base64.h"

#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void bl_base64_append(struct bl_buffer *out, const void *data, size_t size)
{
    const unsigned char *at = data;
    for (; size; at += size < 3 ? size : 3, size -= size < 3 ? size : 3) {
        uint32_t bits = (uint32_t)at[0] << 16 | (size > 1 ? (uint32_t)at[1] << 8 : 0) | (size > 2 ? at[2] : 0);
        char group[] = {digits[bits >> 18], digits[bits >> 12 & 63], digits[bits >> 6 & 63], digits[bits & 63]};
        if (size < 3)
            memset(group + 1 + size, '=', 3 - size);
        bl_buffer_append(out, group, sizeof group);
    }
}

int64_t bl_base64_decode(char *text, size_t size)
{
    uint32_t bits = 0;
    size_t seen = 0, padding = 0, out = 0;
    for (size_t at = 0; at < size; at++) {
        const char *digit = text[at] ? strchr(digits, text[at]) : NULL;
        if (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t')
            continue;
        padding += text[at] == '=';
        if (padding ? text[at] != '=' : !digit)
            return -1;
        bits = bits << 6 | (uint32_t)(digit ? digit - digits : 0);
        if (++seen % 4)
            continue;
        for (size_t byte = 0; byte < 3; byte++)
            text[out++] = (char)(bits >> (16 - 8 * byte));
    }
    if (seen % 4 || padding > 2 || (bits & ((1U << (8 * padding)) - 1)))
        return -1; /* the remaining bits must be 0 */
    return (int64_t)(out - padding);
}
