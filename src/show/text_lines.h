/* The text of a piece in lines of so many columns, for outputs that do not break lines themselves. */
#ifndef BL_TEXT_LINES_H
#define BL_TEXT_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "show/passages.h"

struct bl_text_lines {
    void (*begin)(void *to);
    void (*put)(void *to, const char *text, size_t size, bool is_shaded); /* a part of the line */
    void (*end)(void *to);
    void *to;
    int columns; /* at least 2 */
};

/* Gives the lines of a piece: broken where the text has a line end, between words, or within a word that is too long.
 */
void bl_text_lines_put(const struct bl_text_lines *lines, const struct bl_passages *passages, size_t piece);

#endif
