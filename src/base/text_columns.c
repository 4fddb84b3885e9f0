#include "base/text_columns.h"

#include <string.h>

#include "base/text.h"
#include "base/utf8.h"

/* Sets the columns of the first character, and returns its bytes. */
static size_t character_measure(const char *text, size_t size, int *columns)
{
    uint32_t point = 0;
    size_t length = bl_utf8_length(text, size);
    if (length)
        bl_utf8_decode(text, &point);
    *columns = bl_columns_of_point(point);
    return length ? length : 1;
}

int bl_columns_of(const char *text)
{
    int columns = 0, next;
    size_t size = strlen(text);
    for (size_t at = 0; at < size; columns += next)
        at += character_measure(text + at, size - at, &next);
    return columns;
}

void bl_columns_append_end(struct bl_buffer *out, const char *text, const char *mark, int columns)
{
    int all = bl_columns_of(text), next;
    if (all > columns) {
        bl_buffer_text(out, mark);
        columns -= bl_columns_of(mark);
    }
    for (; all > columns && *text; all -= next)
        text += character_measure(text, strlen(text), &next);
    bl_text_append_masked(out, text);
}
