/* Bits of a header, the most significant first; past the end they are zero. */
#ifndef BL_BITS_H
#define BL_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bl_bits {
    const uint8_t *data;
    size_t size;  /* bytes */
    size_t at;    /* bits */
    bool escaped; /* a 3 after two zeros is not part of the content (H.264 and H.265, 7.4.1) */
};

/* count: at most 32. */
uint32_t bl_bits_get(struct bl_bits *b, int count);
void bl_bits_skip(struct bl_bits *b, unsigned count);

/* An Exp-Golomb code (H.264 9.1), unsigned or signed. Codes of more than 32 bits are UINT32_MAX, INT32_MIN. */
uint32_t bl_bits_unsigned(struct bl_bits *b);
int32_t bl_bits_signed(struct bl_bits *b);

/* Whether more was read than there is. */
bool bl_bits_ended(const struct bl_bits *b);

#endif
