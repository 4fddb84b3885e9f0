/* Columns that text takes on a terminal, and in pictures, where no text is measured. */
#ifndef BL_TEXT_COLUMNS_H
#define BL_TEXT_COLUMNS_H

#include <stdint.h>

#include "base/buffer.h"

/* Of a character: those of some scripts take two; Latin and Greek letters with marks, and punctuation, do not. */
static inline int bl_columns_of_point(uint32_t point)
{
    return point >= 0x1100 && (point < 0x1e00 || point > 0x206f) ? 2 : 1;
}

/* Of a text, at most; a byte that is not UTF-8 takes one. */
int bl_columns_of(const char *text);

/* Appends the text, masked; of one that has more columns its end, which tells more of a path, after a mark for what is
 * missing. Together they have at most so many columns, if the mark has no more. */
void bl_columns_append_end(struct bl_buffer *out, const char *text, const char *mark, int columns);

#endif
