/* Reads a table of attributes and joins its columns to the rows of the table of sequences.
 *
 * All values stay in memory, in one text, in the escaped form that the table of sequences has: a row is joined by a
 * copy. With the columns label and speaker, the row "a.wav,dog,Ann" of a CSV becomes "a.wav\0\tdog\tAnn\0". */
#include "scan/attributes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/buffer.h"
#include "base/fs.h"
#include "base/records.h"
#include "base/text.h"
#include "kind/row.h"
#include "store/columns.h"
#include "store/row_reader.h"

/* --- attributes --------------------------------------------------------------------------------------------------- */

/* The limits of the values in memory: 64 MiB, and more for each row and for each byte of the file. A table that
 * exceeds them has values far longer than usual ones, or is a decompression bomb. */
#define KEPT_FREE ((size_t)64 << 20)
#define KEPT_OF_ROW ((size_t)64)
#define KEPT_OF_BYTE ((size_t)100)

#define CLAIMED (UINT64_C(1) << 63) /* the bit of row.line that says that a sequence has the row's values */
/* A row of the table. Workers claim rows in parallel, so the line and the claim share one atomic number. */
struct row {
    size_t offset;          /* in text */
    _Atomic(uint64_t) line; /* and whether it is claimed */
};

/* path: as the user gave it, owned by the caller. file: its last part, for messages. */
struct bl_attributes {
    const char *path, *file;
    char **name; /* of the chosen columns */
    int count;
    /* For example "a.wav\0\tdog\tAnn\0": an id, then one text of two values. */
    struct bl_buffer text; /* of each row its id, then the values as the table of sequences has them, both with a NUL */
    struct row *row;
    size_t rows, capacity;
    struct bl_hash by_id;
};

/* The table while it is read. */
/* The reading of a table: which columns of the file are the id and the chosen columns. */
struct reading {
    struct bl_attributes *a;
    struct bl_csv records;
    size_t id, columns;
    size_t column[BL_ATTRIBUTE_COLUMNS_MAX]; /* place of each chosen one */
};

/* --- the header ------------------------------------------------------------------------------------------------- */

/* Finds the column of this name in the header. BL_EUSAGE: no column or several columns have it. */
static int column_find(const struct reading *r, const char *name, size_t size, size_t *place, struct bl_error *e)
{
    size_t found = SIZE_MAX;
    for (size_t c = 0; c < r->records.values; c++) {
        const char *value = r->records.value[c];
        if (strlen(value) != size || memcmp(value, name, size) != 0)
            continue;
        if (found != SIZE_MAX)
            return bl_error_set(e, BL_EUSAGE, "%s:%" PRId64 ": duplicate column \"%s\"", r->a->path, r->records.line,
                                value);
        found = c;
    }
    *place = found;
    return found != SIZE_MAX ? BL_OK
                             : bl_error_set(e, BL_EUSAGE, "%s:%" PRId64 ": no column \"%.*s\"", r->a->path,
                                            r->records.line, (int)size, name);
}

/* Finds the column of ids: the one that --attributes-id names, otherwise "id", otherwise the first column. */
static int column_find_id(struct reading *r, const char *wanted, struct bl_error *e)
{
    r->id = 0;
    for (size_t c = 0; c < r->records.values && !wanted; c++)
        wanted = strcmp(r->records.value[c], "id") == 0 ? "id" : NULL;
    return wanted ? column_find(r, wanted, strlen(wanted), &r->id, e) : BL_OK;
}
/* Checks a name that becomes a column of sequences.tsv and a tensor. path, line: the place for the message; advice:
 * what the user can do. BL_EUSAGE: the name has bytes that need escapes, is too long, or is reserved. */
int bl_attributes_check_name(const char *name, const char *path, int64_t line, const char *advice, struct bl_error *e)
{
    /* A backslash, a control character or DEL would need an escape in the header. */
    size_t size = strlen(name), plain = strcspn(name, "\\\x7f");
    for (size_t i = 0; i < plain; i++) {
        if ((unsigned char)name[i] < ' ')
            plain = i;
    }
    if (!size || size >= BL_FIELD_NAME_MAX || plain < size)
        return bl_error_set(e, BL_EUSAGE,
                            "%s:%" PRId64 ": a column's name is 1 to %d bytes without backslash or control characters, "
                            "not \"%s\": %s",
                            path, line, BL_FIELD_NAME_MAX - 1, name, advice);
    if (bl_columns_parse(name) >= 0)
        return bl_error_set(e, BL_EUSAGE, "%s:%" PRId64 ": \"%s\" is reserved in the table of sequences: %s", path,
                            line, name, advice);
    return BL_OK;
}

/* Adds a column with a copy of the name. The caller has checked that there is room. */
static int attributes_keep_name(struct bl_attributes *a, const char *name, struct bl_error *e)
{
    char *copy = strdup(name);
    if (!copy)
        return bl_error_memory(e);
    a->name[a->count++] = copy;
    return BL_OK;
}

/* Adds a column of the file to the chosen ones. BL_EUSAGE: it is the column of ids, there are too many, or its name
 * is invalid. */
static int column_add(struct reading *r, size_t column, struct bl_error *e)
{
    /* The id is the key of the join, not a value. */
    struct bl_attributes *a = r->a;
    if (column == r->id)
        return bl_error_set(e, BL_EUSAGE, "%s:%" PRId64 ": \"%s\" is the column of ids", a->path, r->records.line,
                            r->records.value[column]);
    if (a->count == BL_ATTRIBUTE_COLUMNS_MAX)
        return bl_error_set(e, BL_EUSAGE, "%s:%" PRId64 ": more than %d columns: choose some with --attributes-columns",
                            a->path, r->records.line, BL_ATTRIBUTE_COLUMNS_MAX);
    BL_TRY(bl_attributes_check_name(r->records.value[column], a->path, r->records.line,
                                    "rename the column, or leave it out with --attributes-columns", e));
    r->column[a->count] = column;
    return attributes_keep_name(a, r->records.value[column], e);
}

/* Adds the columns of --attributes-columns, "A,B", in the order of the list, which is their order in the table of
 * sequences. */
static int column_add_listed(struct reading *r, const char *list, struct bl_error *e)
{
    for (const char *at = list; at;) {
        size_t size = strcspn(at, ","), column;
        BL_TRY(column_find(r, at, size, &column, e));
        for (int c = 0; c < r->a->count; c++) {
            if (r->column[c] == column)
                return bl_error_set(e, BL_EUSAGE, "--attributes-columns: \"%.*s\" is listed twice", (int)size, at);
        }
        BL_TRY(column_add(r, column, e));
        at = at[size] ? at + size + 1 : NULL;
    }
    return BL_OK;
}

/* Reads the header and chooses the columns. BL_EFAIL: the file is empty. BL_EUSAGE: no column can be chosen. */
static int table_read_header(struct reading *r, const struct bl_attributes_source *source, struct bl_error *e)
{
    bool found;
    BL_TRY(bl_csv_next(&r->records, &found, e));
    if (!found)
        return bl_error_set(e, BL_EFAIL, "%s is empty: its first line must name the columns", source->path);
    r->columns = r->records.values;
    BL_TRY(column_find_id(r, source->id, e));
    if (source->columns)
        BL_TRY(column_add_listed(r, source->columns, e));
    for (size_t c = 0; c < r->records.values && !source->columns; c++) {
        const char *name = r->records.value[c];
        size_t column; /* the call refuses a name that occurs twice, that of the ids, too */
        BL_TRY(column_find(r, name, strlen(name), &column, e));
        if (c != r->id)
            BL_TRY(column_add(r, c, e));
    }
    if (!r->a->count)
        return bl_error_set(e, BL_EUSAGE,
                            "%s:%" PRId64 ": no column except \"%s\", the column of ids: separate columns by commas, "
                            "or by tabs in a file whose name ends in .tsv",
                            source->path, r->records.line, r->records.value[r->id]);
    return BL_OK;
}

/* --- rows ------------------------------------------------------------------------------------------------------- */

/* Returns the line of the row in its file, from 1. */
static int64_t row_line(const struct row *row)
{
    return (int64_t)(atomic_load_explicit(&row->line, memory_order_relaxed) & ~CLAIMED);
}

/* Returns the row with this id, or NULL. */
static struct row *row_find(const struct bl_attributes *a, const char *id, size_t size)
{
    uint64_t hash = XXH3_64bits(id, size);
    size_t number;
    for (struct bl_hash_probe probe = bl_hash_begin(&a->by_id, hash); bl_hash_next(&a->by_id, &probe, &number);) {
        /* The comparison includes the NUL, so that "a" does not find "ab". */
        const char *there = a->text.data + a->row[number].offset;
        if (strncmp(there, id, size) == 0 && !there[size])
            return &a->row[number];
    }
    return NULL;
}

/* Adds a row with its id; the caller appends the values. The hash has the number of the row, since the text may
 * move. */
static int attributes_begin_row(struct bl_attributes *a, const char *id, int64_t line, struct bl_error *e)
{
    BL_TRY(BL_ARRAY_RESERVE(a->row, a->capacity, a->rows + 1, e));
    BL_TRY(bl_hash_add(&a->by_id, XXH3_64bits(id, strlen(id)), a->rows, e));
    struct row *row = &a->row[a->rows++];
    row->offset = a->text.size;
    atomic_init(&row->line, (uint64_t)line);
    bl_buffer_append(&a->text, id, strlen(id) + 1);
    return bl_buffer_check(&a->text, e);
}

/* Adds the record that was read last. BL_EFAIL: it has a wrong number of values, or an id that is empty or known. */
static int table_add_row(struct reading *r, struct bl_error *e)
{
    struct bl_attributes *a = r->a;
    char values[BL_PLURAL_SIZE], columns[BL_PLURAL_SIZE];
    char *const *value = r->records.value;
    /* A record with too few values may not have the column of ids. */
    const char *id = value[r->records.values == r->columns ? r->id : 0];
    if (r->records.values != r->columns)
        return bl_error_set(e, BL_EFAIL, "%s:%" PRId64 ": %s where the header has %s", a->path, r->records.line,
                            bl_text_plural(values, (int64_t)r->records.values, "value"),
                            bl_text_plural(columns, (int64_t)r->columns, "column"));
    if (!*id)
        return bl_error_set(e, BL_EFAIL, "%s:%" PRId64 ": an empty id", a->path, r->records.line);
    /* Lines of the file are named, as rows may have newlines in quotes. */
    const struct row *same = row_find(a, id, strlen(id));
    if (same)
        return bl_error_set(e, BL_EFAIL, "%s:%" PRId64 ": duplicate id \"%s\", first on line %" PRId64, a->path,
                            r->records.line, id, row_line(same));
    BL_TRY(attributes_begin_row(a, id, r->records.line, e));
    for (int c = 0; c < a->count; c++) {
        bl_buffer_byte(&a->text, '\t');
        bl_text_escape(&a->text, value[r->column[c]], strlen(value[r->column[c]]));
    }
    bl_buffer_byte(&a->text, '\0');
    BL_TRY(bl_buffer_check(&a->text, e));
    /* A compressed file of some KiB can hold GiB: the limit keeps the memory in proportion to the file. */
    size_t usual = KEPT_FREE + KEPT_OF_ROW * a->rows + KEPT_OF_BYTE * (size_t)bl_csv_file_bytes(&r->records);
    if (a->text.size <= usual)
        return BL_OK;
    return bl_error_set(e, BL_EFAIL,
                        "%s:%" PRId64 ": %zu MiB of values in the first %" PRId64
                        " KiB of the file: more than a table can hold (choose columns with --attributes-columns, or "
                        "decompress the file)",
                        a->path, r->records.line, a->text.size >> 20, bl_csv_file_bytes(&r->records) >> 10);
}

/* Reads the header and all rows. A damaged file is fatal (BL_EFAIL), unlike a damaged input, since every row depends
 * on it. */
static int table_read(struct reading *r, const struct bl_attributes_source *source, const struct bl_cancel *cancel,
                      struct bl_error *e)
{
    struct bl_error why = {0};
    int code = bl_csv_open(&r->records, source->path, cancel, &why);
    bool found = true;
    if (code)
        goto out;
    code = table_read_header(r, source, &why);
    if (code)
        goto out;
    /* The loop ends after the last record or the first error. */
    while (!code && found) {
        code = bl_csv_next(&r->records, &found, &why);
        if (!code && found)
            code = table_add_row(r, &why);
    }
out:
    if (code == BL_ECANCEL)
        return code;
    if (code == BL_EDATA)
        return bl_error_set(e, BL_EFAIL, "%s: %s", source->path, why.text);
    return bl_error_pass(e, code, &why);
}

/* Makes an empty table. path must live as long as the table. */
int bl_attributes_make(struct bl_attributes **attributes, const char *path, struct bl_error *e)
{
    struct bl_attributes *a = calloc(1, sizeof *a);
    if (!a)
        return bl_error_memory(e);
    a->path = path;
    a->file = bl_path_name(path);
    a->name = calloc(BL_ATTRIBUTE_COLUMNS_MAX, sizeof *a->name);
    if (!a->name) {
        bl_attributes_close(a);
        return bl_error_memory(e);
    }
    *attributes = a;
    return BL_OK;
}

/* Reads the whole table into memory. *attributes is set on success, and the caller closes it. */
int bl_attributes_open(struct bl_attributes **attributes, const struct bl_attributes_source *source,
                       const struct bl_cancel *cancel, struct bl_error *e)
{
    struct bl_attributes *a = NULL;
    BL_TRY(bl_attributes_make(&a, source->path, e));
    struct reading r = {.a = a};
    int code = table_read(&r, source, cancel, e);
    bl_csv_close(&r.records);
    if (code)
        bl_attributes_close(a);
    else
        *attributes = a;
    return code;
}

void bl_attributes_close(struct bl_attributes *a)
{
    if (!a)
        return;
    for (int c = 0; c < a->count; c++)
        free(a->name[c]);
    free(a->name);
    free(a->row);
    bl_hash_free(&a->by_id);
    bl_buffer_free(&a->text);
    free(a);
}

/* --- tables without a file ---------------------------------------------------------------------------------------- */

/* Returns the number of the column, or -1. */
int bl_attributes_find(const struct bl_attributes *a, const char *name)
{
    int column = a->count - 1;
    while (column >= 0 && strcmp(a->name[column], name) != 0)
        column--;
    return column;
}

/* Rows that were added before have no value in the new column: the caller fills them up. */
int bl_attributes_add_column(struct bl_attributes *a, const char *name, int *column, struct bl_error *e)
{
    if (a->count == BL_ATTRIBUTE_COLUMNS_MAX)
        return bl_error_set(e, BL_EUSAGE, "%s: more than %d columns: choose some with --attributes-columns", a->path,
                            BL_ATTRIBUTE_COLUMNS_MAX);
    *column = a->count;
    return attributes_keep_name(a, name, e);
}

/* values: the escaped values, each after a tab, as they stand in the table of sequences. The caller checks ids. */
int bl_attributes_add_row(struct bl_attributes *a, const char *id, const char *values, struct bl_error *e)
{
    BL_TRY(attributes_begin_row(a, id, (int64_t)a->rows + 1, e));
    bl_buffer_append(&a->text, values, strlen(values) + 1);
    return bl_buffer_check(&a->text, e);
}

/* The digest covers ids, values and names, so that a resumed run with another table is refused. */
uint64_t bl_attributes_digest(const struct bl_attributes *a)
{
    uint64_t digest = XXH3_64bits(a->text.data, a->text.size);
    for (int c = 0; c < a->count; c++)
        digest = XXH3_64bits_withSeed(a->name[c], strlen(a->name[c]), digest);
    return digest;
}

/* --- joining ---------------------------------------------------------------------------------------------------- */

int bl_attributes_count(const struct bl_attributes *a)
{
    return a->count;
}

const char *bl_attributes_name(const struct bl_attributes *a, int column)
{
    return a->name[column];
}

void bl_attributes_columns(const struct bl_attributes *a, struct bl_buffer *out)
{
    for (int c = 0; c < a->count; c++) {
        bl_buffer_byte(out, '\t');
        bl_buffer_text(out, a->name[c]); /* needs no escapes: see bl_attributes_check_name */
    }
}

const char *bl_attributes_path(const struct bl_attributes *a)
{
    return a->path;
}

/* *last: the last line of the file with a row, which bounds the lines that a part of a scan claims. */
int64_t bl_attributes_rows(const struct bl_attributes *a, int64_t *last)
{
    *last = a->rows ? row_line(&a->row[a->rows - 1]) : 0;
    return (int64_t)a->rows;
}

/* Finds the row of an id by four names, the most exact first: "v/a.mp4", "v/a", "a.mp4", "a". BL_EFAIL: another
 * sequence has claimed the row, so that the names are ambiguous. *values: NULL if there is no row. line: may be
 * NULL. */
int bl_attributes_claim(struct bl_attributes *a, const char *id, const char **values, int64_t *line, struct bl_error *e)
{
    /* The stem is the id without its extension; `last` is its part behind the last slash. */
    const char *last = bl_path_name(id), *end = id + strlen(id), *stem = id + bl_path_stem(id);
    const struct {
        const char *begin, *end;
    } names[] = {{id, end}, {id, stem}, {last, end}, {last, stem}};
    struct row *row = NULL;
    for (size_t n = 0; n < sizeof names / sizeof *names && !row; n++)
        row = row_find(a, names[n].begin, (size_t)(names[n].end - names[n].begin));
    *values = NULL;
    if (!row)
        return BL_OK;
    const char *text = a->text.data + row->offset;
    /* The operation is atomic: of two workers that claim a row at once, one gets the error. */
    if (atomic_fetch_or_explicit(&row->line, CLAIMED, memory_order_relaxed) & CLAIMED)
        return bl_error_set(e, BL_EFAIL,
                            "%s:%" PRId64 ": two sequences match the id \"%s\", one of them %s: use full ids", a->path,
                            row_line(row), text, id);
    *values = text + strlen(text) + 1;
    if (line)
        *line = row_line(row);
    return BL_OK;
}

/* Turns an ok row without attributes into a skipped row, whose reason lies in text. */
int bl_attributes_missing(const struct bl_attributes *a, struct bl_row *row, struct bl_buffer *text, struct bl_error *e)
{
    if (row->status != BL_ROW_OK)
        return BL_OK;
    bl_buffer_clear(text);
    bl_buffer_printf(text, "%s has no row for it", a->file);
    row->status = BL_ROW_SKIPPED;
    row->length = 0;
    row->form = NULL;
    row->reason = text->data;
    return bl_buffer_check(text, e);
}

/* Returns how many rows no sequence has claimed, and the first of them. */
int64_t bl_attributes_unused(const struct bl_attributes *a, const char **id, int64_t *line)
{
    int64_t unused = 0;
    for (size_t i = 0; i < a->rows; i++) {
        /* The first unused row in the order of the file is the example. */
        if (atomic_load_explicit(&a->row[i].line, memory_order_relaxed) & CLAIMED || unused++)
            continue;
        *id = a->text.data + a->row[i].offset;
        *line = row_line(&a->row[i]);
    }
    return unused;
}

/* --- join of a table ---------------------------------------------------------------------------------------------- */

/* The join of a table of sequences with attributes and excluded ids; the buffers are used again for each row. */
struct joining {
    const char *path;
    struct bl_attributes *attributes; /* or NULL */
    struct bl_exclusion *exclusion;   /* or NULL */
    struct bl_output *out;
    struct bl_sequences table;
    struct bl_row_reader text;
    struct bl_buffer extra, line, reason, value, escaped;
};

/* Returns the next value of a row and moves *at behind it; NULL: there is none. Each value stands after a tab. */
static const char *values_next(const char **at, size_t *size)
{
    const char *value = *at + 1;
    if (!**at)
        return NULL;
    *size = strcspn(value, "\t");
    *at = value + *size;
    return value;
}

/* Returns the number of columns to join: 0 if rows are only excluded. */
static int join_count(const struct joining *j)
{
    return j->attributes ? bl_attributes_count(j->attributes) : 0;
}

/* Returns whether the table has the column already, as it was joined before. */
static bool join_has_column(const struct joining *j, int c)
{
    return bl_columns_find(j->table.file[0].columns.extra, bl_attributes_name(j->attributes, c)) > 0;
}

/* Checks that the row's value in a column equals the one of the table of attributes. BL_EUSAGE: they differ, so that
 * one of them is outdated. */
static int join_compare(struct joining *j, size_t row, int c, const char *value, size_t size, struct bl_error *e)
{
    const char *name = bl_attributes_name(j->attributes, c);
    bl_buffer_clear(&j->value);
    bl_buffer_clear(&j->escaped);
    /* The values are compared in their escaped form, the one that both tables have. */
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

/* Appends the values of the columns that the table does not have yet, and compares the others. values: NULL appends
 * empty values. */
static int join_values(struct joining *j, size_t row, const char *values, struct bl_error *e)
{
    for (int c = 0; c < join_count(j); c++) {
        size_t size = 0;
        const char *value = values ? values_next(&values, &size) : "";
        if (!join_has_column(j, c)) {
            bl_buffer_byte(&j->extra, '\t');
            bl_buffer_append(&j->extra, value, size);
        } else if (values) {
            BL_TRY(join_compare(j, row, c, value, size, e));
        }
    }
    return bl_buffer_check(&j->extra, e);
}

/* Writes row i with its attributes. A row without attributes becomes a skipped row; `fault` reports it if it was
 * usable. */
static int join_row(struct joining *j, size_t i, bl_scan_fault *fault, void *sink, struct bl_error *e)
{
    struct bl_row *row = &j->text.row;
    const char *values = NULL;
    BL_TRY(bl_row_reader_read(&j->table, i, &j->text, e));
    if (j->exclusion && bl_exclusion_has_row(j->exclusion, row, &j->value))
        bl_exclusion_apply(row);
    if (j->attributes)
        BL_TRY(bl_attributes_claim(j->attributes, row->id, &values, NULL, e));
    bl_buffer_clear(&j->extra);
    bl_buffer_text(&j->extra, row->extra ? row->extra : "");
    BL_TRY(join_values(j, i, values, e));
    row->extra = j->extra.data;
    /* The status before the join tells whether the row was usable. */
    enum bl_row_status status = row->status;
    if (!values && j->attributes)
        BL_TRY(bl_attributes_missing(j->attributes, row, &j->reason, e));
    if (row->status != status)
        BL_TRY(fault(sink, row, e));
    bl_buffer_clear(&j->line);
    bl_row_format(row, &j->line);
    BL_TRY(bl_buffer_check(&j->line, e));
    return bl_output_write(j->out, j->line.data, j->line.size, e);
}

/* Writes the joined table to out. The columns of the table come first, then the new ones. */
int bl_join_run(const char *path, struct bl_attributes *attributes, struct bl_exclusion *exclusion,
                struct bl_output *out, bl_scan_fault *fault, void *sink, struct bl_error *e)
{
    struct joining j = {.path = path, .attributes = attributes, .exclusion = exclusion, .out = out};
    BL_TRY(bl_sequences_open(&j.table, &path, 1, false, e));
    bl_buffer_printf(&j.line, BL_SEQUENCES_COLUMNS "%s", j.table.file[0].columns.extra);
    for (int c = 0; c < join_count(&j); c++) {
        if (!join_has_column(&j, c))
            bl_buffer_printf(&j.line, "\t%s", bl_attributes_name(attributes, c));
    }
    bl_buffer_byte(&j.line, '\n');
    int code = bl_buffer_check(&j.line, e);
    if (!code)
        code = bl_output_write(out, j.line.data, j.line.size, e);
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
