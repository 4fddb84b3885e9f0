#include "show/text_lines.h"

#include <string.h>

#include "base/text_columns.h"
#include "base/utf8.h"

enum { TAB = 4 };

static int tab_columns(int columns)
{
    return columns < TAB ? columns : TAB;
}

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
        int width = text[at] == '\t' ? tab_columns(columns) : bl_columns_of_point(point);
        if (used + width > columns && text[at] == ' ') { /* the word before it fits */
            *next = at + 1;
            return at;
        }
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

/* Gives text[at .. end) run by run, from *run on, which is advanced; tabs are spaces. */
static void line_put(const struct bl_text_lines *lines, const struct bl_passages *p, size_t *run, size_t at, size_t end)
{
    lines->begin(lines->to);
    while (at < end) {
        while (p->run[*run].end <= at)
            ++*run;
        const bool is_shaded = p->run[*run].is_shaded;
        const size_t stop = p->run[*run].end < end ? p->run[*run].end : end;
        while (at < stop) {
            const char *tab = memchr(p->text.data + at, '\t', stop - at);
            size_t size = tab ? (size_t)(tab - p->text.data) - at : stop - at;
            if (size)
                lines->put(lines->to, p->text.data + at, size, is_shaded);
            if (tab)
                lines->put(lines->to, "    ", (size_t)tab_columns(lines->columns), is_shaded);
            at += size + (tab != NULL);
        }
    }
    lines->end(lines->to);
}

/* How many runs are of pieces before this one. */
static size_t runs_before(const struct bl_passages *p, size_t piece)
{
    size_t low = 0, high = p->runs;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->run[middle].piece < piece)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void bl_text_lines_put(const struct bl_text_lines *lines, const struct bl_passages *p, size_t piece)
{
    size_t run = runs_before(p, piece), after = runs_before(p, piece + 1);
    if (run == after)
        return;
    const size_t end = p->run[after - 1].end;
    for (size_t at = run ? p->run[run - 1].end : 0, next; at < end; at = next) {
        size_t stop = line_end(p->text.data, at, end, lines->columns, &next);
        line_put(lines, p, &run, at, stop);
    }
}
