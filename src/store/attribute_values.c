/* The values of attributes: finds the types of columns of sequences.tsv, and reads the columns as numbers.
 *
 * Both go through the table row by row, and read the text of a row from the file, since the table in memory holds no
 * extra columns. Values are kept as 64 bits each, whatever their type is, because that is how shards store them. */
#include "store/attribute_values.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "store/row_reader.h"

/* The bits of the NaN that stands for an empty value, and for every other NaN: so equal inputs make equal bytes. */
#define NAN_BITS INT64_C(0x7ff8000000000000)

enum value_type {
    TEXT,
    EMPTY,
    REAL,
    INTEGER,
    LONG_INTEGER /* with more digits than F64 can represent */
};

struct number {
    int64_t integer; /* valid for INTEGER and LONG_INTEGER */
    double real;     /* valid for REAL, INTEGER and LONG_INTEGER */
};

/* Returns true if the text is [+-]digits[.digits][e[+-]digits], where the digits before or after the point may be
 * missing. *is_integer: the text has no point and no exponent. */
static bool text_is_decimal(const char *text, bool *is_integer)
{
    static const char digits[] = "0123456789";
    text += *text == '+' || *text == '-';
    size_t before = strspn(text, digits), after = 0;
    text += before;
    *is_integer = !*text;
    if (*text == '.') {
        after = strspn(text + 1, digits);
        text += after + 1;
    }
    /* An exponent needs digits, too. */
    if (before + after && (*text == 'e' || *text == 'E')) {
        text++;
        text += *text == '+' || *text == '-';
        before = strspn(text, digits);
        after = 0;
        text += before;
    }
    return before + after && !*text;
}

/* Finds the type of a text and parses its number. An integer beyond I64, and a decimal beyond F64, are TEXT. */
static enum value_type value_parse_number(const char *text, struct number *n)
{
    if (!*text)
        return EMPTY;
    const char *word = text + (*text == '+' || *text == '-');
    bool is_integer = false;
    bool is_word = strcasecmp(word, "nan") == 0 || strcasecmp(word, "inf") == 0 || strcasecmp(word, "infinity") == 0;
    if (!is_word && !text_is_decimal(text, &is_integer))
        return TEXT;
    n->real = strtod(text, NULL); /* the process is in the C locale */
    if (!is_word && isinf(n->real))
        return TEXT;
    if (!is_integer)
        return REAL;
    errno = 0;
    n->integer = strtoll(text, NULL, 10);
    if (errno)
        return TEXT;
    /* The largest integers round to 2^63, which cannot be converted back. */
    return n->real < 0x1p63 && (int64_t)n->real == n->integer ? INTEGER : LONG_INTEGER;
}

/* --- columns ------------------------------------------------------------------------------------------------------ */

/* The state of reading the wanted columns, row by row. Several files may make up the table, each with its own columns.
 */
struct walk {
    const struct bl_sequences *table;
    const char *const *name; /* [count] the wanted columns */
    int count;
    const char *columns;       /* names of the extra columns of the current file; NULL before the first row */
    int place[BL_COLUMNS_MAX]; /* [count] index of each wanted column among them */
    struct bl_row_reader text;
    const char *value[BL_COLUMNS_MAX]; /* of the extra columns, up to the next tab */
    struct bl_buffer one;              /* the value that was parsed last, NUL-terminated */
};

/* Reads a row, and finds the values of its extra columns. BL_EUSAGE: its file lacks a wanted column. */
static int walk_read_row(struct walk *w, size_t row, struct bl_error *e)
{
    BL_TRY(bl_row_reader_read(w->table, row, &w->text, e));
    for (int i = 0; w->text.row.columns != w->columns && i < w->count; i++) {
        w->place[i] = bl_columns_find(w->text.row.columns, w->name[i]) - 1; /* a tab precedes the first */
        if (w->place[i] < 0)
            return bl_error_set(e, BL_EUSAGE, "the table has no column \"%s\"", w->name[i]);
    }
    w->columns = w->text.row.columns;
    const char *tab = w->text.row.extra;
    for (int c = 0; tab && (tab = strchr(tab, '\t')); c++)
        w->value[c] = ++tab;
    return BL_OK;
}

/* Parses the value of wanted column i. Escapes need not be decoded, since numbers have none. */
static int walk_parse_value(struct walk *w, int i, enum value_type *type, struct number *n, struct bl_error *e)
{
    const char *text = w->value[w->place[i]];
    bl_buffer_clear(&w->one);
    bl_buffer_append(&w->one, text, strcspn(text, "\t"));
    BL_TRY(bl_buffer_check(&w->one, e));
    *type = value_parse_number(w->one.data, n);
    return BL_OK;
}

/* The types of the values of a column so far. */
struct seen {
    bool text, real, integer;
    size_t long_integer; /* first row with one, or SIZE_MAX */
};

/* A column is I64 if each row has an integer, since I64 has no value for a missing number. Otherwise the column is F64,
 * if F64 represents each of its integers. After a column's first text nothing changes its type: its values are skipped.
 */
int bl_column_type_detect(const struct bl_sequences *table, const char *const *name, int count,
                          struct bl_column_type *type, struct bl_error *e)
{
    struct walk w = {.table = table, .name = name, .count = count};
    struct seen *seen = calloc((size_t)count + 1, sizeof *seen);
    struct number number;
    int code = seen ? BL_OK : bl_error_memory(e);
    for (int c = 0; c < count && seen; c++) {
        type[c] = (struct bl_column_type){.row = SIZE_MAX};
        seen[c].long_integer = SIZE_MAX;
    }
    for (size_t row = 0; row < table->count && !code; row++) {
        if (!table->length[row])
            continue;
        code = walk_read_row(&w, row, e);
        for (int c = 0; c < count && !code; c++) {
            enum value_type value = TEXT;
            if (seen[c].text)
                continue;
            code = walk_parse_value(&w, c, &value, &number, e);
            type[c].empty += value == EMPTY;
            type[c].row = value == TEXT ? row : SIZE_MAX;
            seen[c].text = value == TEXT;
            seen[c].real |= value == REAL;
            seen[c].integer |= value == INTEGER || value == LONG_INTEGER;
            if (value == LONG_INTEGER && seen[c].long_integer == SIZE_MAX)
                seen[c].long_integer = row;
        }
    }
    for (int c = 0; c < count && !code; c++) {
        const struct seen *s = &seen[c];
        bool is_integer = s->integer && !s->real && !type[c].empty;
        type[c].dtype = is_integer ? BL_I64 : BL_F64;
        type[c].numeric = !s->text && (s->integer || s->real) && (is_integer || s->long_integer == SIZE_MAX);
        if (!s->text)
            type[c].row = s->long_integer;
    }
    bl_row_reader_free(&w.text);
    bl_buffer_free(&w.one);
    free(seen);
    return code;
}

/* --- values ------------------------------------------------------------------------------------------------------- */

int bl_attribute_values_read(struct bl_attribute_values *values, const struct bl_sequences *table,
                             const struct bl_format *format, struct bl_error *e)
{
    *values = (struct bl_attribute_values){.count = format->attributes};
    if (!format->attributes)
        return BL_OK;
    const char *name[BL_ATTRIBUTES_MAX];
    struct walk w = {.table = table, .name = name, .count = format->attributes};
    for (int a = 0; a < format->attributes; a++)
        name[a] = format->attribute[a].name;
    values->value = calloc(table->count + 1, (size_t)format->attributes * sizeof *values->value);
    int code = values->value ? BL_OK : bl_error_memory(e);
    for (size_t row = 0; row < table->count && !code; row++) {
        /* Rows without steps have no attributes in shards. */
        if (!table->length[row])
            continue;
        int64_t *value = values->value + row * (size_t)format->attributes;
        code = walk_read_row(&w, row, e);
        for (int a = 0; a < format->attributes && !code; a++, value++) {
            struct number n;
            enum value_type type = TEXT;
            bool is_integer = format->attribute[a].dtype == BL_I64;
            code = walk_parse_value(&w, a, &type, &n, e);
            if (is_integer && (type == INTEGER || type == LONG_INTEGER))
                *value = n.integer;
            else if (!is_integer && (type == INTEGER || type == REAL) && !isnan(n.real))
                memcpy(value, &n.real, sizeof n.real);
            else if (!is_integer && (type == EMPTY || type == REAL))
                *value = NAN_BITS;
            else if (!code)
                code = bl_error_set(e, BL_EDATA, "row %zu (%s): \"%s\" in column \"%s\" is not %s", row, w.text.row.id,
                                    w.one.data, name[a], bl_dtype_name(format->attribute[a].dtype));
        }
    }
    bl_row_reader_free(&w.text);
    bl_buffer_free(&w.one);
    if (code)
        bl_attribute_values_free(values);
    return code;
}

void bl_attribute_values_free(struct bl_attribute_values *values)
{
    free(values->value);
    *values = (struct bl_attribute_values){0};
}

int64_t bl_attribute_values_memory(const struct bl_format *format, size_t rows)
{
    return (int64_t)rows * format->attributes * (int64_t)sizeof(int64_t);
}
