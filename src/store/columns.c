/* The columns of sequences.tsv: splitting lines into fields, and finding known columns by their names. */
#include "store/columns.h"

#include <string.h>

#include "base/text.h"

/* By enum bl_column. The first BL_COLUMNS names are those of BL_SEQUENCES_COLUMNS. */
static const char *const column_name[BL_COLUMNS_ALL] = {
    "id",     "length",  "kind",  "path",     "bytes",   "status",     "reason",   "sampling",
    "stream", "content", "start", "duration", "channel", "clip_begin", "clip_end", "clip_seek"};

/* Ends a field at its tab: the next one begins behind it. */
static void columns_cut(char *tab, char **field, int count)
{
    *tab = '\0';
    if (count < BL_COLUMNS_MAX)
        field[count] = tab + 1;
}

/* Examines eight bytes at a time: values are short, so that one search per tab would take longer. A byte of `word` is
 * zero where the line has a tab. In `(word & low) + low` no byte carries into the next one, so that the top bit of a
 * byte of the sum, or of `word` itself, is set exactly if the byte is not zero: `tabs` has one bit for each tab. */
int bl_columns_split(char *line, char **field)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), low = ones * 0x7f;
    size_t size = strlen(line), at = 0;
    int count = 1;
    field[0] = line;
    for (; size - at >= sizeof ones; at += sizeof ones) {
        uint64_t word;
        memcpy(&word, line + at, sizeof word);
        word ^= ones * '\t';
        for (uint64_t tabs = ~(((word & low) + low) | word | low); tabs; tabs &= tabs - 1)
            columns_cut(line + at + __builtin_ctzll(tabs) / 8, field, count++);
    }
    for (; at < size; at++) {
        if (line[at] == '\t')
            columns_cut(line + at, field, count++);
    }
    return count;
}

const char *bl_columns_unescape(const struct bl_columns *columns, char *const *field, enum bl_column column,
                                const char *missing)
{
    int at = columns->place[column];
    /* Few values have escapes, and most columns are not looked at: each is decoded when it is needed. */
    if (at < 0 || !strchr(field[at], '\\'))
        return at < 0 ? missing : field[at];
    int64_t size = bl_text_unescape(field[at], strlen(field[at]));
    if (size < 0)
        return NULL;
    field[at][size] = '\0';
    return field[at];
}

int bl_columns_extra(const struct bl_columns *columns, char *const *field, struct bl_buffer *out, struct bl_error *e)
{
    bl_buffer_clear(out);
    for (int f = 0; f < columns->count; f++) {
        bool is_basic = false;
        for (int c = 0; c < BL_COLUMNS && !is_basic; c++)
            is_basic = columns->place[c] == f;
        if (is_basic)
            continue;
        bl_buffer_byte(out, '\t');
        bl_buffer_text(out, field[f]);
    }
    return bl_buffer_check(out, e);
}

int bl_columns_read(struct bl_columns *columns, char *header, const char *path, struct bl_error *e)
{
    char *field[BL_COLUMNS_MAX];
    struct bl_buffer extra = {0};
    columns->count = bl_columns_split(header, field);
    if (columns->count > BL_COLUMNS_MAX)
        return bl_error_set(e, BL_EFAIL, "%s:1: more than %d columns", path, BL_COLUMNS_MAX);
    for (int c = 0; c < BL_COLUMNS_ALL; c++)
        columns->place[c] = -1;
    for (int f = 0; f < columns->count; f++) {
        int known = bl_columns_parse(field[f]);
        if (known >= 0)
            columns->place[known] = f;
    }
    /* Every other known column has a default value. */
    for (int c = BL_COLUMN_ID; c <= BL_COLUMN_LENGTH; c++) {
        if (columns->place[c] < 0)
            return bl_error_set(
                e, BL_EFAIL,
                "%s:1: no column \"%s\" in the header line: not a table of sequences (a plain list of lengths "
                "is read by --lengths)",
                path, column_name[c]);
    }
    int code = bl_columns_extra(columns, field, &extra, e);
    /* The names of extra columns are collected like their values in a row: with a tab before each. */
    columns->extra = extra.data ? extra.data : strdup("");
    if (!columns->extra)
        return bl_error_memory(e);
    return code;
}

bool bl_columns_are_ordered(const struct bl_columns *columns)
{
    for (int c = 0; c < BL_COLUMNS; c++) {
        if (columns->place[c] != c)
            return false;
    }
    return true;
}

const char *bl_columns_name(enum bl_column column)
{
    return column_name[column];
}

int bl_columns_parse(const char *name)
{
    for (int c = 0; c < BL_COLUMNS_ALL; c++) {
        if (strcmp(column_name[c], name) == 0)
            return c;
    }
    return -1;
}

/* Names are compared as the header line has them: escapes in it are not decoded. */
int bl_columns_find(const char *header, const char *name)
{
    size_t wanted = strlen(name);
    for (int column = 0;; column++) {
        size_t size = strcspn(header, "\t");
        if (size == wanted && memcmp(header, name, size) == 0)
            return column;
        if (!header[size])
            return -1;
        header += size + 1;
    }
}
