/* Reads lists of any format and makes their lines uniform, in the format of kind/list.h.
 *
 * A line of clips becomes the values of all columns of the scan, escaped, with tabs between them. From a CSV with
 * the columns path and label, the line "a.mp4,dog" becomes "a.mp4\t\t...\tdog". So workers need not know whether the
 * list was CSV, TSV, JSON or plain. */
#include "scan/list_lines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/records.h"
#include "base/text.h"
#include "kind/audio/kaldi.h"
#include "kind/kind.h"
#include "scan/plain_list.h"

/* --- lines of a list ---------------------------------------------------------------------------------------------- */

#define CLIP_MAX ((size_t)256 << 10) /* bytes of all values: a row must stay readable */

/* A value of a clip: a range of bytes in `text`, which may move while it grows. */
struct value {
    size_t at, size;
};

struct bl_list_lines {
    const struct bl_clip_columns *columns;  /* of clips; NULL: the lines are those of a manifest */
    const struct bl_clip_columns *manifest; /* the further columns of one; NULL: its lines stay as they are */
    const char *path;                       /* as it was given to open */
    struct bl_clip_path clip_path;
    bool is_table, is_plain;
    bool is_stdin;  /* its keys could not be seen before */
    bool decided;   /* a first line has said which key is the path, or whether a plain list has labels */
    bool labelled;  /* a plain list has them */
    bool stops;     /* start_frame and stop_frame are numbers in the names of images */
    bool two_paths; /* in the last line */
    struct bl_csv records;
    struct bl_documents *documents;
    struct bl_kaldi *kaldi; /* a data folder of Kaldi's */
    int64_t number;         /* of the last line that was read */
    struct bl_line line;    /* the last one that was given */
    bool again;             /* it comes once more */
    size_t *place;          /* [header]: of each column of a table, as bl_clip_columns_place */
    size_t header;
    struct value *value; /* [BL_CLIP_FURTHER + columns->count], or [manifest->count], in text */
    struct bl_buffer text, clip, scratch;
};

/* --- opening ---------------------------------------------------------------------------------------------------- */

/* Reads the header of a table. BL_EFAIL: a column is new since the first pass. An empty table has no header and no
 * lines. */
static int lines_read_header(struct bl_list_lines *l, struct bl_error *e)
{
    bool found;
    int code = bl_csv_next(&l->records, &found, e);
    if (code || !found)
        return code;
    /* The record of a header is overwritten by the next one, so that only places are kept. */
    l->header = l->records.values;
    l->number = l->records.line;
    l->place = calloc(l->header, sizeof *l->place);
    if (!l->place)
        return bl_error_memory(e);
    BL_TRY(bl_clip_path_of_header(&l->clip_path, l->columns->renames, l->records.value, l->header, e));
    for (size_t c = 0; c < l->header; c++) {
        const char *name = l->records.value[c];
        l->place[c] = bl_clip_columns_place(l->columns, &l->clip_path, name, strlen(name));
        if (l->place[c] == SIZE_MAX)
            return bl_error_set(e, BL_EFAIL, "the list changed while it was being read: a column \"%s\"", name);
        l->stops |= l->place[c] == BL_CLIP_STOP_FRAME;
    }
    return BL_OK;
}

/* Opens the list. After an error, bl_list_lines_close frees everything that was opened. */
static int lines_open(struct bl_list_lines *l, const char *path, const struct bl_clip_columns *clips,
                      const struct bl_cancel *cancel, struct bl_error *e)
{
    static const struct bl_division_rule rule = {.by = BL_DIVISION_LINE};
    bool is_table = bl_clip_columns_is_table(path);
    int code;
    /* path is not copied and must live as long as the lines. */
    l->path = path;
    l->is_plain = bl_plain_list_has_name(path);
    l->is_stdin = strcmp(path, "-") == 0;
    bool is_kaldi = bl_list_is_kaldi(path), are_clips = is_table || l->is_plain || is_kaldi || clips->are_clips;
    l->columns = are_clips ? clips : NULL;
    l->manifest = !are_clips && clips->count ? clips : NULL;
    /* Plain manifests without further columns are passed on unchanged and need no values. */
    if (are_clips || l->manifest) {
        l->value = calloc(BL_CLIP_FURTHER + clips->count, sizeof *l->value);
        if (!l->value)
            return bl_error_memory(e);
    }
    if (is_kaldi)
        return bl_kaldi_open(&l->kaldi, path, cancel, e);
    l->stops = !is_table && clips->stops;
    if (!is_table)
        return bl_documents_open(&l->documents, path, &rule, 0, INT64_MAX, BL_LIST_LINE_MAX, cancel, e);
    code = bl_csv_open(&l->records, path, cancel, e);
    l->is_table = !code;
    return code ? code : lines_read_header(l, e);
}

int bl_list_lines_open(struct bl_list_lines **lines, const char *path, const struct bl_clip_columns *clips,
                       const struct bl_cancel *cancel, struct bl_error *e)
{
    struct bl_list_lines *l = calloc(1, sizeof *l);
    if (!l)
        return bl_error_memory(e);
    int code = lines_open(l, path, clips, cancel, e);
    if (code)
        bl_list_lines_close(l);
    else
        *lines = l;
    return code;
}

void bl_list_lines_close(struct bl_list_lines *l)
{
    if (l->documents)
        bl_documents_close(l->documents);
    if (l->kaldi)
        bl_kaldi_close(l->kaldi);
    if (l->is_table)
        bl_csv_close(&l->records);
    free(l->place);
    free(l->value);
    bl_buffer_free(&l->text);
    bl_buffer_free(&l->clip);
    bl_buffer_free(&l->scratch);
    free(l);
}

/* --- clips ------------------------------------------------------------------------------------------------------ */

/* Makes the line unusable, with the text of l->clip as the reason. */
static void lines_set_unusable(struct bl_list_lines *l)
{
    /* The number of the line stays, for messages. */
    l->line = (struct bl_line){.text = l->clip.data, .size = l->clip.size, .number = l->line.number, .unusable = true};
}

/* Makes the line unusable for this reason. */
static int lines_set_reason(struct bl_list_lines *l, const char *reason, struct bl_error *e)
{
    bl_buffer_clear(&l->clip);
    bl_buffer_text(&l->clip, reason);
    lines_set_unusable(l);
    return bl_buffer_check(&l->clip, e);
}

/* Empties the values of the previous line. The array has room for the values of clips, also for a manifest. */
static void lines_clear_values(struct bl_list_lines *l)
{
    const struct bl_clip_columns *columns = l->columns ? l->columns : l->manifest;
    /* The values of the previous line must not appear in this one. */
    l->two_paths = false;
    bl_buffer_clear(&l->text);
    memset(l->value, 0, (BL_CLIP_FURTHER + columns->count) * sizeof *l->value);
}

/* Sets the value in this place to a copy of the text. */
static void lines_set_value(struct bl_list_lines *l, size_t place, const char *text, size_t size)
{
    /* The place is an offset, as the buffer moves while it grows. */
    l->value[place] = (struct value){l->text.size, size};
    if (size)
        bl_buffer_append(&l->text, text, size);
}

/* Makes the text of l->clip the line. Its values begin at byte `begin`; if they are too long, the line is unusable. */
static int lines_end_values(struct bl_list_lines *l, size_t begin, struct bl_error *e)
{
    bl_buffer_text(&l->clip, "");
    BL_TRY(bl_buffer_check(&l->clip, e));
    l->line.text = l->clip.data;
    l->line.size = l->clip.size;
    /* The text of a manifest in front of the values does not count. */
    if (l->clip.size - begin <= CLIP_MAX)
        return BL_OK;
    bl_buffer_clear(&l->clip);
    bl_buffer_printf(&l->clip, "its values are more than %zu KiB", CLIP_MAX >> 10);
    lines_set_unusable(l);
    return bl_buffer_check(&l->clip, e);
}

/* Adds the choice of channels behind a newline, if the line has one. Its own newlines are escaped. */
static void lines_add_channel(struct bl_list_lines *l)
{
    size_t place =
        l->columns->channels ? bl_clip_columns_find(l->columns, BL_CLIP_CHANNEL, strlen(BL_CLIP_CHANNEL)) : SIZE_MAX;
    if (place == SIZE_MAX || !l->value[BL_CLIP_FURTHER + place].size)
        return;
    const struct value *value = &l->value[BL_CLIP_FURTHER + place];
    bl_buffer_byte(&l->clip, '\n');
    bl_text_escape(&l->clip, l->text.data + value->at, value->size);
}

/* Replaces the path or the id by what the template of --columns makes of the line's values. *made: false if it cannot
 * be made: l->clip has the reason. */
static int lines_apply_template(struct bl_list_lines *l, enum bl_clip_value which, bool *made, struct bl_error *e)
{
    struct bl_clip_name rest = bl_clip_names_template(l->columns->renames, which);
    struct bl_clip_part part;
    if (!rest.size)
        return BL_OK;
    bool uses_own = !l->value[which].size;
    bl_buffer_clear(&l->scratch);
    bl_buffer_clear(&l->clip);
    while (*made && bl_clip_template_next(&rest, &part)) {
        size_t place =
            part.is_column ? bl_clip_columns_place(l->columns, &l->clip_path, part.name.text, part.name.size) : 0;
        uses_own |= part.is_column && place == (size_t)which;
        struct value value = place == SIZE_MAX ? (struct value){0} : l->value[place];
        const char *text = part.is_column && value.size ? l->text.data + value.at : part.name.text;
        size_t size = part.is_column ? value.size : part.name.size;
        *made = size && bl_clip_part_append(&part, text, size, &l->scratch);
        if (!*made)
            bl_buffer_printf(&l->clip, "\"%.*s\", of which --columns makes the %s, is %s", (int)part.name.size,
                             part.name.text, bl_clip_value_name[which], size ? "no whole number" : "empty");
    }
    if (*made && !uses_own) {
        bl_buffer_printf(&l->clip, "it has the %s \"%.*s\", and --columns makes another one", bl_clip_value_name[which],
                         (int)(l->value[which].size < 80 ? l->value[which].size : 80),
                         l->text.data + l->value[which].at);
        *made = false;
    }
    BL_TRY(bl_buffer_check(&l->scratch, e));
    if (*made)
        lines_set_value(l, (size_t)which, l->scratch.data, l->scratch.size);
    return bl_buffer_check(&l->text, e);
}

/* Joins the value of stop_frame to that of end_frame, as enum bl_clip_value says. *joined is false if the line has
 * both. */
static int lines_join_stop(struct bl_list_lines *l, bool *joined, struct bl_error *e)
{
    const struct value stop = l->value[BL_CLIP_STOP_FRAME], end = l->value[BL_CLIP_END_FRAME];
    *joined = false;
    if (end.size && l->text.data[end.at] == '#') /* it would be taken for one of stop_frame */
        return lines_set_reason(l, "\"end_frame\" is no number of a frame: it begins with #", e);
    if (end.size && stop.size)
        return lines_set_reason(l, "end_frame and stop_frame: give one of them", e);
    *joined = true;
    if (end.size || !l->stops || (!stop.size && !l->value[BL_CLIP_START_FRAME].size))
        return BL_OK;
    bl_buffer_clear(&l->scratch);
    bl_buffer_byte(&l->scratch, '#');
    if (stop.size)
        bl_buffer_append(&l->scratch, l->text.data + stop.at, stop.size);
    BL_TRY(bl_buffer_check(&l->scratch, e));
    lines_set_value(l, BL_CLIP_END_FRAME, l->scratch.data, l->scratch.size);
    return BL_OK;
}

/* Makes the line from the values, with a tab before each value except the first. */
static int lines_format_clip(struct bl_list_lines *l, struct bl_error *e)
{
    bool usable = true;
    int code = bl_buffer_check(&l->text, e);
    /* The id first: its template may have the path as the list has it. */
    if (!code)
        code = lines_apply_template(l, BL_CLIP_ID, &usable, e);
    if (!code && usable)
        code = lines_apply_template(l, BL_CLIP_PATH, &usable, e);
    if (!code && !usable) {
        lines_set_unusable(l);
        return bl_buffer_check(&l->clip, e);
    }
    if (!code)
        code = lines_join_stop(l, &usable, e);
    if (code || !usable)
        return code;
    code = bl_buffer_check(&l->text, e);
    bl_buffer_clear(&l->clip);
    /* Empty values are written as nothing between two tabs. */
    for (size_t v = 0; v < BL_CLIP_FURTHER + l->columns->count && !code; v++) {
        if (v == BL_CLIP_STOP_FRAME)
            continue;
        if (v)
            bl_buffer_byte(&l->clip, '\t');
        if (l->value[v].size)
            bl_text_escape(&l->clip, l->text.data + l->value[v].at, l->value[v].size);
    }
    lines_add_channel(l);
    return code ? code : lines_end_values(l, 0, e);
}

/* Sets the choice of channels to the elements of an array as the table has them: [0, 4] becomes 0,4. */
static int lines_set_channels(struct bl_list_lines *l, size_t place, const struct bl_json_value *array,
                              struct bl_error *e)
{
    bl_buffer_clear(&l->scratch);
    for (size_t i = 0; i < array->size; i++) {
        if (!strchr("[] \t", array->text[i]))
            bl_buffer_byte(&l->scratch, array->text[i]);
    }
    int code = bl_buffer_check(&l->scratch, e);
    if (!code && l->scratch.size)
        lines_set_value(l, place, l->scratch.data, l->scratch.size);
    return code;
}

/* Sets the value of a key of the line's object. *known is false for a key that the first pass did not see. */
static int lines_set_member(struct bl_list_lines *l, const struct bl_json_value *name,
                            const struct bl_json_value *value, bool *known, struct bl_error *e)
{
    size_t lone;
    bl_buffer_clear(&l->scratch);
    bl_json_unescape(name, &l->scratch, &lone);
    bl_buffer_text(&l->scratch, "");
    int code = bl_buffer_check(&l->scratch, e);
    size_t place = code ? SIZE_MAX : bl_clip_columns_place(l->columns, &l->clip_path, l->scratch.data, l->scratch.size);
    *known = place != SIZE_MAX;
    if (code || !*known)
        return code;
    /* Two keys may mean the path, such as "path" and a key renamed to it. */
    l->two_paths |= place == BL_CLIP_PATH && l->value[place].size;
    if (value->type != BL_JSON_STRING) {
        /* null is an empty value; numbers and lists keep their JSON text. */
        bool is_null = value->type == BL_JSON_WORD && *value->text == 'n';
        if (value->type == BL_JSON_ARRAY && l->columns->channels &&
            place == BL_CLIP_FURTHER + bl_clip_columns_find(l->columns, BL_CLIP_CHANNEL, strlen(BL_CLIP_CHANNEL)))
            return lines_set_channels(l, place, value, e);
        lines_set_value(l, place, value->text, is_null ? 0 : value->size);
        return BL_OK;
    }
    bl_buffer_clear(&l->scratch);
    bl_json_unescape(value, &l->scratch, &lone);
    code = bl_buffer_check(&l->scratch, e);
    if (!code)
        lines_set_value(l, place, l->scratch.data, l->scratch.size);
    return code;
}

/* Makes a clip of a JSON line, or makes the line unusable. BL_EFAIL: the list has changed since the first pass. */
static int lines_take_object(struct bl_list_lines *l, struct bl_error *e)
{
    struct bl_json_value object, name, value;
    struct bl_json_fault fault;
    bool known = true;
    int code = BL_OK;
    /* Values and text start empty for each line. */
    lines_clear_values(l);
    if (!bl_clip_columns_object(l->line.text, l->line.size, &object, &fault)) {
        bl_buffer_clear(&l->clip);
        bl_buffer_printf(&l->clip, "not JSON at byte %zu of the line: %s", fault.at, fault.what);
        lines_set_unusable(l);
        return bl_buffer_check(&l->clip, e);
    }
    /* The first object decides which key is the path, as in the first pass. */
    if (!l->decided)
        code = bl_clip_path_of_object(&l->clip_path, l->columns->renames, &object, e);
    l->decided = true;
    for (size_t at = 0; !code && known && bl_json_next_member(&object, &at, &name, &value);)
        code = lines_set_member(l, &name, &value, &known, e);
    if (!code && !known)
        code = bl_error_set(e, BL_EFAIL, "the list changed while it was being read: a key \"%s\"", l->scratch.data);
    if (!code && l->two_paths)
        return lines_set_reason(l, "it has two paths", e);
    return code ? code : lines_format_clip(l, e);
}

/* Makes a clip of a plain line: the whole file of the path, and the label behind it if the list has labels. */
static int lines_take_plain(struct bl_list_lines *l, struct bl_error *e)
{
    const char *text = l->line.text;
    size_t size = l->line.size, label = 0;
    bl_plain_list_trim(&text, &size);
    BL_TRY(l->decided ? BL_OK : bl_plain_list_decide(&l->labelled, l->path, text, size, e));
    l->decided = true;
    /* The column exists if the first pass saw labels in any list. */
    size_t path_size = size, place = bl_clip_columns_place(l->columns, &l->clip_path, "label", 5);
    if (l->labelled && place == SIZE_MAX)
        return bl_error_set(e, BL_EFAIL, "the list changed while it was being read: a column \"label\"");
    lines_clear_values(l);
    /* The first line had a label, so each line must have one. */
    if (l->labelled && !bl_plain_list_split(text, size, &path_size, &label))
        return lines_set_reason(l, "no label behind the path, as the first line of the list has one", e);
    lines_set_value(l, BL_CLIP_PATH, text, path_size);
    if (l->labelled)
        lines_set_value(l, place, text + label, size - label);
    return lines_format_clip(l, e);
}

/* --- manifests -------------------------------------------------------------------------------------------------- */

/* Sets a value of a further column (a callback of bl_list_values). A line may have several values for a column, such
 * as the speakers of its parts: a further value follows after a space, unless it repeats the only one before it. */
static int manifest_take_value(void *sink, const char *name, const struct bl_json_value *value, struct bl_error *e)
{
    struct bl_list_lines *l = sink;
    size_t place = bl_clip_columns_find(l->manifest, name, strlen(name)), lone;
    /* Standard input was not read in the first pass, so its keys have no columns. */
    if (place == SIZE_MAX && l->is_stdin)
        return BL_OK;
    if (place == SIZE_MAX)
        return bl_error_set(e, BL_EFAIL, "the manifest changed while it was being read: a key \"%s\"", name);
    const struct value before = l->value[place];
    bl_buffer_clear(&l->scratch);
    if (before.size) {
        bl_buffer_append(&l->scratch, l->text.data + before.at, before.size);
        bl_buffer_byte(&l->scratch, ' ');
    }
    size_t begin = l->scratch.size;
    if (value->type == BL_JSON_STRING)
        bl_json_unescape(value, &l->scratch, &lone);
    else if (value->type != BL_JSON_WORD || *value->text != 'n')
        bl_buffer_append(&l->scratch, value->text, value->size);
    int code = bl_buffer_check(&l->scratch, e);
    size_t size = code ? 0 : l->scratch.size - begin;
    /* An equal value is not repeated: a line of many parts often has one speaker. */
    if (size && (size != before.size || memcmp(l->scratch.data + begin, l->scratch.data, size) != 0))
        lines_set_value(l, place, l->scratch.data, l->scratch.size);
    return code ? code : bl_buffer_check(&l->text, e);
}

/* Appends the values of the further columns to a line of a manifest, after a newline. The kind reports lines that
 * are no object. */
static int lines_take_manifest(struct bl_list_lines *l, struct bl_error *e)
{
    struct bl_json_value object;
    struct bl_json_fault fault;
    if (!bl_clip_columns_object(l->line.text, l->line.size, &object, &fault))
        return BL_OK;
    lines_clear_values(l);
    int code = l->manifest->values(&object, manifest_take_value, l, e);
    bl_buffer_clear(&l->clip);
    bl_buffer_append(&l->clip, l->line.text, l->line.size);
    bl_buffer_byte(&l->clip, '\n');
    for (size_t c = 0; c < l->manifest->count && !code; c++) {
        bl_buffer_byte(&l->clip, '\t');
        if (l->value[c].size)
            bl_text_escape(&l->clip, l->text.data + l->value[c].at, l->value[c].size);
    }
    return code ? code : lines_end_values(l, l->line.size, e);
}

/* --- lines ------------------------------------------------------------------------------------------------------ */

/* Takes the next line of a list that is no table, and skips blank lines. */
static int lines_next_document(struct bl_list_lines *l, bool *found, struct bl_error *e)
{
    struct bl_document line;
    do {
        int code = bl_documents_next(l->documents, &line, found, e);
        if (code || !*found)
            return code;
        l->number++;
        /* The mark is removed before the test for blank lines. */
        bl_list_skip_mark(&line);
    } while (!line.too_long && bl_text_is_blank(line.text, line.size));
    l->line = (struct bl_line){.text = line.text, .size = line.size, .number = l->number};
    if (!line.too_long && l->is_plain)
        return lines_take_plain(l, e);
    if (!line.too_long)
        return l->columns ? lines_take_object(l, e) : l->manifest ? lines_take_manifest(l, e) : BL_OK;
    bl_buffer_clear(&l->clip);
    bl_buffer_printf(&l->clip, "a line of more than %d bytes", BL_LIST_LINE_MAX);
    lines_set_unusable(l);
    return bl_buffer_check(&l->clip, e);
}

/* Takes the next record of a table. A record with more or fewer values than the header is unusable. */
static int lines_next_record(struct bl_list_lines *l, bool *found, struct bl_error *e)
{
    const struct bl_csv *r = &l->records;
    int code = bl_csv_next(&l->records, found, e);
    if (code || !*found)
        return code;
    l->number = r->line;
    l->line = (struct bl_line){.number = l->number};
    lines_clear_values(l);
    if (r->values != l->header) {
        char values[BL_PLURAL_SIZE], columns[BL_PLURAL_SIZE];
        bl_buffer_clear(&l->clip);
        bl_buffer_printf(&l->clip, "%s where the header has %s", bl_text_plural(values, (int64_t)r->values, "value"),
                         bl_text_plural(columns, (int64_t)l->header, "column"));
        lines_set_unusable(l);
        return bl_buffer_check(&l->clip, e);
    }
    for (size_t c = 0; c < l->header; c++)
        lines_set_value(l, l->place[c], r->value[c], strlen(r->value[c]));
    return lines_format_clip(l, e);
}

/* Sets a further column of an utterance, which exists if the first pass saw its file in any folder. */
static int lines_set_further(struct bl_list_lines *l, const char *column, struct bl_kaldi_value value,
                             struct bl_error *e)
{
    size_t place = bl_clip_columns_place(l->columns, &l->clip_path, column, strlen(column));
    if (place != SIZE_MAX)
        lines_set_value(l, place, value.text, value.size);
    else if (value.size)
        return bl_error_set(e, BL_EFAIL, "the list changed while it was being read: a column \"%s\"", column);
    return BL_OK;
}

/* Takes the next utterance of a folder of Kaldi's as a clip, or as an unusable line. */
static int lines_next_utterance(struct bl_list_lines *l, bool *found, struct bl_error *e)
{
    struct bl_kaldi_utterance u;
    int code = bl_kaldi_next(l->kaldi, &u, found, e);
    if (code || !*found)
        return code;
    l->number = u.line;
    l->line = (struct bl_line){.number = u.line};
    if (u.reason)
        return lines_set_reason(l, u.reason, e);
    lines_clear_values(l);
    lines_set_value(l, BL_CLIP_PATH, u.path.text, u.path.size);
    lines_set_value(l, BL_CLIP_START, u.start.text, u.start.size);
    lines_set_value(l, BL_CLIP_END, u.end.text, u.end.size);
    lines_set_value(l, BL_CLIP_ID, u.id.text, u.id.size);
    BL_TRY(lines_set_further(l, "text", u.text, e));
    BL_TRY(lines_set_further(l, "speaker", u.speaker, e));
    return lines_format_clip(l, e);
}

/* Gives the next line, valid until the next call, or the last one again after bl_list_lines_put_back. */
int bl_list_lines_next(struct bl_list_lines *l, struct bl_line *line, bool *found, struct bl_error *e)
{
    int code = BL_OK;
    *found = true;
    if (!l->again)
        code = l->is_table ? lines_next_record(l, found, e)
               : l->kaldi  ? lines_next_utterance(l, found, e)
                           : lines_next_document(l, found, e);
    l->again = false;
    *line = l->line;
    return code;
}

void bl_list_lines_put_back(struct bl_list_lines *l)
{
    l->again = true;
}

bool bl_list_lines_are_clips(const struct bl_list_lines *l)
{
    return l->columns != NULL;
}

/* Returns the number of lines that were read, without one that was put back. */
int64_t bl_list_lines_read(const struct bl_list_lines *l)
{
    /* A line that was put back counts when it is read again. */
    return l->number - l->again;
}

/* Reads the rest of the list for its checksum, by which a resumed run notices a change; 0 for tables. */
int bl_list_lines_drain(struct bl_list_lines *l, uint64_t *checksum, struct bl_error *e)
{
    *checksum = 0;
    return l->documents ? bl_documents_drain(l->documents, checksum, e) : BL_OK;
}

/* --- clips of a field --------------------------------------------------------------------------------------------- */

/* Adds all lines to the clips of the field. The message of BL_EDATA names the line. */
static int field_clips_add(struct bl_clip_list *list, struct bl_list_lines *lines, const char *shown,
                           struct bl_error *e)
{
    struct bl_line line;
    bool found;
    for (;;) {
        int code = bl_list_lines_next(lines, &line, &found, e);
        if (code || !found) {
            if (code == BL_EDATA)
                bl_error_prefix(e, "%s", shown);
            return code;
        }
        code = bl_clip_list_add(list, &line, e);
        if (code == BL_EDATA)
            bl_error_prefix(e, "%s:%" PRId64, shown, line.number);
        if (code)
            return code;
    }
}

/* Reads the list of a field. BL_EUSAGE: it is a manifest, has attributes, or is damaged: a part of the list would
 * leave sequences without their clips. */
int bl_field_clips_read(struct bl_clip_list *list, const struct bl_kind *kind, const char *path, const char *shown,
                        const struct bl_cancel *cancel, struct bl_error *e)
{
    struct bl_clip_columns columns = {0};
    struct bl_list_lines *lines = NULL;
    struct bl_error why = {0};
    int code = bl_io_check_path(path, e);
    if (!code)
        code = bl_clip_columns_add(&columns, kind, path, shown, cancel, e);
    if (!code && columns.known && !columns.are_clips)
        code = bl_error_set(e, BL_EUSAGE, "%s: a manifest of speech cannot be a field: write a list of clips", shown);
    else if (!code && columns.count)
        code = bl_error_set(e, BL_EUSAGE,
                            "%s: the column \"%s\": the clips of a field have no attributes: put it into a table for "
                            "--attributes",
                            shown, columns.name[0]);
    if (code)
        goto out;
    code = bl_list_lines_open(&lines, path, &columns, cancel, &why);
    if (code == BL_EDATA)
        bl_error_prefix(&why, "%s", shown);
    if (!code) {
        code = field_clips_add(list, lines, shown, &why);
        bl_list_lines_close(lines);
    }
    if (code) /* a part of it would leave sequences without a clip */
        code = bl_error_pass(e, code == BL_EDATA ? BL_EUSAGE : code, &why);
out:
    bl_clip_columns_free(&columns);
    return code;
}
