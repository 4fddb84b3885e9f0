#include "kind/composite/companion.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "kind/content.h"

enum place { PLACE_ID, PLACE_STEM, PLACE_NAME, PLACES };

static const char *const place_name[PLACES] = {"{id}", "{stem}", "{name}"};

/* The place that text begins with, or PLACES. */
static enum place place_find(const char *text)
{
    int place = 0;
    while (place < PLACES && strncmp(text, place_name[place], strlen(place_name[place])) != 0)
        place++;
    return (enum place)place;
}

int bl_companion_check(const char *path, struct bl_error *e)
{
    bool found = false;
    for (const char *at = path; (at = strpbrk(at, "{}")); found = true) {
        enum place place = place_find(at);
        if (place == PLACES)
            return bl_error_set(e, BL_EUSAGE, "\"%s\": braces hold id, stem or name", path);
        at += strlen(place_name[place]);
    }
    if (!found)
        return bl_error_set(e, BL_EUSAGE, "\"%s\" is the same file for every sequence: write {id}, {stem} or {name}",
                            path);
    return BL_OK;
}

static void place_append(enum place place, const char *id, struct bl_buffer *out)
{
    const char *end = id + (place == PLACE_NAME ? strlen(id) : bl_path_stem(id));
    const char *begin = place == PLACE_STEM ? bl_path_name(id) : id;
    bl_buffer_append(out, begin, (size_t)(end - begin));
}

void bl_companion_append_path(const char *path, const char *id, struct bl_buffer *out)
{
    while (*path) {
        size_t plain = strcspn(path, "{");
        bl_buffer_append(out, path, plain);
        path += plain;
        if (!*path)
            break;
        enum place place = place_find(path);
        place_append(place, id, out);
        path += strlen(place_name[place]);
    }
}

/* --- columns ---------------------------------------------------------------------------------------------------- */

#define OWN_COLUMNS 6
#define OWN_CONTENT 5 /* which a table may lack */

/* A length in other units than the sequence's is called by them. */
static const char *own_column_name(const struct bl_composite_part *part, int c)
{
    static const char *const own[OWN_COLUMNS] = {"path", "bytes", "length", "stream", "reason", "content"};
    return c == 2 && part->kind->follow ? part->kind->steps : own[c];
}

/* The names of the kind's own extra columns, a tab before each. */
static void kind_columns_append(const struct bl_composite_part *part, struct bl_buffer *out)
{
    bl_buffer_text(out, "");
    if (part->kind->scan->columns)
        part->kind->scan->columns(part->config, false, out);
}

void bl_companion_append_columns(const struct bl_composite_part *part, struct bl_buffer *out)
{
    struct bl_buffer columns = {0};
    for (int c = 0; part->path && c < OWN_COLUMNS; c++)
        bl_buffer_printf(out, "\t%s.%s", part->name, own_column_name(part, c));
    kind_columns_append(part, &columns);
    for (const char *tab = columns.data; tab && (tab = strchr(tab, '\t')); tab++)
        bl_buffer_printf(out, "\t%s.%.*s", part->name, (int)strcspn(tab + 1, "\t"), tab + 1);
    out->failed |= columns.failed;
    bl_buffer_free(&columns);
}

static void columns_append_empty(const char *columns, struct bl_buffer *out)
{
    for (const char *tab = columns; tab && (tab = strchr(tab, '\t')); tab++)
        bl_buffer_byte(out, '\t');
}

static void own_columns_append(const struct bl_row *row, struct bl_buffer *out)
{
    bl_buffer_byte(out, '\t');
    bl_text_escape(out, row->path, strlen(row->path));
    bl_buffer_byte(out, '\t');
    bl_buffer_int(out, row->bytes);
    bl_buffer_byte(out, '\t');
    bl_buffer_int(out, row->length);
    bl_buffer_byte(out, '\t');
    if (row->stream >= 0)
        bl_buffer_int(out, row->stream);
    bl_buffer_byte(out, '\t');
    bl_text_escape(out, row->reason, strlen(row->reason));
    bl_buffer_byte(out, '\t');
    bl_content_format(row->content, out);
}

void bl_companion_append_values(const struct bl_composite_part *part, const struct bl_row *row, struct bl_buffer *out)
{
    struct bl_buffer columns = {0};
    kind_columns_append(part, &columns);
    if (row && part->path)
        own_columns_append(row, out);
    else if (part->path)
        bl_buffer_text(out, "\t\t\t\t\t\t");
    if (row && row->extra && *row->extra)
        bl_buffer_text(out, row->extra);
    else
        columns_append_empty(columns.data, out);
    out->failed |= columns.failed;
    bl_buffer_free(&columns);
}

void bl_companion_append_damage(const struct bl_composite_part *part, const char *path, const char *reason,
                                struct bl_buffer *out)
{
    if (*reason)
        bl_buffer_printf(out, "%s%s: %s: %s", out->size ? "; " : "", part->name, path, reason);
}

/* --- and back --------------------------------------------------------------------------------------------------- */

/* The value of the companion's column, with a NUL behind it; at: where in out->text it begins. */
static int own_column_read(const struct bl_composite_part *part, const struct bl_row *row, const char *column,
                           size_t *at, bool may_lack, struct bl_companion_row *out, struct bl_error *e)
{
    struct bl_buffer name = {0};
    bl_buffer_printf(&name, "%s.%s", part->name, column);
    *at = out->text.size;
    int code = bl_buffer_check(&name, e);
    if (code)
        goto out;
    if (!bl_row_get_value(row, name.data, &out->text) && !may_lack)
        code = bl_error_set(e, BL_EUSAGE, "the table has no column %s that can be read: scan with the same fields",
                            name.data);
out:
    bl_buffer_byte(&out->text, '\0');
    bl_buffer_free(&name);
    return code ? code : bl_buffer_check(&out->text, e);
}

/* The values of the kind's own columns, as the kind wrote them. */
static int extra_columns_read(const struct bl_composite_part *part, const struct bl_row *row,
                              struct bl_companion_row *out, struct bl_error *e)
{
    struct bl_buffer name = {0}, value = {0};
    bl_buffer_clear(&out->columns);
    kind_columns_append(part, &out->columns);
    bl_buffer_clear(&out->extra);
    for (const char *tab = out->columns.data; tab && (tab = strchr(tab, '\t')); tab++) {
        bl_buffer_clear(&name);
        bl_buffer_clear(&value);
        bl_buffer_printf(&name, "%s.%.*s", part->name, (int)strcspn(tab + 1, "\t"), tab + 1);
        bl_buffer_byte(&out->extra, '\t');
        if (name.data && bl_row_get_value(row, name.data, &value))
            bl_text_escape(&out->extra, value.data, value.size);
    }
    bool failed = out->columns.failed || name.failed || value.failed;
    int code = failed ? bl_error_memory(e) : bl_buffer_check(&out->extra, e);
    bl_buffer_free(&name);
    bl_buffer_free(&value);
    return code;
}

static bool number_parse(const char *text, int64_t missing, int64_t max, int64_t *value)
{
    *value = missing;
    return !*text || bl_text_to_int(text, strlen(text), 0, max, value);
}

int bl_companion_row(const struct bl_composite *composite, int p, const struct bl_row *row,
                     struct bl_companion_row *out, struct bl_error *e)
{
    const struct bl_composite_part *part = &composite->part[p];
    size_t at[OWN_COLUMNS];
    int64_t stream;
    bl_buffer_clear(&out->text);
    int code = extra_columns_read(part, row, out, e);
    out->row = (struct bl_row){.id = row->id,
                               .length = row->length,
                               .kind = part->kind->name,
                               .path = "",
                               .bytes = -1,
                               .status = BL_ROW_OK,
                               .reason = "",
                               .sampling = row->sampling,
                               .start = "",
                               .duration = "",
                               .channel = "",
                               .stream = -1,
                               .offset = -1,
                               .extra = out->extra.data,
                               .columns = out->columns.data};
    out->path = NULL;
    if (code || !part->path)
        return code;
    for (int c = 0; c < OWN_COLUMNS && !code; c++)
        code = own_column_read(part, row, own_column_name(part, c), &at[c], c == OWN_CONTENT, out, e);
    if (code)
        return code;
    const char *text = out->text.data;
    out->row.reason = text + at[4];
    if (!number_parse(text + at[1], -1, INT64_MAX, &out->row.bytes) ||
        !number_parse(text + at[2], 0, INT64_MAX, &out->row.length) ||
        !number_parse(text + at[3], -1, INT32_MAX, &stream))
        return bl_error_set(e, BL_EFAIL, "%s: a number in %s.bytes, %s.%s or %s.stream that is none", row->id,
                            part->name, part->name, own_column_name(part, 2), part->name);
    if (!bl_content_parse(text + at[OWN_CONTENT], &out->row.content))
        return bl_error_set(e, BL_EFAIL, "%s: \"%s\" in %s.content is no checksum (16 hexadecimal digits)", row->id,
                            text + at[OWN_CONTENT], part->name);
    out->row.stream = (int)stream;
    out->path = out->text.data + at[0];
    free(out->open_path);
    out->row.path = out->open_path = bl_path_join(composite->base, out->path);
    return out->open_path ? BL_OK : bl_error_memory(e);
}

void bl_companion_row_free(struct bl_companion_row *row)
{
    bl_buffer_free(&row->text);
    bl_buffer_free(&row->columns);
    bl_buffer_free(&row->extra);
    free(row->open_path);
    *row = (struct bl_companion_row){0};
}
