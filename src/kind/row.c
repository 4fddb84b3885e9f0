#include "kind/row.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* --- row ---------------------------------------------------------------------------------------------------------- */

const char *bl_row_status_name(enum bl_row_status status)
{
    static const char *const name[] = {"ok", "skipped", "dropped", "failed"};
    return name[status];
}

int bl_row_status_parse(const char *name)
{
    for (int s = BL_ROW_OK; s <= BL_ROW_FAILED; s++) {
        if (strcmp(name, bl_row_status_name((enum bl_row_status)s)) == 0)
            return s;
    }
    return -1;
}

bool bl_row_is_empty(const struct bl_row *row)
{
    return row->status == BL_ROW_SKIPPED && strcmp(row->reason, BL_REASON_EMPTY) == 0;
}

bool bl_row_is_held(const struct bl_row *row)
{
    return row->status == BL_ROW_DROPPED && strcmp(row->reason, BL_REASON_HELD) == 0;
}

bool bl_row_is_damaged(const struct bl_row *row)
{
    static const char damaged[] = "damaged: ";
    return strncmp(row->reason, damaged, sizeof damaged - 1) == 0;
}

void bl_row_append_reason(char *reason, size_t size, const char *format, ...)
{
    size_t used = strlen(reason);
    va_list arguments;
    if (used)
        used += (size_t)snprintf(reason + used, size - used, "; ");
    if (used >= size)
        return;
    va_start(arguments, format);
    vsnprintf(reason + used, size - used, format, arguments);
    va_end(arguments);
}

int64_t bl_row_offset(const struct bl_row *row)
{
    size_t id = strlen(row->id), path = strlen(row->path);
    const char *mark = strrchr(row->id, '#');
    int64_t offset;
    /* A file's name may be "a#1": the id of a file is the end of its path. */
    if (!mark || (id <= path && strcmp(row->path + path - id, row->id) == 0) ||
        !bl_text_to_int(mark + 1, strlen(mark + 1), 0, INT64_MAX, &offset))
        return -1;
    return offset;
}

/* Bytes of a name or value, up to the next tab. */
static size_t column_size(const char *text)
{
    return strcspn(text, "\t");
}

/* Moves both after their next tab; false: one has ended. */
static bool column_next(const char **name, const char **value)
{
    *name = strchr(*name, '\t');
    *value = strchr(*value, '\t');
    if (!*name || !*value)
        return false;
    (*name)++;
    (*value)++;
    return true;
}

bool bl_row_get_value(const struct bl_row *row, const char *wanted, struct bl_buffer *out)
{
    const char *name = row->columns ? row->columns : "", *value = row->extra ? row->extra : "";
    while (column_next(&name, &value)) {
        if (column_size(name) != strlen(wanted) || memcmp(name, wanted, strlen(wanted)) != 0)
            continue;
        size_t before = out->size;
        bl_buffer_append(out, value, column_size(value));
        int64_t size = out->failed || !out->data ? -1 : bl_text_unescape(out->data + before, out->size - before);
        if (size < 0)
            return false;
        out->size = before + (size_t)size;
        out->data[out->size] = '\0';
        return true;
    }
    return false;
}

bool bl_row_has_value(const struct bl_row *row, const char *wanted, const char *value)
{
    const char *name = row->columns ? row->columns : "", *there = row->extra ? row->extra : "";
    while (column_next(&name, &there)) {
        if (column_size(name) == strlen(wanted) && memcmp(name, wanted, strlen(wanted)) == 0)
            return *value ? column_size(there) == strlen(value) && memcmp(there, value, strlen(value)) == 0
                          : column_size(there) > 0;
    }
    return false;
}

int64_t bl_row_get_number(const struct bl_row *row, const char *name)
{
    struct bl_buffer text = {0};
    int64_t number;
    bool found = bl_row_get_value(row, name, &text) && bl_text_to_int(text.data, text.size, 0, INT64_MAX, &number);
    bl_buffer_free(&text);
    return found ? number : 0;
}

/* Whether a column's name is the first size bytes of stem, then end. */
static bool column_is_named(const char *name, const char *stem, size_t size, const char *end)
{
    return column_size(name) == size + strlen(end) && memcmp(name, stem, size) == 0 &&
           memcmp(name + size, end, strlen(end)) == 0;
}

bool bl_row_is_adjusted(const struct bl_row *row)
{
    static const char end[] = ".length";
    const char *name = row->columns ? row->columns : "", *value = row->extra ? row->extra : "";
    const char *before[] = {"", ""};
    while (column_next(&name, &value)) {
        size_t size = column_size(name) < strlen(end) ? 0 : column_size(name) - strlen(end);
        int64_t length;
        if (column_is_named(name, name, size, end) && column_is_named(before[0], name, size, ".path") &&
            column_is_named(before[1], name, size, ".bytes") &&
            bl_text_to_int(value, column_size(value), 0, INT64_MAX, &length) && length != row->length)
            return true;
        before[0] = before[1];
        before[1] = name;
    }
    return false;
}

/* --- left out ----------------------------------------------------------------------------------------------------- */

/* Sequences that are left out by request: their rows are dropped, have no length, and the reason names the option. */

const char *bl_left_out_option(enum bl_left_out by)
{
    static const char *const name[] = {"exclude",  "extend", "where", "min-trained", "dedup",
                                       "dedup-by", "take",   "share", "first"};
    return name[by];
}

void bl_left_out_count(struct bl_left_out_counts *counts, const char *reason)
{
    size_t begin = sizeof BL_LEFT_OUT - 1;
    if (strncmp(reason, BL_LEFT_OUT, begin) != 0)
        return;
    size_t size = strcspn(reason + begin, " :");
    for (int by = 0; by < BL_LEFT_OUT_OPTIONS; by++) {
        const char *name = bl_left_out_option((enum bl_left_out)by);
        counts->by[by] += strlen(name) == size && memcmp(reason + begin, name, size) == 0;
    }
}
