/* Makes a table of attributes from the members that samples of tars have beside their sequences.
 *
 * The members of each sample are read once, in the order of the inputs. A key of a JSON object that first occurs
 * late adds a column late: rows are kept as texts of tabs, and filled up with empty values when all columns are
 * known. For example, {"fps": 25} and then {"fps": 30, "text": "a cat"} become
 *
 *     25
 *     30<TAB>a cat */
#include "scan/member_attributes.h"

#include <stdlib.h>
#include <string.h>

#include "base/archive.h"
#include "base/fs.h"
#include "base/input_file.h"
#include "base/io.h"
#include "base/json.h"
#include "base/text.h"
#include "scan/clip_columns.h"

#define MEMBER_MAX (1 << 20) /* bytes: more than a label or a description has */
#define EXTENSIONS_MAX 16

/* The columns so far, and the values of the present sample. */
struct columns {
    const struct bl_member_attributes *source;
    struct bl_attributes *a;
    /* The extensions of --attributes-members, owned. Each owns its text, and member[] points to them. */
    char *extension[EXTENSIONS_MAX]; /* owned */
    int extensions;
    const char *member[BL_ATTRIBUTE_COLUMNS_MAX];     /* of each column, the extension */
    struct bl_buffer value[BL_ATTRIBUTE_COLUMNS_MAX]; /* of the present sample, escaped */
    struct bl_buffer name, text, plain;
    struct bl_buffer rows; /* of each sample the values of the columns so far, a tab before each, and a NUL */
};

/* --- values ------------------------------------------------------------------------------------------------------ */

/* Finds or adds the column of this name. *column: -1 if --attributes-columns leaves it out. BL_EUSAGE: a member with
 * another extension has a column of this name. */
static int columns_find(struct columns *c, const char *name, const char *extension, int *column, struct bl_error *e)
{
    *column = -1;
    /* A column that the user did not choose is skipped without reading its value. */
    if (c->source->columns && !bl_text_list_has(c->source->columns, name))
        return BL_OK;
    *column = bl_attributes_find(c->a, name);
    if (*column >= 0 && strcmp(c->member[*column], extension) != 0)
        return bl_error_set(e, BL_EUSAGE, "two members have a column \"%s\": %s and %s", name, c->member[*column],
                            extension);
    if (*column >= 0)
        return BL_OK;
    /* The name is checked once, when the column is new. */
    BL_TRY(bl_attributes_check_name(name, extension, 1, "leave it out with --attributes-columns", e));
    BL_TRY(bl_attributes_add_column(c->a, name, column, e));
    c->member[*column] = extension;
    return BL_OK;
}

/* Sets a value of the present sample, unless the user left its column out. */
static int columns_set(struct columns *c, const char *name, const char *extension, const char *text, size_t size,
                       struct bl_error *e)
{
    int column, code = columns_find(c, name, extension, &column, e);
    if (code || column < 0)
        return code;
    /* A later key of the same name replaces the value. */
    bl_buffer_clear(&c->value[column]);
    bl_text_escape(&c->value[column], text, size);
    return bl_buffer_check(&c->value[column], e);
}

/* Sets the value of a key: the plain text of a string, the JSON text of other values, and nothing for null. */
static int columns_set_json(struct columns *c, const struct bl_json_value *name, const struct bl_json_value *value,
                            const char *extension, struct bl_error *e)
{
    size_t lone;
    bl_buffer_clear(&c->name);
    /* The type is a string, a word such as null, or anything else. */
    bl_buffer_clear(&c->plain);
    bl_json_unescape(name, &c->name, &lone);
    bl_buffer_text(&c->name, "");
    bool is_text = value->type == BL_JSON_STRING, is_null = value->type == BL_JSON_WORD && *value->text == 'n';
    if (is_text)
        bl_json_unescape(value, &c->plain, &lone);
    else
        bl_buffer_append(&c->plain, value->text, is_null ? 0 : value->size);
    if (c->name.failed || c->plain.failed)
        return bl_error_memory(e);
    return columns_set(c, c->name.data, extension, c->plain.data, c->plain.size, e);
}

/* Reads JSON other than an object, such as a list of ids, as the only member of an object, since the parser reads
 * objects. The column has the name of the extension without ".json": "ids" for a member "ids.json", "json" for a
 * member "json". */
static int columns_read_lone(struct columns *c, const char *extension, struct bl_error *e)
{
    static const char begin[] = "{\"\":";
    struct bl_json_value object, name, value;
    struct bl_json_fault fault;
    size_t at = 0;
    struct bl_buffer text = {0};
    bl_buffer_printf(&text, "%s%.*s}", begin, (int)c->text.size, c->text.data);
    int code = bl_buffer_check(&text, e);
    if (code)
        goto out;
    /* A second value behind the first one would end up as a second key. */
    if (!bl_clip_columns_object(text.data, text.size, &object, &fault))
        code = bl_error_set(e, BL_EDATA, "not JSON: %s at byte %zu", fault.what, fault.at - strlen(begin));
    else if (bl_json_next_member(&object, &at, &name, &value) && bl_json_next_member(&object, &at, &name, &name))
        code = bl_error_set(e, BL_EDATA, "not JSON: more than one value");
    else {
        const size_t size = strlen(extension);
        char *column = strndup(extension, size > 5 ? size - 5 : size); /* without ".json" */
        name = (struct bl_json_value){.type = BL_JSON_STRING, .text = column, .size = column ? strlen(column) : 0};
        code = column ? columns_set_json(c, &name, &value, extension, e) : bl_error_memory(e);
        free(column);
    }
out:
    bl_buffer_free(&text);
    return code;
}

/* Reads the text of a member as JSON: each key of an object is a column. BL_EDATA: it is no JSON. */
static int columns_read_json(struct columns *c, const char *extension, struct bl_error *e)
{
    struct bl_json_value object, name, value;
    struct bl_json_fault fault;
    int code = BL_OK;
    for (size_t i = 0; i < c->text.size; i++) /* one line: in texts they are escaped */
        c->text.data[i] = c->text.data[i] == '\n' ? ' ' : c->text.data[i];
    size_t blank = strspn(c->text.data, " \t\r");
    /* The first byte of any JSON value other than an object. */
    if (blank < c->text.size && strchr("[\"-0123456789tfn", c->text.data[blank]))
        return columns_read_lone(c, extension, e);
    if (!bl_clip_columns_object(c->text.data, c->text.size, &object, &fault))
        return bl_error_set(e, BL_EDATA, "not a JSON object: %s at byte %zu", fault.what, fault.at);
    for (size_t at = 0; !code && bl_json_next_member(&object, &at, &name, &value);)
        code = columns_set_json(c, &name, &value, extension, e);
    return code;
}

/* --- members ------------------------------------------------------------------------------------------------------ */

/* Reads one member of a sample, and sets its columns. BL_EDATA: the sample has no such member, or the member is too
 * large or no text, so that the sample cannot be used. */
static int member_read(struct columns *c, const struct bl_files *files, const struct bl_file *file,
                       const char *extension, struct bl_error *e)
{
    struct bl_buffer place = {0};
    struct bl_input_file member = {.fd = -1};
    const struct bl_member_entry *entry = bl_member_index_beside(&files->members, file->path, extension);
    if (!entry)
        return bl_error_set(e, BL_EDATA, "the sample has no such member");
    bl_member_index_append(&files->members, entry, &place);
    char *path = place.failed ? NULL : bl_path_join(c->source->base, place.data);
    int code = path ? BL_OK : bl_error_memory(e);
    bl_buffer_free(&place);
    if (!code && bl_input_file_open(&member, path) != 0)
        code = bl_opener_fail("cannot open", path, BL_EFAIL, e);
    if (code)
        goto out;
    const int64_t bytes = member.status.st_size;
    bl_buffer_clear(&c->text);
    /* The limit is checked before the allocation: a tar may claim any size. */
    if (bytes > MEMBER_MAX)
        code = bl_error_set(e, BL_EDATA, "more than %d KiB", MEMBER_MAX >> 10);
    else if (!bl_buffer_reserve(&c->text, (size_t)bytes + 1))
        code = bl_error_memory(e);
    if (code)
        goto out;
    c->text.size = (size_t)bytes;
    c->text.data[bytes] = '\0';
    code = bl_input_file_get(&member, c->text.data, c->text.size, 0, path, e);
out:
    bl_input_file_close(&member);
    free(path);
    if (code)
        return code;
    if (strcmp(extension, "json") == 0 || bl_path_has_suffix(extension, ".json"))
        return columns_read_json(c, extension, e);
    /* The newline that editors add is no part of a label. */
    const char *text = c->text.data;
    size_t size = c->text.size;
    bl_text_trim(&text, &size, " \t\r\n");
    if (memchr(text, 0, size))
        return bl_error_set(e, BL_EDATA, "it has zero bytes: no text");
    return columns_set(c, extension, extension, text, size, e);
}

/* --- samples ------------------------------------------------------------------------------------------------------ */

/* Reads the members of a sample and keeps their values, or notes a fault of its file, which the scan then skips. */
static int sample_read(struct columns *c, struct bl_files *files, size_t number, struct bl_error *e)
{
    int code = BL_OK;
    for (int column = 0; column < bl_attributes_count(c->a); column++)
        bl_buffer_clear(&c->value[column]);
    for (int x = 0; x < c->extensions && !code; x++) {
        struct bl_error fault = {0};
        code = member_read(c, files, &files->file[number], c->extension[x], &fault);
        /* The message begins with the extension of the member. */
        if (code)
            bl_error_prefix(&fault, "%s", c->extension[x]);
        if (code == BL_EDATA)
            return bl_files_set_fault(files, number, fault.text, e);
        if (code)
            return bl_error_set(e, code, "%s: %s", files->file[number].path, fault.text);
    }
    /* The values are in the order of the columns that are known now. */
    for (int column = 0; column < bl_attributes_count(c->a); column++) {
        bl_buffer_byte(&c->rows, '\t');
        bl_buffer_append(&c->rows, c->value[column].size ? c->value[column].data : "", c->value[column].size);
    }
    bl_buffer_byte(&c->rows, '\0');
    return bl_buffer_check(&c->rows, e);
}

/* Returns whether the file is a sample whose values were kept. A fault that was noted meanwhile excludes the file,
 * as its values were not kept. */
static bool file_has_values(const struct bl_file *file)
{
    struct bl_member member;
    return !file->fault && bl_member_parse(file->path, &member);
}

/* Makes the rows of the table. Columns that first occurred later are empty in earlier rows. */
static int samples_add_rows(struct columns *c, const struct bl_files *files, struct bl_error *e)
{
    struct bl_buffer values = {0};
    const char *row = c->rows.data;
    int code = BL_OK;
    for (size_t i = 0; i < files->count && !code; i++) {
        if (!file_has_values(&files->file[i]))
            continue;
        int columns = 0;
        for (const char *tab = row; (tab = strchr(tab, '\t')); tab++)
            columns++;
        bl_buffer_clear(&values);
        bl_buffer_text(&values, row);
        while (columns++ < bl_attributes_count(c->a))
            bl_buffer_byte(&values, '\t');
        code = bl_buffer_check(&values, e);
        if (!code)
            code = bl_attributes_add_row(c->a, files->file[i].id, values.data, e);
        row += strlen(row) + 1;
    }
    bl_buffer_free(&values);
    return code;
}

/* Splits --attributes-members, "json,cls", and checks that some member has each extension. BL_EUSAGE: none has. */
static int extensions_split(struct columns *c, const struct bl_member_index *index, struct bl_error *e)
{
    for (const char *list = c->source->extensions; list;) {
        size_t size = strcspn(list, ",");
        if (!size || c->extensions == EXTENSIONS_MAX)
            return bl_error_set(e, BL_EUSAGE, "--attributes-members: 1 to %d extensions, with commas between",
                                EXTENSIONS_MAX);
        c->extension[c->extensions] = strndup(list, size);
        if (!c->extension[c->extensions++])
            return bl_error_memory(e);
        list = list[size] ? list + size + 1 : NULL;
    }
    for (int x = 0; x < c->extensions; x++) {
        bool found = false;
        for (size_t i = 0; i < index->members && !found; i++) {
            const char *name = index->text.data + index->member[i].name;
            found = strcmp(name + bl_member_key(name) + 1, c->extension[x]) == 0;
        }
        if (!found)
            return bl_error_set(e, BL_EUSAGE, "--attributes-members: no sample has a member %s", c->extension[x]);
    }
    return BL_OK;
}

/* Reads the values of all samples, and checks that each column of --attributes-columns has occurred. */
static int samples_read_values(struct columns *c, struct bl_files *files, const struct bl_cancel *cancel,
                               struct bl_error *e)
{
    for (size_t i = 0; i < files->count; i++) {
        if (bl_cancelled(cancel))
            return BL_ECANCEL;
        if (file_has_values(&files->file[i]))
            BL_TRY(sample_read(c, files, i, e));
    }
    for (const char *list = c->source->columns; list;) {
        size_t size = strcspn(list, ",");
        bool found = false;
        for (int column = 0; column < bl_attributes_count(c->a); column++) {
            const char *name = bl_attributes_name(c->a, column);
            found |= strlen(name) == size && memcmp(name, list, size) == 0;
        }
        if (!found)
            return bl_error_set(e, BL_EUSAGE, "--attributes-columns: no member %s has \"%.*s\"", c->source->extensions,
                                (int)size, list);
        list = list[size] ? list + size + 1 : NULL;
    }
    return BL_OK;
}

/* Makes the table. *attributes is set on success, and the caller closes it. The fault of a sample stays in files. */
int bl_member_attributes_open(struct bl_attributes **attributes, const struct bl_member_attributes *source,
                              struct bl_files *files, const struct bl_cancel *cancel, struct bl_error *e)
{
    struct columns c = {.source = source};
    if (!files->tars)
        return bl_error_set(e, BL_EUSAGE, "--attributes-members reads members of tars, and no input is one");
    int code = bl_attributes_make(&c.a, source->extensions, e);
    if (!code)
        code = extensions_split(&c, &files->members, e);
    if (!code)
        code = samples_read_values(&c, files, cancel, e);
    if (!code)
        code = samples_add_rows(&c, files, e);
    for (int x = 0; x < c.extensions; x++)
        free(c.extension[x]);
    for (int column = 0; column < BL_ATTRIBUTE_COLUMNS_MAX; column++)
        bl_buffer_free(&c.value[column]);
    struct bl_buffer *const buffers[] = {&c.name, &c.text, &c.plain, &c.rows};
    for (size_t b = 0; b < sizeof buffers / sizeof *buffers; b++)
        bl_buffer_free(buffers[b]);
    if (code)
        bl_attributes_close(c.a);
    else
        *attributes = c.a;
    return code;
}
