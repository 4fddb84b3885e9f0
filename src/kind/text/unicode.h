/* Properties of characters by fixed versions of Unicode, so that ids do not depend on the libraries of a machine.
 * scripts/unicode.py makes the tables (*_table.c). */
#ifndef BL_UNICODE_H
#define BL_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- classes ------------------------------------------------------------------------------------------------------ */

/* Classes of code points by Unicode 16 (unicode_table.c), which these engines have: tokenizers 0.23 (Oniguruma 6.9.10)
 * in patterns, tiktoken 0.14 (Rust's regex crates). A code point has one of them at most. */
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

/* --- scripts ------------------------------------------------------------------------------------------------------ */

/* Scripts of characters, as the pre-tokenizer UnicodeScripts of `tokenizers` has them: Hiragana and Katakana are Han, a
 * space and what its version of Unicode does not have are of any script. */

#define BL_SCRIPT_ANY 0

/* A number of the script (script_table.c). */
extern const uint8_t bl_script_page[0x110000 >> 8];
extern const uint8_t bl_script_number[];

static inline unsigned bl_script(uint32_t c)
{
    return bl_script_number[(uint32_t)bl_script_page[c >> 8] << 8 | (c & 255)];
}

/* --- BERT --------------------------------------------------------------------------------------------------------- */

/* The data of BERT's normalizer and pre-tokenizer (bert_table.c). */

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

/* --- grapheme clusters -------------------------------------------------------------------------------------------- */

/* The data of grapheme clusters (grapheme_table.c). */

/* Values of Grapheme_Cluster_Break. */
enum {
    BL_BREAK_OTHER,
    BL_BREAK_CR,
    BL_BREAK_LF,
    BL_BREAK_CONTROL,
    BL_BREAK_EXTEND,
    BL_BREAK_ZWJ,
    BL_BREAK_REGIONAL,
    BL_BREAK_PREPEND,
    BL_BREAK_SPACING,
    BL_BREAK_L,
    BL_BREAK_V,
    BL_BREAK_T,
    BL_BREAK_LV,
    BL_BREAK_LVT,
    BL_BREAK_MASK = 15,
    BL_PICTOGRAPH = 16, /* Extended_Pictographic */
    BL_CONSONANT = 32,  /* Indic_Conjunct_Break */
    BL_LINKER = 64
};

extern const uint8_t bl_grapheme_page[0x110000 >> 8];
extern const uint8_t bl_grapheme_property[];

static inline unsigned bl_grapheme_class(uint32_t c)
{
    return bl_grapheme_property[(uint32_t)bl_grapheme_page[c >> 8] << 8 | (c & 255)];
}

/* --- normal forms ------------------------------------------------------------------------------------------------- */

/* The data of normal forms (normal_table.c). */

/* Pages of 256 properties. A property is the combining class, and 0x100 << form (enum bl_normal_form) where a code
 * point may change in that form, or change what is around it. Those that a form does not know have no bit for it: their
 * class, parts and pairs are not for it. */
extern const uint8_t bl_normal_page[0x110000 >> 8];
extern const uint16_t bl_normal_property[];

/* What a code point decomposes to, wholly: so many of bl_normal_point. Sorted by code point. Canonical, and compatible
 * where that is another. Hangul is not among them. */
struct bl_normal_parts {
    uint32_t point;
    uint16_t at, count;
};
extern const struct bl_normal_parts bl_normal_canonical[], bl_normal_compatible[];
extern const size_t bl_normal_canonical_count, bl_normal_compatible_count;
extern const uint32_t bl_normal_point[];

/* Sorted by first, then second. */
struct bl_normal_pair {
    uint32_t first, second, composed;
};
extern const struct bl_normal_pair bl_normal_pair[];
extern const size_t bl_normal_pair_count;

/* --- word characters ---------------------------------------------------------------------------------------------- */

/* The characters of words (\w), in word_table.c. */

/* From first to last, sorted. */
struct bl_word_range {
    uint32_t first, last;
};
extern const struct bl_word_range bl_word_range[];
extern const size_t bl_word_ranges;

static inline bool bl_is_word_character(uint32_t point)
{
    size_t low = 0, high = bl_word_ranges;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (bl_word_range[middle].first <= point)
            low = middle;
        else
            high = middle;
    }
    return bl_word_range[low].first <= point && point <= bl_word_range[low].last;
}

/* --- stand-ins ---------------------------------------------------------------------------------------------------- */

/* Code points that Unicode has had since version 15, and older ones of the same properties: category, script, being
 * alphabetic, upper or lower case, ideographic, an emoji (stand_in_table.c). */

struct bl_stand_in {
    uint32_t first, last; /* code points, from U+0800 on */
    uint16_t at, count;   /* in bl_stand_in_point: what can stand for each of them, of as many bytes of UTF-8 */
};

/* In order. For each of the tables a bit for each page of 256 code points: it has some of them. */
extern const struct bl_stand_in bl_stand_in[];
extern const size_t bl_stand_in_count;
extern const uint8_t bl_stand_in_page[0x110000 >> 11];

/* Code points that Unicode 16 lacks, and noncharacters. */
extern const struct bl_stand_in bl_unassigned[];
extern const size_t bl_unassigned_count;
extern const uint8_t bl_unassigned_page[0x110000 >> 11];

extern const uint32_t bl_stand_in_point[];

#endif
