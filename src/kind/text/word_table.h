/* The characters of words (\w), by what scripts/unicode.py found (word_table.c). */
#ifndef BL_WORD_TABLE_H
#define BL_WORD_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
