#include "scan/join.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "store/row_reader.h"
#include "store/sequences.h"

struct joining {
    const char *path;
    struct bl_attributes *attributes; /* or NULL */
    struct bl_exclusion *exclusion;   /* or NULL */
    struct bl_output *out;
    struct bl_sequences table;
    struct bl_row_reader text;
    struct bl_buffer extra, line, reason, value, escaped;
};

/* The next of some values with a tab before each; NULL after the last. */
static const char *values_next(const char **at, size_t *size)
{
    const char *value = *at + 1;
    if (!**at)
        return NULL;
    *size = strcspn(value, "\t");
    *at = value + *size;
    return value;
}

static int join_count(const struct joining *j)
{
    return j->attributes ? bl_attributes_count(j->attributes) : 0;
}

/* Whether the table has the column. Attributes can only have names of extra columns. */
static bool join_has_column(const struct joining *j, int c)
{
    return bl_columns_find(j->table.file[0].columns.extra, bl_attributes_name(j->attributes, c)) > 0;
}

static int join_write_header(struct joining *j, struct bl_error *e)
{
    bl_buffer_printf(&j->line, BL_SEQUENCES_COLUMNS "%s", j->table.file[0].columns.extra);
    for (int c = 0; c < join_count(j); c++) {
        if (!join_has_column(j, c))
            bl_buffer_printf(&j->line, "\t%s", bl_attributes_name(j->attributes, c));
    }
    bl_buffer_byte(&j->line, '\n');
    int code = bl_buffer_check(&j->line, e);
    if (code)
        return code;
    return bl_output_write(j->out, j->line.data, j->line.size, e);
}

/* The row's own value in a column must be the one that is to be joined. */
static int join_compare(struct joining *j, size_t row, int c, const char *value, size_t size, struct bl_error *e)
{
    const char *name = bl_attributes_name(j->attributes, c);
    bl_buffer_clear(&j->value);
    bl_buffer_clear(&j->escaped);
    bool good = bl_row_get_value(&j->text.row, name, &j->value);
    bl_text_escape(&j->escaped, j->value.data ? j->value.data : "", j->value.size);
    int code = bl_buffer_check(&j->value, e);
    if (!code)
        code = bl_buffer_check(&j->escaped, e);
    if (code || (good && j->escaped.size == size && memcmp(j->escaped.data, value, size) == 0))
        return code;
    return bl_error_set(
        e, BL_EUSAGE, "%s: row %zu (%s): column \"%s\" exists and has \"%s\", but the table of attributes has \"%.*s\"",
        j->path, row, j->text.row.id, name, j->escaped.data, (int)size, value);
}

/* Appends the values of columns that the table has not; values NULL: nothing for each. */
static int join_values(struct joining *j, size_t row, const char *values, struct bl_error *e)
{
    int code = BL_OK;
    for (int c = 0; c < join_count(j) && !code; c++) {
        size_t size = 0;
        const char *value = values ? values_next(&values, &size) : "";
        if (!join_has_column(j, c)) {
            bl_buffer_byte(&j->extra, '\t');
            bl_buffer_append(&j->extra, value, size);
        } else if (values) {
            code = join_compare(j, row, c, value, size, e);
        }
    }
    if (code)
        return code;
    return bl_buffer_check(&j->extra, e);
}

static int join_row(struct joining *j, size_t i, bl_scan_fault *fault, void *sink, struct bl_error *e)
{
    struct bl_row *row = &j->text.row;
    const char *values = NULL;
    int code = bl_row_reader_read(&j->table, i, &j->text, e);
    if (code)
        return code;
    if (j->exclusion && bl_exclusion_has_row(j->exclusion, row, &j->value))
        bl_exclusion_apply(row);
    if (j->attributes)
        code = bl_attributes_claim(j->attributes, row->id, &values, NULL, e);
    if (code)
        return code;
    bl_buffer_clear(&j->extra);
    bl_buffer_text(&j->extra, row->extra ? row->extra : "");
    code = join_values(j, i, values, e);
    if (code)
        return code;
    row->extra = j->extra.data;
    enum bl_row_status status = row->status;
    if (!values && j->attributes)
        code = bl_attributes_missing(j->attributes, row, &j->reason, e);
    if (!code && row->status != status)
        code = fault(sink, row, e);
    if (code)
        return code;
    bl_buffer_clear(&j->line);
    bl_row_format(row, &j->line);
    code = bl_buffer_check(&j->line, e);
    if (code)
        return code;
    return bl_output_write(j->out, j->line.data, j->line.size, e);
}

int bl_join_run(const char *path, struct bl_attributes *attributes, struct bl_exclusion *exclusion,
                struct bl_output *out, bl_scan_fault *fault, void *sink, struct bl_error *e)
{
    struct joining j = {.path = path, .attributes = attributes, .exclusion = exclusion, .out = out};
    int code = bl_sequences_open(&j.table, &path, 1, false, e);
    if (code)
        return code;
    code = join_write_header(&j, e);
    for (size_t i = 0; i < j.table.count && !code; i++)
        code = join_row(&j, i, fault, sink, e);
    bl_sequences_close(&j.table);
    bl_row_reader_free(&j.text);
    bl_buffer_free(&j.extra);
    bl_buffer_free(&j.line);
    bl_buffer_free(&j.reason);
    bl_buffer_free(&j.value);
    bl_buffer_free(&j.escaped);
    return code;
}
