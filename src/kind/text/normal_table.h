/* The data of normal forms (normal_table.c), made by scripts/unicode.py. */
#ifndef BL_NORMAL_TABLE_H
#define BL_NORMAL_TABLE_H

#include <stddef.h>
#include <stdint.h>

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

#endif
