/* Reads the value of a column that names files, counts them as lines of a list of clips, and keeps of each of them what
 * a reader needs.
 *
 * A record of NAME.files is a line of values, each escaped as in a table, with a tab between two:
 *
 *     img/a.jpg  1  48213  0123456789abcdef
 *
 * The members of a record are those of enum record; the last ones are left out if they are empty. */
#include "kind/own/own_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/text.h"
#include "kind/input_stat.h"

#define RECORDS_MAX ((size_t)512 << 10) /* bytes of NAME.files: a line of the table has 1 MiB at most */

/* --- values ------------------------------------------------------------------------------------------------------- */

void bl_own_files_free(struct bl_own_files *files)
{
    bl_buffer_free(&files->text);
    bl_buffer_free(&files->scratch);
    free(files->line);
    free(files->begin);
    *files = (struct bl_own_files){0};
}

/* Begins a line. */
static int files_begin(struct bl_own_files *files, struct bl_error *e)
{
    BL_TRY(BL_ARRAY_RESERVE(files->line, files->lines_capacity, files->count + 1, e));
    BL_TRY(BL_ARRAY_RESERVE(files->begin, files->begins_capacity, files->count + 1, e));
    files->begin[files->count] = files->text.size;
    files->line[files->count] = (struct bl_line){.number = (int64_t)files->count + 1};
    files->count++;
    return BL_OK;
}

/* Adds the line of a file without start and end. */
static int files_add_path(struct bl_own_files *files, const char *path, size_t size, struct bl_error *e)
{
    if (!size || memchr(path, '\0', size))
        return bl_error_set(e, BL_EDATA, "file %zu: an empty path", files->count + 1);
    BL_TRY(files_begin(files, e));
    bl_text_escape(&files->text, path, size);
    for (int v = BL_CLIP_PATH + 1; v < BL_CLIP_VALUES; v++)
        bl_buffer_byte(&files->text, '\t');
    return bl_buffer_check(&files->text, e);
}

/* Finds the members of an object that lists of clips have, except the id. BL_EDATA: one of them has another type, or
 * there is a member that is none of them. */
static int object_read(struct bl_own_files *files, const struct bl_json_value *object,
                       struct bl_json_value value[BL_CLIP_VALUES], struct bl_error *e)
{
    struct bl_json_value name, member;
    for (size_t at = 0; bl_json_next_member(object, &at, &name, &member);) {
        int v = 0;
        while (v < BL_CLIP_ID &&
               !(strlen(bl_clip_value_name[v]) == name.size && !memcmp(bl_clip_value_name[v], name.text, name.size)))
            v++;
        bool is_null = member.type == BL_JSON_WORD && *member.text == 'n';
        if (v == BL_CLIP_ID && is_null) /* such as "bytes" of a picture of a data set of Hugging Face */
            continue;
        if (v == BL_CLIP_ID)
            return bl_error_set(e, BL_EDATA,
                                "file %zu: unknown key \"%.*s\": path, start, end, start_frame and end_frame are known",
                                files->count + 1, (int)name.size, name.text);
        if (member.type != BL_JSON_STRING && (v == BL_CLIP_PATH || member.type != BL_JSON_NUMBER) && !is_null)
            return bl_error_set(e, BL_EDATA, "file %zu: %s is %s", files->count + 1, bl_clip_value_name[v],
                                bl_json_type_name(member.type));
        value[v] = is_null ? (struct bl_json_value){0} : member;
    }
    return BL_OK;
}

/* Adds the line of an object with a path and, if it is a clip, a start and an end. */
static int files_add_object(struct bl_own_files *files, const struct bl_json_value *object, struct bl_error *e)
{
    struct bl_json_value value[BL_CLIP_VALUES] = {{0}};
    BL_TRY(object_read(files, object, value, e));
    if (!value[BL_CLIP_PATH].size)
        return bl_error_set(e, BL_EDATA, "file %zu: an object without a path", files->count + 1);
    BL_TRY(files_begin(files, e));
    for (int v = 0; v < BL_CLIP_VALUES; v++) {
        struct bl_json_value text = value[v];
        if (v)
            bl_buffer_byte(&files->text, '\t');
        if (value[v].type == BL_JSON_STRING && !bl_json_text(&value[v], &files->scratch, &text)) {
            BL_TRY(bl_buffer_check(&files->scratch, e));
            return bl_error_set(e, BL_EDATA, "file %zu: %s is no text", files->count, bl_clip_value_name[v]);
        }
        if (text.size)
            bl_text_escape(&files->text, text.text, text.size);
    }
    return bl_buffer_check(&files->text, e);
}

/* Adds a line for an element of a list. */
static int files_add_element(struct bl_own_files *files, const struct bl_json_value *element, struct bl_error *e)
{
    struct bl_json_value path;
    if (element->type == BL_JSON_OBJECT)
        return files_add_object(files, element, e);
    if (element->type != BL_JSON_STRING)
        return bl_error_set(e, BL_EDATA, "file %zu: %s, not a path", files->count + 1,
                            bl_json_type_name(element->type));
    if (!bl_json_text(element, &files->scratch, &path)) {
        BL_TRY(bl_buffer_check(&files->scratch, e));
        return bl_error_set(e, BL_EDATA, "file %zu: its path is no text", files->count + 1);
    }
    return files_add_path(files, path.text, path.size, e);
}

/* Reads a value that is written in JSON: a list, or one object. */
static int files_parse_json(struct bl_own_files *files, const char *text, size_t size, struct bl_error *e)
{
    struct bl_json_value value, element;
    struct bl_json_fault fault;
    if (!bl_json_scan_value(text, size, &value, &fault))
        return bl_error_set(e, BL_EDATA, "not a list of paths: %s at byte %zu", fault.what, fault.at);
    if (value.type == BL_JSON_OBJECT)
        return files_add_object(files, &value, e);
    for (size_t at = 0; bl_json_next(&value, &at, &element);)
        BL_TRY(files_add_element(files, &element, e));
    return BL_OK;
}

int bl_own_files_parse(struct bl_own_files *files, const char *text, size_t size, struct bl_error *e)
{
    files->count = 0;
    bl_buffer_clear(&files->text);
    bl_text_trim(&text, &size, " \t\r\n");
    if (!size || (size == 4 && memcmp(text, "null", 4) == 0))
        return BL_OK;
    BL_TRY(*text == '[' || *text == '{' ? files_parse_json(files, text, size, e)
                                        : files_add_path(files, text, size, e));
    if (files->count > INT32_MAX)
        return bl_error_set(e, BL_EDATA, "more than 2147483647 files");
    for (size_t i = 0; i < files->count; i++) { /* the text does not move any more */
        size_t end = i + 1 < files->count ? files->begin[i + 1] : files->text.size;
        files->line[i].text = files->text.data + files->begin[i];
        files->line[i].size = end - files->begin[i];
    }
    return BL_OK;
}

/* --- counting ----------------------------------------------------------------------------------------------------- */

void bl_own_found_free(struct bl_own_found *found)
{
    bl_buffer_free(&found->record);
    bl_buffer_free(&found->names);
    bl_buffer_free(&found->reason);
    bl_buffer_free(&found->fault);
}

/* Appends the names of the columns that the kind of the files adds to a table, a tab before each. */
static int own_files_columns(const struct bl_composite_part *part, struct bl_buffer *out, struct bl_error *e)
{
    bl_buffer_clear(out);
    if (part->kind->scan->columns)
        part->kind->scan->columns(part->config, false, out);
    bl_buffer_text(out, "");
    return bl_buffer_check(out, e);
}

/* Returns the bytes of the first values of a row, as many as there are names. Each has a tab before it. */
static size_t values_size(const char *values, const char *names)
{
    const char *end = values;
    for (; *names; names++) {
        if (*names == '\t' && *end == '\t')
            end += 1 + strcspn(end + 1, "\t");
    }
    return (size_t)(end - values);
}

/* Appends the record of a file that was counted. The row has the members of enum record. */
static void found_append_record(struct bl_own_found *found, const struct bl_row *row)
{
    struct bl_buffer *out = &found->record;
    if (out->size)
        bl_buffer_byte(out, '\n');
    bl_text_escape(out, row->path, strlen(row->path));
    bl_buffer_printf(out, "\t%" PRId64 "\t%" PRId64 "\t", row->length, row->bytes);
    bl_content_format(row->content, out);
    size_t columns = row->extra ? values_size(row->extra, found->names.data) : 0;
    bool is_long = row->clip_end || columns; /* values at the end that are empty are left out */
    if (row->stream < 0 && !is_long && !*row->reason)
        return; /* a picture */
    bl_buffer_byte(out, '\t');
    if (row->stream >= 0)
        bl_buffer_int(out, row->stream);
    if (is_long || *row->reason)
        bl_buffer_byte(out, '\t');
    bl_text_escape(out, row->reason, strlen(row->reason));
    if (is_long)
        bl_buffer_printf(out, "\t%" PRId64 "\t%" PRId64 "\t%s", row->clip_begin, row->clip_end,
                         row->clip_seek ? row->clip_seek : "");
    if (columns) {
        bl_buffer_byte(out, '\t');
        bl_text_escape(out, row->extra, columns);
    }
}

/* Returns the reason of a row without the place of its line, "LIST:NUMBER: ": the line is a value of a row, which the
 * table names anyway. */
static const char *found_reason(const struct bl_own_found *found, const struct bl_row *row)
{
    char number[24];
    size_t name = strlen(found->list), size = (size_t)snprintf(number, sizeof number, ":%" PRId64 ": ", row->offset);
    bool has_place = strncmp(row->reason, found->list, name) == 0 && strncmp(row->reason + name, number, size) == 0;
    return row->reason + (has_place ? name + size : 0);
}

/* Takes the row of a file; it is a bl_row_emit. The columns of the row end with those of the clip (BL_CLIP_COLUMNS),
 * which have where decoding begins. */
static int found_take(void *sink, int input, const struct bl_row *given, struct bl_error *e)
{
    (void)input;
    struct bl_own_found *found = sink;
    struct bl_row row = *given;
    row.reason = row.reason ? row.reason : "";
    found->files++;
    if (row.status != BL_ROW_OK) {
        if (!found->fault.size)
            bl_buffer_text(&found->fault, *found_reason(found, &row) ? found_reason(found, &row) : "unusable");
        return bl_buffer_check(&found->fault, e);
    }
    const char *seek = row.extra ? strrchr(row.extra, '\t') : NULL;
    row.clip_seek = seek && row.clip_end ? seek + 1 : NULL;
    found->steps += row.length;
    found_append_record(found, &row);
    if (bl_own_has_damage(&row))
        bl_companion_append_damage(found->part, row.path, row.reason, &found->reason);
    BL_TRY(bl_buffer_check(&found->reason, e));
    return bl_buffer_check(&found->record, e);
}

int bl_own_files_count(const struct bl_own_source *source, const struct bl_kind_env *env, struct bl_counter *counter,
                       const char *list, const struct bl_own_files *files, struct bl_own_found *found,
                       struct bl_error *e)
{
    const struct bl_composite_part *part = source->part;
    const struct bl_input input = {.path = list, .name = list, .id = ""};
    struct bl_chunk chunk = {.input = &input,
                             .inputs = 1,
                             .end = INT64_MAX,
                             .base = source->base,
                             .list = true,
                             .clips = true,
                             .line = files->line,
                             .lines = (int)files->count};
    found->steps = 0;
    found->files = 0;
    found->part = part;
    found->list = list;
    bl_buffer_clear(&found->record);
    bl_buffer_clear(&found->reason);
    bl_buffer_clear(&found->fault);
    bl_buffer_text(&found->record, "");
    BL_TRY(own_files_columns(part, &found->names, e));
    if (files->count)
        BL_TRY(part->kind->scan->count(part->config, env, counter, &chunk, found_take, found, e));
    BL_TRY(bl_buffer_check(&found->record, e));
    if (found->fault.size)
        return bl_error_set(e, BL_EDATA, "%s", found->fault.data);
    if (found->files != files->count)
        return bl_error_set(e, BL_EDATA, "%zu of %zu files are usable", found->files, files->count);
    if (found->steps > INT32_MAX)
        return bl_error_set(e, BL_EDATA, "%" PRId64 " steps: at most 2147483647 can be used", found->steps);
    if (found->record.size > RECORDS_MAX)
        return bl_error_set(e, BL_EDATA, "%zu files: more than a row of the table can name", files->count);
    return BL_OK;
}

/* --- records ------------------------------------------------------------------------------------------------------ */

enum record {
    RECORD_PATH,
    RECORD_LENGTH,
    RECORD_BYTES,
    RECORD_CONTENT,
    RECORD_STREAM,
    RECORD_REASON,
    RECORD_BEGIN, /* of a clip: its frames, and where decoding begins */
    RECORD_END,
    RECORD_SEEK,
    RECORD_COLUMNS, /* the values of the kind's own columns, a tab before each */
    RECORD_VALUES
};

void bl_own_records_free(struct bl_own_records *records)
{
    bl_buffer_free(&records->text);
    bl_buffer_free(&records->names);
    free(records->open_path);
    *records = (struct bl_own_records){0};
}

/* Reads the column NAME.files of the row into records->text. */
static int records_begin(struct bl_own_records *r, struct bl_error *e)
{
    struct bl_buffer name = {0};
    bl_buffer_printf(&name, "%s.files", r->source.part->name);
    int code = bl_buffer_check(&name, e);
    bl_buffer_text(&r->text, "");
    if (!code && !bl_row_get_value(r->row, name.data, &r->text))
        code = bl_error_set(e, BL_EUSAGE, "the table has no valid column %s: scan with the same fields", name.data);
    bl_buffer_byte(&r->text, '\0');
    bl_buffer_free(&name);
    r->begun = true;
    BL_TRY(code ? code : bl_buffer_check(&r->text, e));
    return own_files_columns(r->source.part, &r->names, e);
}

/* Sets a number of a record, which is -1 or more. Returns false for another text. */
static bool record_number(const char *text, int64_t missing, int64_t *value)
{
    *value = missing;
    return !*text || bl_text_to_int(text, strlen(text), 0, INT64_MAX, value);
}

/* Sets r->file by the values of a record. BL_EFAIL: one of them is malformed. */
static int records_set(struct bl_own_records *r, char *const value[RECORD_VALUES], struct bl_error *e)
{
    int64_t stream;
    struct bl_row *file = &r->file;
    *file = (struct bl_row){.id = r->row->id,
                            .kind = r->source.part->kind->name,
                            .status = BL_ROW_OK,
                            .sampling = r->row->sampling,
                            .start = "",
                            .duration = "",
                            .channel = "",
                            .reason = value[RECORD_REASON],
                            .clip_seek = value[RECORD_SEEK],
                            .offset = -1,
                            .extra = value[RECORD_COLUMNS],
                            .columns = r->names.data};
    if (!record_number(value[RECORD_LENGTH], 0, &file->length) ||
        !record_number(value[RECORD_BYTES], -1, &file->bytes) || !record_number(value[RECORD_STREAM], -1, &stream) ||
        stream > INT32_MAX || !record_number(value[RECORD_BEGIN], 0, &file->clip_begin) ||
        !record_number(value[RECORD_END], 0, &file->clip_end) || file->clip_begin > file->clip_end ||
        file->length > INT32_MAX || !bl_content_parse(value[RECORD_CONTENT], &file->content))
        return bl_error_set(e, BL_EFAIL, "%s: an invalid number in %s.files", r->row->id, r->source.part->name);
    file->stream = (int)stream;
    file->is_clip = file->clip_end > 0;
    r->path = value[RECORD_PATH];
    free(r->open_path);
    file->path = r->open_path = bl_path_join(r->source.base, r->path);
    return r->open_path ? BL_OK : bl_error_memory(e);
}

int bl_own_records_next(struct bl_own_records *r, bool *found, struct bl_error *e)
{
    char *value[RECORD_VALUES];
    static char none[1];
    if (!r->begun)
        BL_TRY(records_begin(r, e));
    char *at = r->text.data + r->at;
    *found = *at;
    if (!*found)
        return BL_OK;
    size_t size = strcspn(at, "\n");
    r->at += size + (at[size] == '\n');
    at[size] = '\0';
    for (int v = 0; v < RECORD_VALUES; v++) {
        value[v] = at ? at : none;
        char *tab = at ? strchr(at, '\t') : NULL;
        if (tab)
            *tab = '\0';
        if (at) {
            int64_t length = bl_text_unescape(at, strlen(at));
            if (length < 0)
                return bl_error_set(e, BL_EFAIL, "%s: %s.files is malformed", r->row->id, r->source.part->name);
            at[length] = '\0';
        }
        at = tab ? tab + 1 : NULL;
    }
    return records_set(r, value, e);
}
