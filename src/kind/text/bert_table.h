/* The data of BERT's normalizer and pre-tokenizer (bert_table.c), made by scripts/unicode.py. */
#ifndef BL_BERT_TABLE_H
#define BL_BERT_TABLE_H

#include <stddef.h>
#include <stdint.h>

enum {
    BL_BERT_REMOVED = 1,     /* by clean_text */
    BL_BERT_PUNCTUATION = 2, /* a word by itself */
    BL_BERT_MARK = 4,        /* removed by strip_accents */
    BL_BERT_UPPER = 8,       /* has a lower case: that of bl_bert_lower, but for U+0130 */
    BL_BERT_COMBINING = 16   /* removed by the normalizer StripAccents, which is not BERT's */
};

extern const uint8_t bl_bert_page[0x110000 >> 8];
extern const uint8_t bl_bert_property[];

static inline unsigned bl_bert_class(uint32_t c)
{
    return bl_bert_property[(uint32_t)bl_bert_page[c >> 8] << 8 | (c & 255)];
}

/* Sorted by code point. */
struct bl_bert_lower {
    uint32_t point, lower;
};
extern const struct bl_bert_lower bl_bert_lower[];
extern const size_t bl_bert_lower_count;

#endif
