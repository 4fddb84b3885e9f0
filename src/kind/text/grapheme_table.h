/* The data of grapheme clusters (grapheme_table.c), made by scripts/unicode.py. */
#ifndef BL_GRAPHEME_TABLE_H
#define BL_GRAPHEME_TABLE_H

#include <stdint.h>

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

#endif
