/* Counts own fields: completes the rows of the sources' kind by what their own files, or their columns, hold.
 *
 * Example: the row of a.wav with the attribute text "Hello" gets the column text.length 5 where the tokenizer is that
 * of bytes. The first field that a row lacks makes it a skipped one; the values after it are empty. */
#include "kind/own/own.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "kind/array/array.h"
#include "kind/composite/composite_kind.h"
#include "kind/own/own_list.h"
#include "kind/own/own_text.h"

/* --- columns ------------------------------------------------------------------------------------------------------ */

bool bl_own_uses_column(const struct bl_own *own, const char *column)
{
    for (int f = 0; own && f < own->fields; f++) {
        if (own->field[f].column && strcmp(own->field[f].column, column) == 0)
            return true;
    }
    return false;
}

void bl_own_columns(const void *config, struct bl_buffer *out)
{
    const struct bl_own *own = config;
    for (int f = 0; f < own->fields; f++) {
        if (own->field[f].path)
            bl_companion_append_columns(bl_own_part(own, f), out);
        else
            bl_buffer_printf(out, "\t%s.length", own->field[f].name);
        if (own->field[f].has_files)
            bl_buffer_printf(out, "\t%s.files", own->field[f].name);
    }
}

/* Returns whether the list of names, a tab before each, has this one. */
static bool columns_have(const char *columns, const char *name)
{
    size_t size = strlen(name);
    for (const char *tab = columns; tab && (tab = strchr(tab, '\t')); tab++) {
        if (strcspn(tab + 1, "\t\n") == size && memcmp(tab + 1, name, size) == 0)
            return true;
    }
    return false;
}

/* Reports that a field's column is missing. The message has the columns that there are. */
static int columns_refuse(const struct bl_own_field *field, const char *columns, struct bl_error *e)
{
    struct bl_buffer names = {0};
    for (const char *tab = columns; tab && (tab = strchr(tab, '\t')); tab++)
        bl_buffer_printf(&names, "%s%.*s", names.size ? ", " : "", (int)strcspn(tab + 1, "\t\n"), tab + 1);
    int code = bl_buffer_check(&names, e);
    if (!code)
        code = bl_error_set(e, BL_EUSAGE, "field %s: there is no column \"%s\"; the columns are: %s", field->name,
                            field->column, names.size ? names.data : "none");
    bl_buffer_free(&names);
    return code;
}

int bl_own_check_columns(const struct bl_own *own, const char *columns, bool scanned, struct bl_error *e)
{
    for (int f = 0; f < own->fields; f++) {
        const struct bl_own_field *field = &own->field[f];
        char name[BL_FIELD_NAME_MAX + 8];
        snprintf(name, sizeof name, "%s.length", field->name);
        if (columns_have(columns, name) != scanned)
            return bl_error_set(e, BL_EUSAGE,
                                scanned ? "the table has no column %s: scan with the same fields"
                                        : "the column %s is that of the field's steps: rename the other one",
                                name);
        if (field->column && !columns_have(columns, field->column))
            return columns_refuse(field, columns, e);
    }
    return BL_OK;
}

int bl_own_row_length(const struct bl_own *own, int f, const struct bl_row *row, int64_t *length, struct bl_error *e)
{
    struct bl_buffer name = {0}, value = {0};
    bl_buffer_printf(&name, "%s.length", own->field[f].name);
    int code = bl_buffer_check(&name, e);
    if (!code &&
        !(bl_row_get_value(row, name.data, &value) && bl_text_to_int(value.data, value.size, 0, INT32_MAX, length)))
        code = bl_error_set(e, BL_EUSAGE, "the table has no valid column %s: scan with the same fields", name.data);
    bl_buffer_free(&name);
    bl_buffer_free(&value);
    return code;
}

int bl_own_row_value(const struct bl_own *own, int f, const struct bl_row *row, struct bl_buffer *value,
                     struct bl_error *e)
{
    bl_buffer_clear(value);
    bl_buffer_text(value, "");
    BL_TRY(bl_buffer_check(value, e));
    (void)bl_row_get_value(row, own->field[f].column, value);
    return bl_buffer_check(value, e);
}

/* --- counters ----------------------------------------------------------------------------------------------------- */

struct own_counter {
    struct bl_counter base;
    struct bl_counter *inner;                /* of the sources' kind, or NULL */
    struct bl_counter *field[BL_FIELDS_MAX]; /* of each field's, or NULL */
    int fields;
    struct bl_buffer value;
    struct bl_own_files files; /* that a value names */
    struct bl_own_found found;
};

static void own_counter_close(struct bl_counter *counter)
{
    struct own_counter *c = (struct own_counter *)counter;
    if (c->inner)
        c->inner->close(c->inner);
    for (int f = 0; f < c->fields; f++) {
        if (c->field[f])
            c->field[f]->close(c->field[f]);
    }
    bl_buffer_free(&c->value);
    bl_own_files_free(&c->files);
    bl_own_found_free(&c->found);
    free(c);
}

int bl_own_counter_open(const void *config, const struct bl_kind_env *env, struct bl_counter **counter,
                        struct bl_error *e)
{
    const struct bl_own *own = config;
    struct own_counter *c = calloc(1, sizeof *c);
    if (!c)
        return bl_error_memory(e);
    c->base.close = own_counter_close;
    c->fields = own->fields;
    int code = own->inner->scan->open ? own->inner->scan->open(own->inner_config, env, &c->inner, e) : BL_OK;
    for (int f = 0; f < own->fields && !code; f++) {
        const struct bl_composite_part *part = bl_own_part(own, f);
        if (part->kind->scan->open)
            code = part->kind->scan->open(part->config, env, &c->field[f], e);
    }
    if (code)
        own_counter_close(&c->base);
    else
        *counter = &c->base;
    return code;
}

/* The sources' kind counts; the rows are completed later. */
int bl_own_count(const void *config, const struct bl_kind_env *env, struct bl_counter *counter, struct bl_chunk *chunk,
                 bl_row_emit *emit, void *sink, struct bl_error *e)
{
    const struct bl_own *own = config;
    struct bl_counter *inner = ((struct own_counter *)counter)->inner;
    return own->inner->scan->count(own->inner_config, env, inner, chunk, emit, sink, e);
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* The completion of one row. */
struct own_completing {
    const struct bl_own *own;
    const struct bl_kind_env *env;
    struct own_counter *counter;
    const struct bl_input *input;
    const struct bl_row *row; /* as it came */
    struct bl_completion *texts;
    bool is_skipped;
};

/* Makes the row a skipped one, with this reason behind the field's name. */
static void completing_skip(struct own_completing *c, int f, const char *place, const char *reason)
{
    bl_buffer_clear(&c->texts->reason);
    bl_buffer_printf(&c->texts->reason, "%s: %s%s%s", c->own->field[f].name, place, *place ? ": " : "", reason);
    c->is_skipped = true;
}

/* Adds the format of the field's steps. */
static void completing_add_form(struct own_completing *c, int f, const char *form)
{
    bl_buffer_printf(&c->texts->form, "\t%s %s", c->own->field[f].name, form);
}

/* Counts the file of field f, and appends its columns. */
static int completing_count_file(struct own_completing *c, int f, struct bl_error *e)
{
    const struct bl_composite_part *part = bl_own_part(c->own, f);
    const struct bl_companion_counting counting = {.composite = &c->own->files,
                                                   .part = f + 1,
                                                   .env = c->env,
                                                   .counter = c->counter->field[f],
                                                   .id = c->row->id,
                                                   .name = c->row->path};
    struct bl_companion_found found = {0};
    int code = bl_companion_count(&counting, &found, e);
    if (code)
        goto out;
    bl_companion_append_values(part, &found.row, &c->texts->extra);
    if (found.is_missing && c->own->field[f].may_miss)
        goto out;
    if (found.row.status != BL_ROW_OK)
        completing_skip(c, f, found.row.path, found.row.reason);
    else if (bl_own_has_damage(&found.row))
        bl_companion_append_damage(part, found.row.path, found.row.reason, &c->texts->reason);
    if (found.form.size)
        completing_add_form(c, f, found.form.data);
out:
    bl_companion_found_free(&found);
    return code;
}

/* Returns whether a column holds no list: nothing, or null. */
static bool value_is_missing(const struct bl_buffer *value)
{
    const char *text = value->data;
    size_t size = value->size;
    bl_text_trim(&text, &size, " \t\r\n");
    return !size || (size == 4 && memcmp(text, "null", 4) == 0);
}

/* Counts the steps of the value of field f. BL_EDATA: it is unusable. */
static int completing_measure(struct own_completing *c, int f, int64_t *steps, struct bl_error *e)
{
    const struct bl_own_field *field = &c->own->field[f];
    const struct bl_buffer *value = &c->counter->value;
    struct bl_own_list list;
    struct bl_buffer form = {0};
    *steps = 0;
    if (field->kind != &bl_kind_array)
        return bl_own_text_count_value(c->counter->field[f], value->data, value->size, steps, e);
    if (value_is_missing(value))
        return field->may_miss ? BL_OK : bl_error_set(e, BL_EDATA, "the column \"%s\" is empty", field->column);
    BL_TRY(bl_own_list_read(&list, value->data, value->size, field->dtype, NULL, e));
    *steps = list.steps;
    if (!list.steps)
        return BL_OK;
    bl_buffer_printf(&form, "%s [", bl_dtype_name(field->dtype));
    for (int i = 0; i < list.rank; i++)
        bl_buffer_printf(&form, "%s%" PRId64, i ? ", " : "", list.shape[i]);
    bl_buffer_byte(&form, ']');
    int code = bl_buffer_check(&form, e);
    if (!code)
        completing_add_form(c, f, form.data);
    bl_buffer_free(&form);
    return code;
}

/* Counts the value of field f in its column, and appends NAME.length. */
static int completing_count_value(struct own_completing *c, int f, struct bl_error *e)
{
    struct bl_error fault = {0};
    int64_t steps = 0;
    BL_TRY(bl_own_row_value(c->own, f, c->row, &c->counter->value, e));
    int code = columns_have(c->row->columns, c->own->field[f].column) ? completing_measure(c, f, &steps, &fault)
                                                                      : BL_OK; /* a sample, without attributes */
    if (code && code != BL_EDATA)
        return bl_error_pass(e, code, &fault);
    bl_buffer_byte(&c->texts->extra, '\t');
    if (code)
        completing_skip(c, f, "", fault.text);
    else
        bl_buffer_int(&c->texts->extra, steps);
    return BL_OK;
}

/* Counts the files that the column of field f names, and appends NAME.length and NAME.files. */
static int completing_count_files(struct own_completing *c, int f, struct bl_error *e)
{
    const struct bl_own_field *field = &c->own->field[f];
    struct own_counter *counter = c->counter;
    struct bl_own_found *found = &counter->found;
    const struct bl_own_source source = bl_own_source(c->own, f);
    struct bl_error fault = {0};
    BL_TRY(bl_own_row_value(c->own, f, c->row, &counter->value, e));
    int code = bl_own_files_parse(&counter->files, counter->value.data, counter->value.size, &fault);
    bool is_sample = !columns_have(c->row->columns, field->column); /* without attributes */
    if (!code && !is_sample && value_is_missing(&counter->value) && !field->may_miss)
        code = bl_error_set(&fault, BL_EDATA, "the column \"%s\" is empty", field->column);
    if (!code)
        code = bl_own_files_count(&source, c->env, counter->field[f], field->list ? field->list : c->input->name,
                                  &counter->files, found, &fault);
    if (code && code != BL_EDATA)
        return bl_error_pass(e, code, &fault);
    if (code) {
        completing_skip(c, f, "", fault.text);
        bl_buffer_text(&c->texts->extra, "\t\t");
        return BL_OK;
    }
    bl_buffer_printf(&c->texts->extra, "\t%" PRId64 "\t", found->steps);
    bl_text_escape(&c->texts->extra, found->record.data, found->record.size);
    if (found->reason.size)
        bl_buffer_printf(&c->texts->reason, "%s%s", c->texts->reason.size ? "; " : "", found->reason.data);
    return BL_OK;
}

/* Appends empty values for field f. */
static void completing_append_none(struct own_completing *c, int f)
{
    if (c->own->field[f].path)
        bl_companion_append_values(bl_own_part(c->own, f), NULL, &c->texts->extra);
    else
        bl_buffer_text(&c->texts->extra, c->own->field[f].has_files ? "\t\t" : "\t");
}

/* Counts the own steps that the row has in field f, and appends its columns. */
static int completing_count(struct own_completing *c, int f, struct bl_error *e)
{
    if (c->own->field[f].has_files)
        return completing_count_files(c, f, e);
    return c->own->field[f].path ? completing_count_file(c, f, e) : completing_count_value(c, f, e);
}

int bl_own_complete(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                    const struct bl_input *input, struct bl_row *row, struct bl_completion *texts, struct bl_error *e)
{
    const struct bl_row given = *row;
    struct own_completing c = {.own = config,
                               .env = env,
                               .counter = (struct own_counter *)counter,
                               .input = input,
                               .row = &given,
                               .texts = texts,
                               .is_skipped = row->status != BL_ROW_OK};
    const struct {
        struct bl_buffer *text;
        const char *value;
    } begin[] = {{&texts->extra, row->extra}, {&texts->reason, row->reason}, {&texts->form, row->form}};
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++) {
        bl_buffer_clear(begin[i].text);
        bl_buffer_text(begin[i].text, begin[i].value ? begin[i].value : "");
    }
    for (int f = 0; f < c.own->fields; f++) {
        if (c.is_skipped)
            completing_append_none(&c, f);
        else
            BL_TRY(completing_count(&c, f, e));
    }
    BL_TRY(bl_buffer_check(&texts->extra, e));
    BL_TRY(bl_buffer_check(&texts->reason, e));
    BL_TRY(bl_buffer_check(&texts->form, e));
    row->extra = texts->extra.data;
    row->reason = texts->reason.data;
    row->form = texts->form.size ? texts->form.data : NULL;
    /* A skipped row has no length and no form. */
    if (c.is_skipped && row->status == BL_ROW_OK) {
        row->status = BL_ROW_SKIPPED;
        row->length = 0;
    }
    if (c.is_skipped)
        row->form = NULL;
    return BL_OK;
}
