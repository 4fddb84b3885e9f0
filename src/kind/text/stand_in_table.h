/* Code points that Unicode has had since version 15, and older ones of the same properties: category, script, being
 * alphabetic, upper or lower case, ideographic, an emoji. scripts/unicode.py makes the table. */
#ifndef BL_STAND_IN_TABLE_H
#define BL_STAND_IN_TABLE_H

#include <stddef.h>
#include <stdint.h>

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
