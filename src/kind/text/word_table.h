/* The characters of words, by what scripts/unicode.py found (word_table.c). */
#ifndef BL_WORD_TABLE_H
#define BL_WORD_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* From first to last, sorted. */
struct bl_word_range {
    uint32_t first, last;
};
extern const struct bl_word_range bl_word_range[];
extern const size_t bl_word_ranges;

#endif
