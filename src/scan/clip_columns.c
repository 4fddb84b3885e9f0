#include "scan/clip_columns.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/csv.h"
#include "base/documents.h"
#include "base/text.h"
#include "kind/chunk.h"
#include "kind/clip.h"
#include "kind/input_stat.h"
#include "kind/kind.h"
#include "scan/attributes.h"

#define KEYS_SHOWN 8 /* in messages */

/* A list whose columns are read. */
struct reading {
    struct bl_clip_columns *columns;
    const struct bl_kind *kind;
    const char *path, *shown;
    int64_t line;
    bool has_ends;    /* some column is the start or the end of clips */
    char similar[48]; /* the first further column whose name has "start" in it */
    struct bl_buffer scratch;
};

void bl_clip_columns_free(struct bl_clip_columns *columns)
{
    for (size_t c = 0; c < columns->count; c++)
        free(columns->name[c]);
    free(columns->name);
    *columns = (struct bl_clip_columns){0};
}

bool bl_clip_columns_is_table(const char *path)
{
    static const char *const extensions[] = {"csv", "tsv", "csv.gz", "tsv.gz", "csv.zst", "tsv.zst", NULL};
    return bl_extensions_match(extensions, path);
}

size_t bl_clip_columns_find(const struct bl_clip_columns *columns, const char *name, size_t size)
{
    for (size_t c = 0; c < columns->count; c++) {
        if (strlen(columns->name[c]) == size && memcmp(columns->name[c], name, size) == 0)
            return c;
    }
    return SIZE_MAX;
}

size_t bl_clip_columns_place(const struct bl_clip_columns *columns, const char *name, size_t size)
{
    for (size_t v = 0; v < BL_CLIP_VALUES; v++) {
        if (strlen(bl_clip_value_name[v]) == size && memcmp(bl_clip_value_name[v], name, size) == 0)
            return v;
    }
    size_t c = bl_clip_columns_find(columns, name, size);
    return c == SIZE_MAX ? c : BL_CLIP_VALUES + c;
}

bool bl_clip_columns_object(const char *line, size_t size, struct bl_json_value *object, struct bl_json_fault *fault)
{
    size_t blank = 0;
    while (blank < size && strchr(" \t\r", line[blank]))
        blank++;
    *object = (struct bl_json_value){.type = BL_JSON_OBJECT, .text = line + blank, .size = size - blank};
    return bl_json_scan(line, size, NULL, 0, NULL, fault);
}

static void columns_note_ends(struct reading *r, const char *name, size_t place)
{
    if (place >= BL_CLIP_START && place <= BL_CLIP_END_FRAME)
        r->has_ends = true;
    else if (!*r->similar && strcasestr(name, "start"))
        snprintf(r->similar, sizeof r->similar, "%s", name);
}

/* The part of a clip that a name means, but for blanks around it and upper case; or NULL. */
static const char *columns_find_meant(const char *name)
{
    name += strspn(name, " \t");
    size_t size = strlen(name);
    while (size && strchr(" \t", name[size - 1]))
        size--;
    for (size_t v = 0; v <= BL_CLIP_END_FRAME; v++) {
        if (strlen(bl_clip_value_name[v]) == size && strncasecmp(bl_clip_value_name[v], name, size) == 0)
            return bl_clip_value_name[v];
    }
    return NULL;
}

/* Adds a further column. name: with a zero byte behind it. */
static int columns_append(struct reading *r, const char *name, size_t size, struct bl_error *e)
{
    struct bl_clip_columns *c = r->columns;
    if (c->count == BL_ATTRIBUTE_COLUMNS_MAX)
        return bl_error_set(e, BL_EUSAGE, "%s:%" PRId64 ": more than %d columns", r->shown, r->line,
                            BL_ATTRIBUTE_COLUMNS_MAX);
    char *copy = strndup(name, size);
    int code = copy ? BL_OK : bl_error_memory(e);
    if (!code)
        code = bl_attributes_check_name(copy, r->shown, r->line, "rename the column, or leave it out", e);
    if (!code)
        code = BL_ARRAY_RESERVE(c->name, c->capacity, c->count + 1, e);
    if (code)
        free(copy);
    else
        c->name[c->count++] = copy;
    return code;
}

/* Adds a column of clips unless it is there. name: with a zero byte behind it. */
static int columns_add(struct reading *r, const char *name, size_t size, struct bl_error *e)
{
    size_t place = bl_clip_columns_place(r->columns, name, size);
    columns_note_ends(r, name, place);
    if (place != SIZE_MAX)
        return BL_OK;
    const char *meant = columns_find_meant(name);
    if (meant)
        return bl_error_set(e, BL_EUSAGE, "%s:%" PRId64 ": the column \"%s\": write it \"%s\"", r->shown, r->line, name,
                            meant);
    return columns_append(r, name, size, e);
}

/* All lists of a scan are of clips, or none is. */
static int columns_agree(const struct reading *r, bool are_clips, struct bl_error *e)
{
    struct bl_clip_columns *c = r->columns;
    if (c->known && c->are_clips != are_clips)
        return bl_error_set(e, BL_EUSAGE, "%s: %s beside %s: pack them separately", r->shown,
                            are_clips ? "a list of clips" : "a manifest of speech",
                            are_clips ? "a manifest of speech" : "a list of clips");
    c->known = true;
    c->are_clips = are_clips;
    return BL_OK;
}

/* --- tables ----------------------------------------------------------------------------------------------------- */

static int table_add_columns(struct reading *r, const struct bl_csv *records, struct bl_error *e)
{
    int code = BL_OK;
    bool path = false;
    for (size_t c = 0; c < records->values && !code; c++) {
        const char *name = records->value[c];
        for (size_t before = 0; before < c && !code; before++) {
            if (strcmp(records->value[before], name) == 0)
                code = bl_error_set(e, BL_EUSAGE, "%s:%" PRId64 ": duplicate column \"%s\"", r->shown, r->line, name);
        }
        path |= strcmp(name, "path") == 0;
        if (!code)
            code = columns_add(r, name, strlen(name), e);
    }
    if (!code && !path)
        code = bl_error_set(e, BL_EUSAGE,
                            "%s:%" PRId64 ": no column \"path\": a list of clips has the columns path, start and end, "
                            "with commas between them, tabs where the file ends in .tsv",
                            r->shown, r->line);
    return code;
}

static int table_read(struct reading *r, const struct bl_cancel *cancel, struct bl_error *e)
{
    struct bl_csv records;
    bool found;
    int code = bl_csv_open(&records, r->path, cancel, e);
    if (code)
        return code;
    code = bl_csv_next(&records, &found, e);
    r->line = records.line;
    if (!code && found)
        code = columns_agree(r, true, e);
    if (!code && found)
        code = table_add_columns(r, &records, e);
    bl_csv_close(&records);
    return code;
}

/* --- JSON lines ------------------------------------------------------------------------------------------------- */

static int object_add_columns(struct reading *r, const struct bl_json_value *object, struct bl_error *e)
{
    struct bl_json_value name, value;
    int code = BL_OK;
    for (size_t at = 0; !code && bl_json_next_member(object, &at, &name, &value);) {
        size_t lone;
        bl_buffer_clear(&r->scratch);
        bl_json_unescape(&name, &r->scratch, &lone);
        bl_buffer_text(&r->scratch, "");
        code = bl_buffer_check(&r->scratch, e);
        if (!code)
            code = columns_add(r, r->scratch.data, r->scratch.size, e);
    }
    return code;
}

/* Whether the object has the key "path". */
static bool object_is_clip(const struct bl_json_value *object)
{
    struct bl_json_value name, value;
    for (size_t at = 0; bl_json_next_member(object, &at, &name, &value);) {
        if (name.size == 4 && memcmp(name.text, "path", 4) == 0)
            return true;
    }
    return false;
}

static int manifest_add_column(void *sink, const char *name, const struct bl_json_value *value, struct bl_error *e)
{
    (void)value;
    struct reading *r = sink;
    size_t size = strlen(name);
    return bl_clip_columns_find(r->columns, name, size) == SIZE_MAX ? columns_append(r, name, size, e) : BL_OK;
}

/* The first line decides what the list is. */
static int line_add_columns(struct reading *r, const struct bl_document *line, bool *decided, struct bl_error *e)
{
    struct bl_json_value object;
    struct bl_json_fault fault;
    if (line->too_long || bl_text_is_blank(line->text, line->size) ||
        !bl_clip_columns_object(line->text, line->size, &object, &fault))
        return BL_OK;
    bool is_clip = *decided ? r->columns->are_clips : object_is_clip(&object);
    if (!is_clip && !r->kind->scan->manifest_values) {
        bl_buffer_clear(&r->scratch);
        bl_json_append_keys(object.text, object.size, KEYS_SHOWN, &r->scratch);
        return bl_error_set(e, BL_EUSAGE,
                            "%s:%" PRId64 ": no key \"path\": the lines of a list of clips have the keys path, start "
                            "and end, this one %s",
                            r->shown, r->line, r->scratch.size ? r->scratch.data : "none");
    }
    int code = *decided ? BL_OK : columns_agree(r, is_clip, e);
    *decided = true;
    if (code)
        return code;
    r->columns->values = r->kind->scan->manifest_values;
    return is_clip ? object_add_columns(r, &object, e) : r->columns->values(&object, manifest_add_column, r, e);
}

static int lines_read(struct reading *r, const struct bl_cancel *cancel, struct bl_error *e)
{
    static const struct bl_division_rule rule = {.by = BL_DIVISION_LINE};
    struct bl_documents *lines;
    bool found = true, decided = false;
    int code = bl_documents_open(&lines, r->path, &rule, 0, INT64_MAX, BL_LIST_LINE_MAX, cancel, e);
    if (code)
        return code;
    while (!code && found) {
        struct bl_document line;
        code = bl_documents_next(lines, &line, &found, e);
        r->line += !code && found;
        if (!code && found)
            code = line_add_columns(r, &line, &decided, e);
    }
    bl_documents_close(lines);
    return code;
}

/* ---------------------------------------------------------------------------------------------------------------- */

int bl_clip_columns_add(struct bl_clip_columns *columns, const struct bl_kind *kind, const char *path,
                        const char *shown, const struct bl_cancel *cancel, struct bl_error *e)
{
    struct reading r = {.columns = columns, .kind = kind, .path = path, .shown = shown};
    struct bl_input input = {.path = path};
    struct bl_error why = {0};
    const char *unusable;
    int code = bl_input_stat(NULL, &input, &unusable, e); /* opening a pipe would wait for its writer */
    if (code || unusable)
        return code;
    code = bl_clip_columns_is_table(shown) ? table_read(&r, cancel, &why) : lines_read(&r, cancel, &why);
    if (!code && !r.has_ends && *r.similar) /* every line would be the whole file */
        code =
            bl_error_set(&why, BL_EUSAGE,
                         "%s: no column \"start\", \"end\", \"start_frame\" or \"end_frame\", but \"%s\": rename it, "
                         "or leave it out if the lines are whole files",
                         shown, r.similar);
    bl_buffer_free(&r.scratch);
    bool readable = access(path, R_OK) == 0;
    return code == BL_OK || code == BL_EDATA || (code == BL_EFAIL && !readable) ? BL_OK
                                                                                : bl_error_set(e, code, "%s", why.text);
}
