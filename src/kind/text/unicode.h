/* Properties of characters by fixed versions of Unicode, so that ids do not depend on the libraries of a machine.
 * scripts/unicode.py makes the tables (unicode_table.c).
 *
 * A property of a code point is in pages of 256 code points, most of which are equal and stored once: for U+2581, page
 * 0x25 gives the number of the page, and the entry 0x81 of that page is the property. Rarer properties are in sorted
 * rows of code points that follow each other. */
#ifndef BL_UNICODE_H
#define BL_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Code points that follow each other, in a table of rows in their order. */
struct bl_unicode_row {
    uint32_t first, points;
    uint32_t value; /* its meaning depends on the table */
    uint16_t count;
};

/* Returns the row that has a code point, or NULL. */
static inline const struct bl_unicode_row *bl_unicode_find(const struct bl_unicode_row *rows, size_t count,
                                                           uint32_t point)
{
    size_t low = 0;
    while (low < count) {
        size_t middle = low + (count - low) / 2;
        if (point < rows[middle].first)
            count = middle;
        else if (point - rows[middle].first < rows[middle].points)
            return &rows[middle];
        else
            low = middle + 1;
    }
    return NULL;
}

/* --- classes ------------------------------------------------------------------------------------------------------ */

/* Classes of code points by Unicode 16, which these engines have: tokenizers 0.23 (Oniguruma 6.9.10)
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

/* The number of a script: only whether two are equal counts. */
extern const uint8_t bl_script_page[0x110000 >> 8];
extern const uint8_t bl_script_number[];

static inline unsigned bl_script(uint32_t c)
{
    return bl_script_number[(uint32_t)bl_script_page[c >> 8] << 8 | (c & 255)];
}

/* --- BERT, words, grapheme clusters ------------------------------------------------------------------------------- */

enum {
    BL_BERT_REMOVED = 1,     /* by clean_text */
    BL_BERT_PUNCTUATION = 2, /* a word by itself */
    BL_BERT_MARK = 4,        /* removed by strip_accents */
    BL_BERT_UPPER = 8,       /* has a lower case: that of bl_bert_lower, except for U+0130 */
    BL_BERT_COMBINING = 16,  /* removed by the normalizer StripAccents, which is not BERT's */
    BL_WORD = 32             /* \w, beside which an added token is no single word */
};

#define BL_WORD_BITS 6 /* above these bits stands what a code point is in a grapheme cluster */

extern const uint8_t bl_point_page[0x110000 >> 8];
extern const uint16_t bl_point_property[];

static inline unsigned bl_point_properties(uint32_t c)
{
    return bl_point_property[(uint32_t)bl_point_page[c >> 8] << 8 | (c & 255)];
}

/* Returns the BL_BERT bits of a code point and BL_WORD: what BERT's normalizer and pre-tokenizer make of it, and
 * whether it belongs to words. */
static inline unsigned bl_bert_class(uint32_t c)
{
    return bl_point_properties(c) & ((1U << BL_WORD_BITS) - 1);
}

/* Code points with a lower case, and maybe others between them: the value of a row is the lower case of its first code
 * point, and the others have the same distance. */
extern const struct bl_unicode_row bl_bert_lower[];
extern const size_t bl_bert_lower_count;

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

static inline unsigned bl_grapheme_class(uint32_t c)
{
    return bl_point_properties(c) >> BL_WORD_BITS;
}

/* --- normal forms ------------------------------------------------------------------------------------------------- */

/* Pages of 256 properties. A property is the combining class, and 0x100 << form (enum bl_normal_form) where a code
 * point may change in that form, or change the points around it. A point that the Unicode of a form does not have has
 * no bit for that form, which then does not use the class, parts and pairs of the point. */
extern const uint8_t bl_normal_page[0x110000 >> 8];
extern const uint16_t bl_normal_property[];

/* What code points decompose to, wholly: count points of bl_normal_point each, from the value of the row on. Canonical,
 * and compatible where that is another. Hangul is not among them. */
extern const struct bl_unicode_row bl_normal_canonical[], bl_normal_compatible[];
extern const size_t bl_normal_canonical_count, bl_normal_compatible_count;
extern const uint32_t bl_normal_point[];

/* Sorted by first, then second. */
struct bl_normal_pair {
    uint32_t first, second, composed;
};
extern const struct bl_normal_pair bl_normal_pair[];
extern const size_t bl_normal_pair_count;

/* --- stand-ins ---------------------------------------------------------------------------------------------------- */

/* Code points from U+0800 on that Unicode has had since version 15, with their stand-ins: older code points of the same
 * properties (category, script, alphabetic, upper or lower case, ideographic, emoji) and as many bytes of UTF-8. The
 * stand-ins of a row are the count entries of bl_stand_in_point from the value of the row on. */
extern const struct bl_unicode_row bl_stand_in[];
extern const size_t bl_stand_in_count;
extern const uint32_t bl_stand_in_point[];

/* A bit for each page of 256 code points: the page has code points with stand-ins. */
extern const uint8_t bl_stand_in_page[0x110000 >> 11];

/* The code points from U+0800 on that Unicode 16 has without a class here, and noncharacters. The values of rows are
 * not in use. */
extern const struct bl_unicode_row bl_unclassed[];
extern const size_t bl_unclassed_count;

#endif
