/* The classes of code points that tokenizers need, by a fixed version of Unicode. scripts/unicode.py makes the tables
 * (unicode_table.c). */
#ifndef BL_UNICODE_H
#define BL_UNICODE_H

#include <stdint.h>

/* Classes by Unicode 16, which these engines have: tokenizers 0.23 (Oniguruma 6.9.10) in patterns, tiktoken 0.14
 * (Rust's regex crates). A code point has one of them at most. */
enum {
    BL_SYMBOL = 1,        /* \p{S} */
    BL_NUMBER = 2,        /* \p{N} */
    BL_SPACE = 4,         /* \s: White_Space */
    BL_UPPER = 8,         /* \p{Lu}, \p{Lt} */
    BL_LOWER = 16,        /* \p{Ll} */
    BL_MODIFIER = 32,     /* \p{Lm}, \p{Lo} */
    BL_MARK = 64,         /* \p{M} */
    BL_PUNCTUATION = 128, /* \p{P} */
    BL_LETTER = BL_UPPER | BL_LOWER | BL_MODIFIER
};

/* Pages of 256 code points, most of which are equal. */
extern const uint8_t bl_unicode_page[0x110000 >> 8];
extern const uint8_t bl_unicode_class_table[];

static inline unsigned bl_unicode_class(uint32_t c)
{
    return c < 0x110000 ? bl_unicode_class_table[(uint32_t)bl_unicode_page[c >> 8] << 8 | (c & 255)] : 0;
}

#endif
