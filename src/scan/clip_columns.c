/* Reads the columns of all lists of a scan before the lines are read: the table of sequences gets its header first.
 *
 * A CSV needs only its header. Each line of a JSON list may have a key that no other line has, so all lines are read,
 * and read once more later, for their values. */
#include "scan/clip_columns.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/documents.h"
#include "base/fs.h"
#include "base/input_file.h"
#include "base/records.h"
#include "base/text.h"
#include "kind/audio/kaldi.h"
#include "kind/input_stat.h"
#include "kind/kind.h"
#include "scan/attributes.h"
#include "scan/plain_list.h"

/* --- names of columns --------------------------------------------------------------------------------------------- */

/* Names of the column with the path in lists of other programs, such as Hugging Face datasets and NeMo, in any case. */
static const char *const usual[] = {"file_name",  "filename",   "file_path",  "filepath",       "video",
                                    "video_path", "video_file", "audio_path", "audio_filepath", NULL};

/* --- --columns -------------------------------------------------------------------------------------------------- */

/* A pair of --columns: NAME=COLUMN. */
struct pair {
    struct bl_clip_name name, column;
    const char *next; /* the text of the next pair, or NULL */
};

/* Reads the pair at the beginning of the text. A pair without "=" has an empty column, which bl_clip_names_check
 * refuses. */
static struct pair clip_read_pair(const char *text)
{
    size_t size = strcspn(text, ","), name = strcspn(text, ",=");
    /* Without "=", the column begins at the end of the pair and is empty. */
    size_t column = text[name] == '=' ? name + 1 : size;
    return (struct pair){
        .name = {text, name}, .column = {text + column, size - column}, .next = text[size] ? text + size + 1 : NULL};
}

static bool names_are_same(struct bl_clip_name a, struct bl_clip_name b)
{
    return a.size == b.size && memcmp(a.text, b.text, a.size) == 0;
}

/* Returns whether the name, which has no NUL at its end, is this text. */
static bool clip_name_is(struct bl_clip_name name, const char *text)
{
    return names_are_same(name, (struct bl_clip_name){text, strlen(text)});
}

/* Checks the text of --columns. BL_EUSAGE: a pair is incomplete, a name or column occurs twice, or there are too
 * many pairs. A set of renamed columns is one number of 64 bits. */
int bl_clip_names_check(const char *renames, struct bl_error *e)
{
    int count = 0;
    struct pair pair, before;
    for (const char *text = renames; text; text = pair.next) {
        pair = clip_read_pair(text);
        if (!pair.name.size || !pair.column.size || ++count > BL_CLIP_RENAMES_MAX)
            return bl_error_set(e, BL_EUSAGE,
                                "--columns expects 1 to %d pairs NAME=COLUMN with commas between them, such as "
                                "path=file_name,label=class, not \"%s\"",
                                BL_CLIP_RENAMES_MAX, renames);
        if (bl_clip_template_is(pair.column)) {
            BL_TRY(bl_clip_template_check(pair.column, e));
            if (!clip_name_is(pair.name, "path") && !clip_name_is(pair.name, "id"))
                return bl_error_set(e, BL_EUSAGE, "--columns %.*s=%.*s: only path and id can have a template",
                                    (int)pair.name.size, pair.name.text, (int)pair.column.size, pair.column.text);
        }
        /* Each pair is compared with those before it: there are at most 64. */
        for (const char *other = renames; other != text; other = before.next) {
            before = clip_read_pair(other);
            if (names_are_same(before.name, pair.name) || names_are_same(before.column, pair.column))
                return bl_error_set(e, BL_EUSAGE, "--columns %s: a name or a column occurs twice", renames);
        }
    }
    return BL_OK;
}

/* Returns the name that a column gets: that of --columns, or its own. renames: "NAME=COLUMN,...", checked, or NULL.
 * *number: the number of the pair that renames the column, or -1. */
static struct bl_clip_name clip_names_find(const char *renames, const char *column, size_t size, int *number)
{
    struct bl_clip_name own = {column, size};
    struct pair pair;
    *number = 0;
    for (const char *text = renames; text; text = pair.next, ++*number) {
        pair = clip_read_pair(text);
        if (names_are_same(pair.column, own))
            return pair.name;
    }
    *number = -1;
    return own;
}

struct bl_clip_name bl_clip_names_template(const char *renames, enum bl_clip_value value)
{
    struct pair pair;
    for (const char *text = renames; text; text = pair.next) {
        pair = clip_read_pair(text);
        if (bl_clip_template_is(pair.column) && clip_name_is(pair.name, bl_clip_value_name[value]))
            return pair.column;
    }
    return (struct bl_clip_name){"", 0};
}

/* Returns the column of pair `number`, empty behind the last pair. */
struct bl_clip_name bl_clip_names_column(const char *renames, int number)
{
    struct pair pair = {.next = renames};
    for (int i = 0; i <= number; i++) {
        if (!pair.next)
            return (struct bl_clip_name){"", 0};
        pair = clip_read_pair(pair.next);
    }
    return pair.column;
}

/* --- the path --------------------------------------------------------------------------------------------------- */

/* Takes one more column. The column "path" is the path; otherwise the first column with a usual name is. *second is
 * set to a further column with such a name. An empty path->name means "path" itself. */
static void path_offer(struct bl_clip_path *path, struct bl_clip_name name, struct bl_clip_path *second)
{
    if (clip_name_is(name, "path")) {
        *path = (struct bl_clip_path){.found = true};
        /* The column "path" was found before and wins over all usual names. */
        return;
    }
    if (path->found && !*path->name)
        return;
    struct bl_clip_path *at = path->found ? second : path;
    for (size_t u = 0; usual[u]; u++) {
        if (strlen(usual[u]) != name.size || strncasecmp(usual[u], name.text, name.size) != 0)
            continue;
        at->found = true;
        snprintf(at->name, sizeof at->name, "%.*s", (int)name.size, name.text);
        return;
    }
}

/* Checks that only one column can be the path. BL_EUSAGE: two have usual names, and none is called "path". */
static int path_check(const struct bl_clip_path *path, const struct bl_clip_path *second, struct bl_error *e)
{
    /* An empty name means the column "path", which needs no choice. */
    if (!*path->name || !second->found)
        return BL_OK;
    return bl_error_set(e, BL_EUSAGE, "\"%s\" or \"%s\" may be the path: choose with --columns path=%s", path->name,
                        second->name, path->name);
}

int bl_clip_path_of_header(struct bl_clip_path *path, const char *renames, char *const *column, size_t count,
                           struct bl_error *e)
{
    struct bl_clip_path second = {0};
    /* The two structs start empty: no path yet, and no second one. */
    int number;
    *path = second;
    path->found = bl_clip_names_template(renames, BL_CLIP_PATH).size > 0;
    for (size_t c = 0; c < count; c++)
        path_offer(path, clip_names_find(renames, column[c], strlen(column[c]), &number), &second);
    return path_check(path, &second, e);
}

int bl_clip_path_of_object(struct bl_clip_path *path, const char *renames, const struct bl_json_value *object,
                           struct bl_error *e)
{
    struct bl_clip_path second = {0};
    struct bl_json_value key, value;
    int number;
    *path = second;
    path->found = bl_clip_names_template(renames, BL_CLIP_PATH).size > 0;
    for (size_t at = 0; bl_json_next_member(object, &at, &key, &value);) {
        struct bl_clip_name name = clip_names_find(renames, key.text, key.size, &number);
        if (value.type == BL_JSON_STRING || clip_name_is(name, "path")) /* lhotse has an object "video" */
            path_offer(path, name, &second);
    }
    return path_check(path, &second, e);
}

/* --- columns of clips --------------------------------------------------------------------------------------------- */

#define KEYS_SHOWN 8 /* in messages */
#define STOP_FRAME "stop_frame"

/* A list whose columns are read. path: to open it; shown: for messages, which also decides the format by its
 * extension. */
struct reading {
    struct bl_clip_columns *columns;
    const struct bl_kind *kind;
    const char *path, *shown;
    int64_t line;
    struct bl_clip_path clip_path;
    bool has[BL_CLIP_FURTHER]; /* a column has this place; also for kinds without BL_CLIP_STOP_FRAME */
    char similar[48];          /* the first further column whose name has "start" in it */
    struct bl_buffer scratch;
};

void bl_clip_columns_free(struct bl_clip_columns *columns)
{
    for (size_t c = 0; c < columns->count; c++)
        free(columns->name[c]);
    free(columns->name);
    *columns = (struct bl_clip_columns){0};
}

/* Returns whether a list is a CSV or TSV, by its name. */
bool bl_clip_columns_is_table(const char *path)
{
    static const char *const extensions[] = {"csv", "tsv", "csv.gz", "tsv.gz", "csv.zst", "tsv.zst", NULL};
    return bl_path_has_extension(path, extensions);
}

size_t bl_clip_columns_find(const struct bl_clip_columns *columns, const char *name, size_t size)
{
    for (size_t c = 0; c < columns->count; c++) {
        if (clip_name_is((struct bl_clip_name){name, size}, columns->name[c]))
            return c;
    }
    return SIZE_MAX;
}

/* Returns the place of a column's value in a clip: BL_CLIP_PATH and so on, or BL_CLIP_FURTHER + the number of the
 * further column, or SIZE_MAX if the column is unknown. */
size_t bl_clip_columns_place(const struct bl_clip_columns *columns, const struct bl_clip_path *path, const char *column,
                             size_t size)
{
    int number;
    /* The renamed column counts: --columns start=begin makes "begin" the start. */
    const struct bl_clip_name name = clip_names_find(columns->renames, column, size, &number);
    if (*path->name && clip_name_is(name, path->name))
        return BL_CLIP_PATH;
    for (size_t v = 0; v < BL_CLIP_VALUES; v++) {
        if (clip_name_is(name, bl_clip_value_name[v]))
            return v;
    }
    if (columns->numbers && clip_name_is(name, STOP_FRAME))
        return BL_CLIP_STOP_FRAME;
    size_t c = bl_clip_columns_find(columns, name.text, name.size);
    return c == SIZE_MAX ? c : BL_CLIP_FURTHER + c;
}

/* Parses a line as a JSON object. Returns false, with the fault, if it is none. */
bool bl_clip_columns_object(const char *line, size_t size, struct bl_json_value *object, struct bl_json_fault *fault)
{
    /* White space before the object is skipped; bl_json_scan refuses anything behind it. */
    size_t blank = 0;
    while (blank < size && strchr(" \t\r", line[blank]))
        blank++;
    *object = (struct bl_json_value){.type = BL_JSON_OBJECT, .text = line + blank, .size = size - blank};
    return bl_json_scan(line, size, NULL, 0, NULL, fault);
}

/* Returns whether the column chooses channels, for a kind whose lists do. */
static bool column_is_channel(const struct reading *r, const char *name)
{
    const struct bl_kind_lists *lists = r->kind->scan->lists;
    return lists && lists->channels && strcmp(name, BL_CLIP_CHANNEL) == 0;
}

/* Adds a further column. BL_EUSAGE: the table of sequences cannot have such a name, or there are too many columns. */
static int columns_append(struct reading *r, const char *name, struct bl_error *e)
{
    struct bl_clip_columns *c = r->columns;
    if (c->count == BL_ATTRIBUTE_COLUMNS_MAX)
        return bl_error_set(e, BL_EUSAGE, "%s:%" PRId64 ": more than %d columns", r->shown, r->line,
                            BL_ATTRIBUTE_COLUMNS_MAX);
    if (column_is_channel(r, name))
        c->channels = true;
    else
        BL_TRY(bl_attributes_check_name(name, r->shown, r->line, "rename the column (--columns), or leave it out", e));
    BL_TRY(BL_ARRAY_RESERVE(c->name, c->capacity, c->count + 1, e));
    c->name[c->count] = strdup(name);
    if (!c->name[c->count])
        return bl_error_memory(e);
    c->count++;
    return BL_OK;
}

/* Adds a column of clips unless it is known. A name that equals a part of a clip except for its case or blanks
 * around it, such as "Start", is an error: as an attribute it would leave every clip without its start. */
static int clip_add_columns(struct reading *r, const char *column, size_t size, struct bl_error *e)
{
    struct bl_clip_columns *c = r->columns;
    int number;
    const struct bl_clip_name renamed = clip_names_find(c->renames, column, size, &number);
    size_t place = bl_clip_columns_place(c, &r->clip_path, column, size);
    if (number >= 0)
        c->renamed |= UINT64_C(1) << number;
    char *name = strndup(renamed.text, renamed.size);
    if (!name)
        return bl_error_memory(e);
    if (place < BL_CLIP_FURTHER)
        r->has[place] = true;
    /* A time that is part of a file's name, as in "{id}_{time_start:06}.mp4", means whole files. */
    else if (!*r->similar && strcasestr(name, "start") &&
             !bl_clip_template_has(bl_clip_names_template(c->renames, BL_CLIP_PATH), column, size))
        snprintf(r->similar, sizeof r->similar, "%s", name);
    r->has[BL_CLIP_STOP_FRAME] |= strcmp(name, STOP_FRAME) == 0;
    c->stops |= place == BL_CLIP_STOP_FRAME;
    const char *plain = name, *meant = NULL;
    size_t bytes = strlen(name);
    bl_text_trim(&plain, &bytes, " \t");
    for (size_t v = 0; v <= (size_t)BL_CLIP_END_FRAME + c->numbers && place == SIZE_MAX && !meant; v++) {
        const char *known = v <= BL_CLIP_END_FRAME ? bl_clip_value_name[v] : STOP_FRAME;
        if (strlen(known) == bytes && strncasecmp(known, plain, bytes) == 0)
            meant = known;
    }
    if (place == SIZE_MAX && strlen(BL_CLIP_CHANNEL) == bytes && strncasecmp(BL_CLIP_CHANNEL, plain, bytes) == 0 &&
        column_is_channel(r, BL_CLIP_CHANNEL) && strcmp(BL_CLIP_CHANNEL, name) != 0)
        meant = BL_CLIP_CHANNEL;
    int code = BL_OK;
    /* A column with a known place is a part of a clip or known already. */
    if (meant)
        code = bl_error_set(e, BL_EUSAGE, "%s:%" PRId64 ": the column \"%s\": write it \"%s\", or give --columns %s=%s",
                            r->shown, r->line, name, meant, meant, name);
    else if (place == SIZE_MAX)
        code = columns_append(r, name, e);
    free(name);
    return code;
}

/* Checks that all lists of a scan are of clips, or all are manifests: their rows have different columns. */
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

/* Sets the error for a table whose columns have no path. The message names the first columns, as a header is often
 * missing: then these are values. */
static int table_refuse(const struct reading *r, const struct bl_csv *records, struct bl_error *e)
{
    struct bl_buffer names = {0};
    for (size_t c = 0; c < records->values && c < KEYS_SHOWN; c++)
        bl_buffer_printf(&names, "%s\"%s\"", c ? ", " : "", records->value[c]);
    bl_buffer_text(&names, records->values > KEYS_SHOWN ? ", ..." : "");
    int code = bl_buffer_check(&names, e);
    if (!code)
        code =
            bl_error_set(e, BL_EUSAGE,
                         "%s:%" PRId64 ": no column \"path\", the only one that a list must have: its first line "
                         "names the columns, and these are %s (--columns path=NAME says which is the path; a list of "
                         "paths without that line, or of paths and labels, is a .txt)",
                         r->shown, r->line, names.data);
    bl_buffer_free(&names);
    return code;
}

/* Checks that the table has the columns of a template, and no path or id of its own that would be lost. BL_EUSAGE. */
static int table_check_template(const struct reading *r, const struct bl_csv *records, enum bl_clip_value value,
                                struct bl_error *e)
{
    const char *renames = r->columns->renames, *what = bl_clip_value_name[value];
    const struct bl_clip_name template = bl_clip_names_template(renames, value);
    struct bl_clip_name rest = template;
    struct bl_clip_part part;
    int number;
    while (bl_clip_template_next(&rest, &part)) {
        bool found = !part.is_column;
        for (size_t c = 0; c < records->values && !found; c++)
            found = clip_name_is(part.name, records->value[c]);
        if (!found)
            return bl_error_set(e, BL_EUSAGE, "%s:%" PRId64 ": no column \"%.*s\", of which --columns makes the %s",
                                r->shown, r->line, (int)part.name.size, part.name.text, what);
    }
    for (size_t c = 0; c < records->values && template.size; c++) {
        const char *column = records->value[c];
        if (clip_name_is(clip_names_find(renames, column, strlen(column), &number), what) &&
            !bl_clip_template_has(template, column, strlen(column)))
            return bl_error_set(e, BL_EUSAGE,
                                "%s:%" PRId64 ": the column \"%s\" would be lost, as --columns makes the %s of others: "
                                "use {%s} in it, or give --columns old_%s=%s",
                                r->shown, r->line, column, what, column, what, column);
    }
    return BL_OK;
}

/* Adds the columns of a header. BL_EUSAGE: two columns have one name after renaming, or no column is the path. */
static int table_add_columns(struct reading *r, const struct bl_csv *records, struct bl_error *e)
{
    const char *renames = r->columns->renames;
    int code = bl_clip_path_of_header(&r->clip_path, renames, records->value, records->values, e), number;
    if (code)
        return bl_error_prefix(e, "%s:%" PRId64, r->shown, r->line), code;
    for (size_t c = 0; c < records->values && !code; c++) {
        const char *column = records->value[c];
        const struct bl_clip_name name = clip_names_find(renames, column, strlen(column), &number);
        /* Headers have some dozen columns, so that comparing all pairs is fast. */
        for (size_t before = 0; before < c && !code; before++) {
            const char *other = records->value[before];
            const struct bl_clip_name same = clip_names_find(renames, other, strlen(other), &number);
            if (same.size == name.size && memcmp(same.text, name.text, name.size) == 0)
                code = bl_error_set(e, BL_EUSAGE, "%s:%" PRId64 ": duplicate column \"%.*s\"", r->shown, r->line,
                                    (int)name.size, name.text);
        }
        if (!code)
            code = clip_add_columns(r, column, strlen(column), e);
    }
    code = code ? code : table_check_template(r, records, BL_CLIP_PATH, e);
    code = code ? code : table_check_template(r, records, BL_CLIP_ID, e);
    return code || r->clip_path.found ? code : table_refuse(r, records, e);
}

/* --- JSON lines ------------------------------------------------------------------------------------------------- */

/* Adds a further column of a manifest unless it is known: a callback of bl_list_values. */
static int manifest_add_column(void *sink, const char *name, const struct bl_json_value *value, struct bl_error *e)
{
    (void)value;
    struct reading *r = sink;
    return bl_clip_columns_find(r->columns, name, strlen(name)) == SIZE_MAX ? columns_append(r, name, e) : BL_OK;
}

/* Decides by the first line that is an object whether the list has clips or is a manifest. A line of NeMo's
 * manifests has a key "audio_filepath", which is also a usual name of the path: for kinds with manifests the list is
 * a manifest. */
static int object_decide(struct reading *r, const struct bl_json_value *object, bool *is_clip, struct bl_error *e)
{
    struct bl_clip_path *path = &r->clip_path;
    bool manifests = bl_kind_has_manifests(r->kind);
    int code = bl_clip_path_of_object(path, r->columns->renames, object, e);
    bool is_nemo = false;
    struct bl_json_value name, value;
    for (size_t at = 0; manifests && bl_json_next_member(object, &at, &name, &value);) {
        const struct bl_clip_name key = {name.text, name.size};
        is_nemo |= clip_name_is(key, "audio_filepath") || clip_name_is(key, "audio_filename");
    }
    /* The path is then no ambiguity: the line is one of a manifest. */
    if (is_nemo && (code || *path->name)) {
        *path = (struct bl_clip_path){0};
        bl_error_clear(e);
        code = BL_OK;
    }
    *is_clip = path->found;
    if (code)
        bl_error_prefix(e, "%s:%" PRId64, r->shown, r->line);
    if (!code && !path->found && !manifests) {
        bl_buffer_clear(&r->scratch);
        bl_json_append_keys(object->text, object->size, KEYS_SHOWN, &r->scratch);
        code = bl_error_set(e, BL_EUSAGE,
                            "%s:%" PRId64 ": no key \"path\", the only one that the lines of a list must have: the "
                            "keys are %s (--columns path=KEY says which is the path)",
                            r->shown, r->line, r->scratch.size ? r->scratch.data : "none");
    }
    return code ? code : columns_agree(r, path->found, e);
}

/* Adds the keys of a JSON line. The second pass reports lines that are no object, as rows that are skipped. */
static int line_add_columns(struct reading *r, const struct bl_document *line, bool *decided, struct bl_error *e)
{
    struct bl_json_value object;
    struct bl_json_fault fault;
    if (line->too_long || bl_text_is_blank(line->text, line->size) ||
        !bl_clip_columns_object(line->text, line->size, &object, &fault))
        return BL_OK;
    bool is_clip = r->columns->are_clips;
    if (!*decided)
        BL_TRY(object_decide(r, &object, &is_clip, e));
    *decided = true;
    /* Kinds whose lists have values read them by this function, also in the second pass. */
    r->columns->values = r->kind->scan->lists->values;
    if (!is_clip)
        return r->columns->values(&object, manifest_add_column, r, e);
    struct bl_json_value name, value;
    for (size_t at = 0; bl_json_next_member(&object, &at, &name, &value);) {
        size_t lone;
        bl_buffer_clear(&r->scratch);
        bl_json_unescape(&name, &r->scratch, &lone);
        bl_buffer_text(&r->scratch, "");
        BL_TRY(bl_buffer_check(&r->scratch, e));
        BL_TRY(clip_add_columns(r, r->scratch.data, r->scratch.size, e));
    }
    return BL_OK;
}

/* Decides by the first line of a plain list whether labels follow the paths. *ended: no more lines are needed, as
 * all lines must be like the first one. */
static int plain_add_columns(struct reading *r, const struct bl_document *line, bool *ended, struct bl_error *e)
{
    const char *text = line->text;
    size_t size = line->size;
    bool labelled;
    if (line->too_long || bl_text_is_blank(text, size))
        return BL_OK;
    *ended = true;
    bl_plain_list_trim(&text, &size);
    int code = bl_plain_list_decide(&labelled, r->path, text, size, e);
    if (code)
        return bl_error_prefix(e, "%s:%" PRId64, r->shown, r->line), code;
    BL_TRY(columns_agree(r, true, e));
    BL_TRY(clip_add_columns(r, "path", 4, e));
    return labelled ? clip_add_columns(r, "label", 5, e) : BL_OK;
}

/* Reads the columns of a table from its header line. */
static int table_read_columns(struct reading *r, const struct bl_cancel *cancel, struct bl_error *e)
{
    struct bl_csv records;
    bool found;
    BL_TRY(bl_csv_open(&records, r->path, cancel, e));
    int code = bl_csv_next(&records, &found, e);
    r->line = records.line;
    if (!code && found)
        code = columns_agree(r, true, e);
    if (!code && found)
        code = table_add_columns(r, &records, e);
    bl_csv_close(&records);
    return code;
}

/* Reads the columns of a list that is no table, line by line to its end. */
static int lines_read(struct reading *r, const struct bl_cancel *cancel, struct bl_error *e)
{
    static const struct bl_division_rule rule = {.by = BL_DIVISION_LINE};
    struct bl_documents *lines;
    bool found = true, decided = false, ended = false, plain = bl_plain_list_has_name(r->shown);
    int code = bl_documents_open(&lines, r->path, &rule, 0, INT64_MAX, BL_LIST_LINE_MAX, cancel, e);
    if (code)
        return code;
    /* A plain list ends after its first line: the labels of the first line decide. */
    while (!code && found && !ended) {
        struct bl_document line;
        code = bl_documents_next(lines, &line, &found, e);
        r->line += !code && found;
        if (!code && found)
            bl_list_skip_mark(&line);
        if (!code && found)
            code = plain ? plain_add_columns(r, &line, &ended, e) : line_add_columns(r, &line, &decided, e);
    }
    bl_documents_close(lines);
    return code;
}

/* --- Kaldi's folders ---------------------------------------------------------------------------------------------- */

/* Adds the columns of a folder of Kaldi's: those of the files that lie beside its list. */
static int kaldi_add_columns(struct reading *r, struct bl_error *e)
{
    static const struct {
        const char *file, *column;
    } columns[] = {{"text", "text"}, {"utt2spk", "speaker"}};
    r->line = 1;
    r->has[BL_CLIP_START] = true;
    int code = columns_agree(r, true, e);
    for (size_t c = 0; c < sizeof columns / sizeof *columns && !code; c++) {
        bool exists = false;
        char *path = bl_kaldi_beside(r->path, columns[c].file);
        code = path ? bl_input_file_exists(path, &exists, e) : bl_error_memory(e);
        free(path);
        if (!code && exists)
            code = clip_add_columns(r, columns[c].column, strlen(columns[c].column), e);
    }
    return code;
}

/* --- lists of a scan ---------------------------------------------------------------------------------------------- */

/* Adds the columns of a list. A list that cannot be read is no error here: the scan reports it as a skipped input,
 * with a row. */
int bl_clip_columns_add(struct bl_clip_columns *columns, const struct bl_kind *kind, const char *path,
                        const char *shown, const struct bl_cancel *cancel, struct bl_error *e)
{
    struct reading r = {.columns = columns, .kind = kind, .path = path, .shown = shown};
    struct bl_input input = {.path = path};
    struct bl_error why = {0};
    const char *unusable;
    columns->numbers = kind->scan->lists && kind->scan->lists->numbers;
    int code = bl_input_stat(NULL, &input, &unusable, e); /* opening a pipe would wait for its writer */
    if (code || unusable)
        return code;
    code = bl_list_is_kaldi(shown)           ? kaldi_add_columns(&r, &why)
           : bl_clip_columns_is_table(shown) ? table_read_columns(&r, cancel, &why)
                                             : lines_read(&r, cancel, &why);
    bool has_ends = r.has[BL_CLIP_STOP_FRAME];
    for (size_t v = BL_CLIP_START; v <= BL_CLIP_END_FRAME; v++)
        has_ends |= r.has[v];
    if (!code && !columns->numbers && r.has[BL_CLIP_STOP_FRAME] && r.has[BL_CLIP_START_FRAME] &&
        !r.has[BL_CLIP_END_FRAME]) /* every clip would end with its file */
        code = bl_error_set(&why, BL_EUSAGE,
                            "%s: the column \"stop_frame\" is for folders of images, and its frame is included: for "
                            "%s, write a column \"end_frame\", the frame behind the clip",
                            shown, kind->name);
    /* Such a list would give whole files where clips were meant. */
    if (!code && !has_ends && *r.similar) /* every line would be the whole file */
        code = bl_error_set(&why, BL_EUSAGE,
                            "%s: no column \"start\", \"end\", \"start_frame\" or \"end_frame\", but \"%s\": rename it "
                            "(--columns start=%s), or leave it out if the lines are whole files",
                            shown, r.similar, r.similar);
    bl_buffer_free(&r.scratch);
    /* The reader of the lines reports a file that cannot be opened, or is damaged, as an input that is skipped. */
    bool readable = access(path, R_OK) == 0;
    return code == BL_OK || code == BL_EDATA || (code == BL_EFAIL && !readable) ? BL_OK : bl_error_pass(e, code, &why);
}
