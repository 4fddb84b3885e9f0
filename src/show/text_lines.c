#include "show/text_lines.h"

#include <string.h>

#include "base/text_columns.h"
#include "base/utf8.h"

enum { TAB = 4 };

/* Where a line of text[at .. end) ends: *next begins the following one, what is between is not shown. */
static size_t line_end(const char *text, size_t at, size_t end, int columns, size_t *next)
{
    size_t space = 0; /* behind the last space that fits */
    int used = 0;
    while (at < end) {
        uint32_t point = 0;
        size_t length = bl_utf8_length(text + at, end - at);
        if (length)
            bl_utf8_decode(text + at, &point);
        if (text[at] == '\n') {
            *next = at + 1;
            return at;
        }
        int width = text[at] == '\t' ? TAB : bl_columns_of_point(point);
        if (used + width > columns)
            break;
        used += width;
        at += length ? length : 1;
        if (text[at - 1] == ' ')
            space = at;
    }
    *next = at < end && space ? space : at;
    return *next;
}

/* Gives text[at .. end) run by run; tabs are spaces. */
static void line_put(const struct bl_text_lines *lines, const struct bl_passages *p, size_t at, size_t end)
{
    size_t run = 0;
    lines->begin(lines->to);
    while (run < p->runs && p->run[run].end <= at)
        run++;
    for (; at < end; run++) {
        size_t stop = p->run[run].end < end ? p->run[run].end : end;
        while (at < stop) {
            const char *tab = memchr(p->text.data + at, '\t', stop - at);
            size_t size = tab ? (size_t)(tab - p->text.data) - at : stop - at;
            if (size)
                lines->put(lines->to, p->text.data + at, size, p->run[run].is_shaded);
            if (tab)
                lines->put(lines->to, "    ", TAB, p->run[run].is_shaded);
            at += size + (tab != NULL);
        }
    }
    lines->end(lines->to);
}

void bl_text_lines_put(const struct bl_text_lines *lines, const struct bl_passages *p, size_t piece)
{
    size_t first = 0, end = 0;
    for (size_t r = 0; r < p->runs && p->run[r].piece <= piece; r++) {
        if (p->run[r].piece < piece)
            first = p->run[r].end;
        end = p->run[r].end;
    }
    for (size_t at = first, next; at < end; at = next) {
        size_t stop = line_end(p->text.data, at, end, lines->columns, &next);
        line_put(lines, p, at, stop);
    }
}
