/* Decodes the ids of a piece to text, and breaks text into lines.
 *
 * Bytes are collected until the piece ends, since a character may come from two tokens. Then they become UTF-8, in runs
 * that are shaded or not. */
#include "show/passages.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/text.h"

/* --- passages ----------------------------------------------------------------------------------------------------- */

/* Returns 0, or why appending to the buffer failed: its limit, the fault of the detokenizer, or memory. BL_EUSAGE:
 * the limit. */
static int passages_check(const struct bl_buffer *buffer, int code, struct bl_error *fault, struct bl_error *e)
{
    char most[32];
    if (buffer->is_over)
        return bl_error_set(e, BL_EUSAGE, "there is more text to show than %s: bload cat writes that of one sequence",
                            bl_text_size(most, (int64_t)buffer->limit));
    return code ? bl_error_set(e, code, "%s", fault->text) : bl_buffer_check(buffer, e);
}

/* Adds the text of an id, or the id itself in decimal if there is no detokenizer. A mark is noted where the shading
 * changes. */
int bl_passages_add(struct bl_passages *p, struct bl_detokenizer *detokenizer, int64_t id, bool is_shaded,
                    struct bl_error *e)
{
    /* Marks alternate: from the first one on text is shaded, from the second one on it is not. */
    if (is_shaded != p->is_shaded) {
        BL_TRY(BL_ARRAY_RESERVE(p->mark, p->marks_capacity, p->marks + 1, e));
        p->mark[p->marks++] = p->bytes.size;
        p->is_shaded = is_shaded;
    }
    p->bytes.limit = BL_PASSAGES_MAX;
    if (detokenizer) {
        struct bl_error fault = {0};
        int code = bl_detokenizer_append(detokenizer, id, &p->bytes, &fault);
        return code ? passages_check(&p->bytes, code, &fault, e) : BL_OK;
    }
    if (p->bytes.size)
        bl_buffer_byte(&p->bytes, ' ');
    bl_buffer_int(&p->bytes, id);
    return passages_check(&p->bytes, BL_OK, NULL, e);
}

/* Ends a piece: its bytes become UTF-8, in runs that are shaded and not shaded in turn. */
int bl_passages_end(struct bl_passages *p, size_t piece, struct bl_error *e)
{
    size_t begin = 0;
    bool is_shaded = false;
    int code = BL_OK;
    for (size_t m = 0; m <= p->marks && !code; m++, is_shaded = !is_shaded) {
        size_t end = m < p->marks ? p->mark[m] : p->bytes.size;
        /* A character whose bytes come from two tokens belongs to the run of the first one. */
        while (end > begin && end < p->bytes.size && (p->bytes.data[end] & 0xc0) == 0x80)
            end++;
        if (end <= begin)
            continue;
        code = BL_ARRAY_RESERVE(p->run, p->capacity, p->runs + 1, e);
        if (code)
            break;
        int64_t replaced = 0;
        const size_t from = p->text.size;
        /* The limit bounds the memory for a sequence of any length. */
        p->text.limit = BL_PASSAGES_MAX;
        if (bl_text_replace_invalid(p->bytes.data + begin, end - begin, &p->text, &replaced)) {
            code = passages_check(&p->text, BL_OK, NULL, e);
            break;
        }
        /* Control characters could change the terminal: all except newlines and tabs are masked. */
        p->text.size = from + bl_utf8_mask(p->text.data + from, p->text.size - from, "\n\t");
        p->run[p->runs++] = (struct bl_passage_run){.piece = piece, .end = p->text.size, .is_shaded = is_shaded};
        begin = end;
    }
    bl_passages_drop(p);
    return code;
}

/* Forgets the bytes of the piece, as when it is damaged. */
void bl_passages_drop(struct bl_passages *p)
{
    bl_buffer_clear(&p->bytes);
    p->marks = 0;
    p->is_shaded = false;
}

void bl_passages_free(struct bl_passages *p)
{
    bl_buffer_free(&p->text);
    bl_buffer_free(&p->bytes);
    free(p->damaged);
    free(p->own);
    free(p->mark);
    free(p->run);
    *p = (struct bl_passages){0};
}

/* --- lines -------------------------------------------------------------------------------------------------------- */

/* A tab is four columns wide at any position, which keeps the lines simple. */
enum { TAB = 4 };

/* Returns the width of a tab in lines of this many columns: a narrow line must fit it. */
static int tab_columns(int columns)
{
    return columns < TAB ? columns : TAB;
}

/* Returns the end of the line of text[at .. end) that begins at `at`: at a newline, at the last space that fits, or
 * within a long word. *next: the beginning of the next line; the newline or space between them is not shown. */
static size_t line_end(const char *text, size_t at, size_t end, int columns, size_t *next)
{
    size_t space = 0; /* behind the last space that fits */
    int used = 0;
    while (at < end) {
        uint32_t point = 0;
        size_t length = bl_utf8_length(text + at, end - at);
        /* A byte that begins no character counts as one column. */
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

/* Passes text[at .. end) run by run, from *run on, which is advanced. Tabs become spaces. */
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

/* Returns the number of runs that belong to earlier pieces, by bisection. */
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

/* Passes the lines of a piece to the callbacks. A piece without text has no lines. */
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
