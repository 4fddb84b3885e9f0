/* Reads several files as the fields of one sequence.
 *
 * A composite has parts: the primary, whose file is the input, and companions, each with a file of its own (a path with
 * placeholders, such as "poses/{stem}.npy"), a clip of a list, or nothing at all, if it is computed from the primary.
 * In the table of sequences a companion has columns with its name before them: poses.path, poses.bytes, and so on. */
#include "kind/composite/composite.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/text.h"
#include "kind/input_stat.h"

/* --- parts -------------------------------------------------------------------------------------------------------- */

/* A kind that reads parts of files (chunk_bytes), or stores its steps in a spool, has no file for each sequence. */
bool bl_composite_accepts(const struct bl_kind *kind)
{
    return !kind->scan->chunk_bytes && !kind->spool;
}

/* A part that follows may need the times of steps, or their numbers where the primary's steps are numbered images. */
bool bl_composite_needs_times(const struct bl_composite *composite, int p)
{
    const struct bl_composite_part *part = &composite->part[p];
    if (!part->kind->follow)
        return false;
    enum bl_follow_needs needs = part->kind->follow->needs(part->config);
    bool numbers = composite->part[0].kind->read->times == BL_TIMES_NUMBERS;
    return needs == BL_FOLLOW_TIMES || (needs == BL_FOLLOW_NUMBERS && numbers);
}

/* --- clip lists --------------------------------------------------------------------------------------------------- */

void bl_clip_list_free(struct bl_clip_list *list)
{
    /* The list may be filled again after it is freed. */
    bl_buffer_free(&list->text);
    bl_hash_free(&list->by_id);
    free(list->place);
    *list = (struct bl_clip_list){0};
}

/* Finds the clip whose id is these `size` bytes, or NULL. Equal hashes are compared by their text. */
static const struct bl_clip_place *list_find(const struct bl_clip_list *list, const char *id, size_t size)
{
    struct bl_hash_probe probe = bl_hash_begin(&list->by_id, bl_content_hash(id, size));
    size_t number;
    while (bl_hash_next(&list->by_id, &probe, &number)) {
        const char *own = list->text.data + list->place[number].id;
        if (strlen(own) == size && memcmp(own, id, size) == 0)
            return &list->place[number];
    }
    return NULL;
}

/* The text holds each id with a NUL, then its line. An id that occurs twice is refused: which clip belongs to the
 * sequence would depend on the order of the lines. */
int bl_clip_list_add(struct bl_clip_list *list, const struct bl_line *line, struct bl_error *e)
{
    struct bl_clip clip = {0};
    /* The reader of the list has already found the line unusable, and its text says why. */
    if (line->unusable)
        return bl_error_set(e, BL_EDATA, "%.*s", (int)line->size, line->text);
    int code = bl_clip_parse(&clip, line->text, line->size, e);
    if (code)
        goto out;
    const char *id = clip.id.data;
    const size_t size = strlen(id) + 1, at = list->text.size;
    const struct bl_clip_place *same = list_find(list, id, size - 1);
    if (same)
        code = bl_error_set(e, BL_EDATA, "the id %s is that of line %" PRId64, id, same->number);
    else
        code = BL_ARRAY_RESERVE(list->place, list->capacity, list->count + 1, e);
    if (code)
        goto out;
    bl_buffer_append(&list->text, id, size);
    bl_buffer_append(&list->text, line->text, line->size);
    code = bl_buffer_check(&list->text, e);
    if (!code)
        code = bl_hash_add(&list->by_id, bl_content_hash(id, size - 1), list->count, e);
    /* The place is stored last, so that a failure before leaves the list as it was. */
    if (!code)
        list->place[list->count++] = (struct bl_clip_place){at, at + size, line->size, line->number};
out:
    bl_clip_free(&clip);
    return code;
}

bool bl_clip_list_find(const struct bl_clip_list *list, const char *id, struct bl_line *line)
{
    const struct bl_clip_place *place = list_find(list, id, strlen(id));
    /* "a.mp4" also finds the clip with the id "a". */
    if (!place)
        place = list_find(list, id, bl_path_stem(id));
    if (place)
        *line = (struct bl_line){.text = list->text.data + place->line, .size = place->size, .number = place->number};
    return place != NULL;
}

/* The digest covers ids and lines in their order, so that a changed list makes another dataset. */
uint64_t bl_clip_list_digest(const struct bl_clip_list *list)
{
    return bl_content_hash(list->text.data, list->text.size);
}

/* --- companions --------------------------------------------------------------------------------------------------- */

#define KEY "{key}." /* begins the name of a member beside the sequence in its tar: "{key}.npy" */

enum placeholder { PLACEHOLDER_ID, PLACEHOLDER_STEM, PLACEHOLDER_NAME, PLACEHOLDERS };

static const char *const placeholder_text[PLACEHOLDERS] = {"{id}", "{stem}", "{name}"};

/* Returns the placeholder that text begins with, or PLACEHOLDERS. */
static enum placeholder placeholder_find(const char *text)
{
    int placeholder = 0;
    while (placeholder < PLACEHOLDERS &&
           strncmp(text, placeholder_text[placeholder], strlen(placeholder_text[placeholder])) != 0)
        placeholder++;
    return (enum placeholder)placeholder;
}

const char *bl_companion_extension(const char *path)
{
    /* Returns a pointer into path. */
    return strncmp(path, KEY, strlen(KEY)) == 0 && path[strlen(KEY)] ? path + strlen(KEY) : NULL;
}

const char *bl_companion_base(const struct bl_composite *composite, const struct bl_composite_part *part)
{
    /* A member of a tar has the path of its source, so that it is relative to the folder of the sources. */
    return bl_companion_extension(part->path) ? composite->sources_base : composite->base;
}

/* {key} is the name of a member, and takes part in no path. */
int bl_companion_check(const char *path, struct bl_error *e)
{
    const char *extension = bl_companion_extension(path);
    /* A second placeholder, a folder or a list has no meaning in an extension. */
    if (extension && !strpbrk(extension, "{}/,"))
        return BL_OK;
    if (strstr(path, "{key}"))
        return bl_error_set(e, BL_EUSAGE,
                            "\"%s\": {key} begins the name of a member beside the sequence in its tar: \"{key}.npy\"",
                            path);
    bool found = false;
    /* Every brace must begin or end a known placeholder. */
    for (const char *at = path; (at = strpbrk(at, "{}")); found = true) {
        enum placeholder placeholder = placeholder_find(at);
        if (placeholder == PLACEHOLDERS)
            return bl_error_set(e, BL_EUSAGE, "\"%s\": unknown placeholder; use {id}, {stem} or {name}", path);
        at += strlen(placeholder_text[placeholder]);
    }
    if (!found)
        return bl_error_set(e, BL_EUSAGE, "\"%s\" is the same file for every sequence: use {id}, {stem} or {name}",
                            path);
    return BL_OK;
}

/* For the id "b/a.mp4": {id} is "b/a", {stem} is "a", {name} is "b/a.mp4". */
void bl_companion_append_path(const char *path, const char *id, struct bl_buffer *out)
{
    while (*path) {
        size_t plain = strcspn(path, "{");
        bl_buffer_append(out, path, plain);
        path += plain;
        if (!*path)
            break;
        enum placeholder placeholder = placeholder_find(path);
        /* {name} keeps the extension; the others end before it. */
        const char *end = id + (placeholder == PLACEHOLDER_NAME ? strlen(id) : bl_path_stem(id));
        const char *begin = placeholder == PLACEHOLDER_STEM ? bl_path_name(id) : id;
        bl_buffer_append(out, begin, (size_t)(end - begin));
        path += strlen(placeholder_text[placeholder]);
    }
}

/* --- columns ---------------------------------------------------------------------------------------------------- */

/* The columns of a companion's file, in the order of the table: "\tposes.path\tposes.bytes...". The column
 * content is optional. */
enum file_column { FILE_PATH, FILE_BYTES, FILE_LENGTH, FILE_STREAM, FILE_REASON, FILE_CONTENT, FILE_COLUMNS };

/* Returns the name of a column, which follows "NAME." in the table. */
static const char *file_column_name(const struct bl_composite_part *part, int column)
{
    static const char *const name[FILE_COLUMNS] = {"path", "bytes", "length", "stream", "reason", "content"};
    /* NAME.samples, for example: a recording that follows a video counts its own samples. */
    if (column == FILE_LENGTH && part->kind->follow)
        return part->kind->steps; /* a length in other units than the sequence's */
    return name[column];
}

/* Appends the names of the kind's own columns, then of the columns of clips, each with a tab before it. The empty text
 * makes sure that out has data. */
static void kind_columns_append(const struct bl_composite_part *part, struct bl_buffer *out)
{
    bl_buffer_text(out, "");
    if (part->kind->scan->columns)
        part->kind->scan->columns(part->config, false, out);
    if (part->clips)
        bl_buffer_text(out, BL_CLIP_COLUMNS);
}

void bl_companion_append_columns(const struct bl_composite_part *part, struct bl_buffer *out)
{
    struct bl_buffer columns = {0};
    for (int c = 0; part->path && c < FILE_COLUMNS; c++)
        bl_buffer_printf(out, "\t%s.%s", part->name, file_column_name(part, c));
    kind_columns_append(part, &columns);
    /* Each name gets the companion's name before it: "\tmissing" becomes "\tposes.missing". */
    for (const char *tab = columns.data; tab && (tab = strchr(tab, '\t')); tab++)
        bl_buffer_printf(out, "\t%s.%.*s", part->name, (int)strcspn(tab + 1, "\t"), tab + 1);
    out->failed |= columns.failed;
    bl_buffer_free(&columns);
}

void bl_companion_append_values(const struct bl_composite_part *part, const struct bl_row *row, struct bl_buffer *out)
{
    struct bl_buffer columns = {0};
    kind_columns_append(part, &columns);
    if (row && part->path) { /* the values stand in the order of enum file_column */
        bl_buffer_byte(out, '\t');
        bl_text_escape(out, row->path, strlen(row->path));
        bl_buffer_printf(out, "\t%" PRId64 "\t%" PRId64 "\t", row->bytes, row->length);
        /* A kind without streams has -1, which is an empty value. */
        if (row->stream >= 0)
            bl_buffer_int(out, row->stream);
        bl_buffer_byte(out, '\t');
        bl_text_escape(out, row->reason, strlen(row->reason));
        bl_buffer_byte(out, '\t');
        bl_content_format(row->content, out);
    } else if (part->path) {
        /* One tab for each of the six columns. */
        bl_buffer_text(out, "\t\t\t\t\t\t");
    }
    if (row && row->extra && *row->extra) {
        bl_buffer_text(out, row->extra);
    } else {
        /* Without a row, each column of the kind has an empty value. */
        for (const char *tab = columns.data; tab && (tab = strchr(tab, '\t')); tab++)
            bl_buffer_byte(out, '\t');
    }
    out->failed |= columns.failed;
    bl_buffer_free(&columns);
}

/* The reader removes this part again to find the primary's own reason (primary_reason), so both must agree. */
void bl_companion_append_damage(const struct bl_composite_part *part, const char *path, const char *reason,
                                struct bl_buffer *out)
{
    if (*reason)
        bl_buffer_printf(out, "%s%s: %s: %s", out->size ? "; " : "", part->name, path, reason);
}

int bl_companion_cut_damage(const char *reason, const struct bl_buffer *damage, struct bl_buffer *own,
                            struct bl_error *e)
{
    size_t all = strlen(reason), size = damage->size;
    if (size && size <= all && strcmp(reason + all - size, damage->data) == 0)
        all = all - size > 2 ? all - size - 2 : 0; /* without "; " between them */
    bl_buffer_clear(own);
    bl_buffer_append(own, reason, all);
    return bl_buffer_check(own, e);
}

/* --- rows ------------------------------------------------------------------------------------------------------- */

/* Appends a column's value to out->text, with a NUL. *at is its offset: the text may move while it grows. */
static int file_column_read(const struct bl_composite_part *part, const struct bl_row *row, const char *column,
                            size_t *at, bool optional, struct bl_companion_row *out, struct bl_error *e)
{
    struct bl_buffer name = {0};
    /* An absent column leaves an empty text, which the caller accepts where the column is optional. */
    bl_buffer_printf(&name, "%s.%s", part->name, column);
    *at = out->text.size;
    int code = bl_buffer_check(&name, e);
    if (!code && !bl_row_get_value(row, name.data, &out->text) && !optional)
        code = bl_error_set(e, BL_EUSAGE, "the table has no valid column %s: scan with the same fields", name.data);
    bl_buffer_byte(&out->text, '\0');
    bl_buffer_free(&name);
    return code ? code : bl_buffer_check(&out->text, e);
}

/* Sets out->columns and out->extra to the kind's own columns and their values, so that the kind finds them under their
 * own names: "poses.clip_begin" of the sequence becomes "clip_begin" of the companion. */
static int extra_columns_read(const struct bl_composite_part *part, const struct bl_row *row,
                              struct bl_companion_row *out, struct bl_error *e)
{
    struct bl_buffer name = {0}, value = {0};
    bool failed = false; /* clearing a buffer also clears its failure */
    bl_buffer_clear(&out->columns);
    kind_columns_append(part, &out->columns);
    bl_buffer_clear(&out->extra);
    for (const char *tab = out->columns.data; tab && (tab = strchr(tab, '\t')); tab++) {
        /* The buffers are used for all columns. */
        bl_buffer_clear(&name);
        bl_buffer_clear(&value);
        bl_buffer_printf(&name, "%s.%.*s", part->name, (int)strcspn(tab + 1, "\t"), tab + 1);
        bl_buffer_byte(&out->extra, '\t');
        if (name.data && bl_row_get_value(row, name.data, &value))
            bl_text_escape(&out->extra, value.data, value.size);
        failed |= name.failed || value.failed;
    }
    int code = failed || out->columns.failed ? bl_error_memory(e) : bl_buffer_check(&out->extra, e);
    bl_buffer_free(&name);
    bl_buffer_free(&value);
    return code;
}

/* Parses a number of the table, from 0 to max. An empty text gives `missing`. Returns false for any other text. */
static bool companion_parse_number(const char *text, int64_t missing, int64_t max, int64_t *value)
{
    *value = missing;
    return !*text || bl_text_to_int(text, strlen(text), 0, max, value);
}

int bl_companion_row_read(const struct bl_composite *composite, int p, const struct bl_row *row,
                          struct bl_companion_row *out, struct bl_error *e)
{
    const struct bl_composite_part *part = &composite->part[p];
    size_t at[FILE_COLUMNS];
    int64_t stream;
    bl_buffer_clear(&out->text);
    int code = extra_columns_read(part, row, out, e);
    /* The row of the companion's file: start, times and channel of the sequence's row do not apply to it. */
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
    /* A companion without a file has no path. */
    out->path = NULL;
    if (code)
        return code;
    /* A clip's columns have the names that the kind itself uses in a list. */
    if (part->clips) {
        out->row.clip_begin = bl_row_get_number(&out->row, "clip_begin");
        out->row.clip_end = bl_row_get_number(&out->row, "clip_end");
        out->row.is_clip = true;
        bl_buffer_clear(&out->seek);
        bl_row_get_value(&out->row, "clip_seek", &out->seek);
        bl_buffer_byte(&out->seek, '\0');
        out->row.clip_seek = out->seek.data;
        /* The table was edited, or is damaged. */
        if (out->row.clip_begin < 0 || out->row.clip_end < out->row.clip_begin)
            return bl_error_set(e, BL_EFAIL, "%s: an invalid number in the columns of its clips", row->id);
        BL_TRY(bl_buffer_check(&out->seek, e));
    }
    if (!part->path)
        return BL_OK;
    /* Offsets are collected first: the text may move with each column. */
    for (int c = 0; c < FILE_COLUMNS; c++)
        BL_TRY(file_column_read(part, row, file_column_name(part, c), &at[c], c == FILE_CONTENT, out, e));
    const char *text = out->text.data;
    out->row.reason = text + at[FILE_REASON];
    if (!companion_parse_number(text + at[FILE_BYTES], -1, INT64_MAX, &out->row.bytes) ||
        !companion_parse_number(text + at[FILE_LENGTH], 0, INT64_MAX, &out->row.length) ||
        !companion_parse_number(text + at[FILE_STREAM], -1, INT32_MAX, &stream))
        return bl_error_set(e, BL_EFAIL, "%s: an invalid number in %s.bytes, %s.%s or %s.stream", row->id, part->name,
                            part->name, file_column_name(part, FILE_LENGTH), part->name);
    if (!bl_content_parse(text + at[FILE_CONTENT], &out->row.content))
        return bl_error_set(e, BL_EFAIL, "%s: \"%s\" in %s.content is not a checksum (16 hexadecimal digits)", row->id,
                            text + at[FILE_CONTENT], part->name);
    out->row.stream = (int)stream;
    out->path = out->text.data + at[FILE_PATH];
    /* The path of the previous row is replaced. */
    free(out->open_path);
    out->row.path = out->open_path = bl_path_join(bl_companion_base(composite, part), out->path);
    return out->open_path ? BL_OK : bl_error_memory(e);
}

void bl_companion_row_free(struct bl_companion_row *row)
{
    bl_buffer_free(&row->text);
    bl_buffer_free(&row->columns);
    bl_buffer_free(&row->extra);
    bl_buffer_free(&row->seek);
    free(row->open_path);
    *row = (struct bl_companion_row){0};
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* A part's reader, and the fields that it writes: the dataset's fields from `first` on, and the check of its files. */
struct sub {
    struct bl_reader *reader;
    struct bl_fields fields;
    int first;
    struct bl_file_check check;
};

struct composite_reader {
    struct bl_reader base;
    const struct bl_composite *composite;
    struct sub sub[BL_FIELDS_MAX];
    /* One row is used for all companions, because they are read one after the other. */
    struct bl_companion_row companion;
    struct bl_buffer reason; /* of the primary alone */
    struct bl_buffer beyond; /* a step that is read only to check the end of its file */
    bool timed;              /* some part needs the times of steps */
    double *times;           /* of a piece's steps, as in struct bl_request */
    size_t capacity;         /* of times */
};

/* Closes the readers of all parts. */
static void composite_reader_close(struct bl_reader *reader)
{
    struct composite_reader *r = (struct composite_reader *)reader;
    for (int p = 0; p < r->composite->parts; p++) {
        if (r->sub[p].reader)
            r->sub[p].reader->close(r->sub[p].reader);
        bl_file_check_free(&r->sub[p].check);
    }
    bl_companion_row_free(&r->companion);
    bl_buffer_free(&r->reason);
    bl_buffer_free(&r->beyond);
    free(r->times);
    free(r);
}

/* Rounds up to 16 bytes, so that a field of any type can begin there. */
static size_t bytes_align(size_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

/* Reads the last step of a companion that has more steps than the sequence. Kinds compare a file with the scan only
 * when a piece reaches its end, so that a changed file would otherwise go unnoticed. The step itself is not used. */
static int companion_read_end(struct composite_reader *r, const struct bl_kind *kind, struct sub *sub,
                              struct bl_note *note, struct bl_error *e)
{
    uint8_t *out[BL_FIELDS_MAX];
    struct bl_note end = {0};
    size_t bytes = 0, at = 0;
    struct bl_request request = {
        .row = r->companion.row, .source_start = r->companion.row.length - 1, .steps = 1, .out = out};
    /* All fields of one step lie in one buffer, each at an aligned place. */
    for (int f = 0; f < sub->fields.count; f++)
        bytes += bytes_align(bl_field_step_bytes(&sub->fields.field[f]));
    bl_buffer_clear(&r->beyond);
    if (!bl_buffer_reserve(&r->beyond, bytes))
        return bl_error_memory(e);
    for (int f = 0; f < sub->fields.count; f++) {
        out[f] = (uint8_t *)r->beyond.data + at;
        at += bytes_align(bl_field_step_bytes(&sub->fields.field[f]));
    }
    BL_TRY(bl_file_check_read(&sub->check, kind, sub->reader, &request, &end, e));
    /* The note of the piece itself comes first. */
    if (!note->text[0])
        *note = end;
    return BL_OK;
}

/* Reads a companion's steps. A companion may be shorter than the sequence, within its tolerance; its last step is then
 * repeated up to the end of the sequence. */
static int companion_read(struct composite_reader *r, int p, const struct bl_request *request, struct bl_note *note,
                          struct bl_error *e)
{
    struct sub *sub = &r->sub[p];
    const struct bl_kind *kind = r->composite->part[p].kind;
    /* A row is parsed again for each piece: it costs little beside decoding. */
    BL_TRY(bl_companion_row_read(r->composite, p, &request->row, &r->companion, e));
    if (r->companion.row.length < 1 && !r->composite->part[p].zeros)
        return bl_error_set(e, BL_EUSAGE, "%s: the table has no length of field %s", request->row.id,
                            r->composite->part[p].name);
    int64_t length = r->companion.row.length, start = request->source_start, steps = request->steps;
    struct bl_request own = {.row = r->companion.row,
                             .source_start = start,
                             .steps = steps,
                             .out = request->out + sub->first,
                             .times = bl_composite_needs_times(r->composite, p) ? r->times : NULL,
                             .memory = request->memory,
                             .followed = request->row.length};
    /* A kind that follows chooses its steps itself, by the times or numbers of the primary's. */
    if (kind->follow)
        return bl_file_check_read(&sub->check, kind, sub->reader, &own, note, e);
    /* A piece that lies completely behind the companion's end begins with the last step, too. */
    if (start >= length)
        own.source_start = length - 1;
    if (own.steps > length - own.source_start)
        own.steps = length - own.source_start;
    BL_TRY(bl_file_check_read(&sub->check, kind, sub->reader, &own, note, e));
    for (int f = 0; f < sub->fields.count; f++) { /* copies the last step to those that are missing */
        size_t size = bl_field_step_bytes(&sub->fields.field[f]);
        uint8_t *at = own.out[f] + (size_t)own.steps * size, *end = own.out[f] + (size_t)steps * size;
        for (; at < end; at += size)
            memcpy(at, at - size, size);
    }
    bool is_end = start + steps == request->row.length && start + steps < length;
    return is_end ? companion_read_end(r, kind, sub, note, e) : BL_OK;
}

/* Sets r->reason to the primary's own reason. The row's reason has the parts about companions' files at its end; they
 * are formatted again here and cut off, since a reason tells the primary's kind that its file is damaged. */
static int primary_reason(struct composite_reader *r, const struct bl_row *row, struct bl_error *e)
{
    struct bl_buffer damage = {0};
    int code = BL_OK;
    for (int p = 1; p < r->composite->parts && !code && *row->reason; p++) {
        code = bl_companion_row_read(r->composite, p, row, &r->companion, e);
        if (!code && r->companion.path)
            bl_companion_append_damage(&r->composite->part[p], r->companion.path, r->companion.row.reason, &damage);
    }
    if (!code)
        code = bl_buffer_check(&damage, e);
    if (!code)
        code = bl_companion_cut_damage(row->reason, &damage, &r->reason, e);
    bl_buffer_free(&damage);
    return code;
}

/* Reads a piece of all parts, the primary first, because it may set the times that the others need. The notes of the
 * parts become one note, with the name of the companion before each. */
static int composite_reader_piece(struct bl_reader *reader, const struct bl_request *request, struct bl_note *note,
                                  struct bl_error *e)
{
    struct composite_reader *r = (struct composite_reader *)reader;
    const struct bl_composite *composite = r->composite;
    const struct bl_rational *rate = &composite->rate;
    note->text[0] = '\0';
    int code = r->timed ? BL_ARRAY_RESERVE(r->times, r->capacity, (size_t)request->steps, e) : BL_OK;
    /* If the primary has a rate, the times follow from it; otherwise the primary's reader sets them. */
    for (int64_t i = 0; i < request->steps && r->timed && !code && rate->den; i++)
        r->times[i] = bl_kind_step_time(rate, NULL, request->source_start, i);
    if (!code)
        code = primary_reason(r, &request->row, e);
    struct bl_request own = *request;
    own.row.reason = r->reason.data;
    own.out = request->out + r->sub[0].first;
    own.times = r->timed ? r->times : NULL;
    for (int p = 0; p < composite->parts && !code; p++) {
        struct bl_note one = {0};
        code = p ? companion_read(r, p, request, &one, e) : r->sub[0].reader->piece(r->sub[0].reader, &own, &one, e);
        /* The message names the field and its file: "poses: poses/a.npy: ...". */
        if (code == BL_EDATA && p)
            bl_error_prefix(e, r->companion.path ? "%s: %s" : "%s", composite->part[p].name, r->companion.path);
        const char *name = composite->part[p].name;
        if (!code && one.text[0])
            bl_row_append_reason(note->text, sizeof note->text, "%s%s%s", name ? name : "", name ? ": " : "", one.text);
    }
    return code;
}

int bl_composite_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                      struct bl_reader **reader, struct bl_error *e)
{
    const struct bl_composite *composite = config;
    struct composite_reader *r = calloc(1, sizeof *r);
    if (!r)
        return bl_error_memory(e);
    int code = BL_OK;
    r->base = (struct bl_reader){composite_reader_piece, composite_reader_close};
    r->composite = composite;
    for (int p = 0; p < composite->parts && !code; p++) {
        struct sub *sub = &r->sub[p];
        const struct bl_kind *kind = composite->part[p].kind;
        r->timed |= bl_composite_needs_times(composite, p);
        for (int f = 0; f < fields->count; f++) { /* a part's fields are consecutive */
            if (fields->field[f].part != p)
                continue;
            if (!sub->fields.count)
                sub->first = f;
            sub->fields.field[sub->fields.count++] = fields->field[f];
        }
        /* The reader sees only its own fields, from number 0 on. */
        code = kind->read->open(composite->part[p].config, env, &sub->fields, &sub->reader, e);
    }
    if (code) {
        composite_reader_close(&r->base);
        return code;
    }
    *reader = &r->base;
    return BL_OK;
}
