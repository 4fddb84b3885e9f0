#include "kind/composite/composite.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/text.h"
#include "kind/composite/count.h"
#include "kind/input_stat.h"

/* --- parts -------------------------------------------------------------------------------------------------------- */

bool bl_composite_accepts(const struct bl_kind *kind)
{
    return !kind->scan->chunk_bytes && !kind->spool;
}

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
    bl_buffer_free(&list->text);
    bl_hash_free(&list->by_id);
    free(list->place);
    *list = (struct bl_clip_list){0};
}

/* Finds the clip with the id of these bytes. */
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

/* Adds the line under its id, which is not there yet. */
static int list_append(struct bl_clip_list *list, const char *id, const struct bl_line *line, struct bl_error *e)
{
    size_t size = strlen(id) + 1, at = list->text.size;
    int code = BL_ARRAY_RESERVE(list->place, list->capacity, list->count + 1, e);
    if (code)
        return code;
    bl_buffer_append(&list->text, id, size);
    bl_buffer_append(&list->text, line->text, line->size);
    code = bl_buffer_check(&list->text, e);
    if (!code)
        code = bl_hash_add(&list->by_id, bl_content_hash(id, size - 1), list->count, e);
    if (code)
        return code;
    list->place[list->count++] = (struct bl_clip_place){at, at + size, line->size, line->number};
    return BL_OK;
}

int bl_clip_list_add(struct bl_clip_list *list, const struct bl_line *line, struct bl_error *e)
{
    struct bl_clip clip = {0};
    if (line->unusable)
        return bl_error_set(e, BL_EDATA, "%.*s", (int)line->size, line->text);
    int code = bl_clip_parse(&clip, line->text, line->size, e);
    const char *id = code ? "" : clip.id.data;
    const struct bl_clip_place *same = code ? NULL : list_find(list, id, strlen(id));
    if (same)
        code = bl_error_set(e, BL_EDATA, "the id %s is that of line %" PRId64, id, same->number);
    if (!code)
        code = list_append(list, id, line, e);
    bl_clip_free(&clip);
    return code;
}

bool bl_clip_list_find(const struct bl_clip_list *list, const char *id, struct bl_line *line)
{
    const struct bl_clip_place *place = list_find(list, id, strlen(id));
    if (!place)
        place = list_find(list, id, bl_path_stem(id));
    if (place)
        *line = (struct bl_line){.text = list->text.data + place->line, .size = place->size, .number = place->number};
    return place != NULL;
}

uint64_t bl_clip_list_digest(const struct bl_clip_list *list)
{
    return bl_content_hash(list->text.data, list->text.size);
}

/* --- companions --------------------------------------------------------------------------------------------------- */

#define KEY "{key}."

enum placeholder { PLACEHOLDER_ID, PLACEHOLDER_STEM, PLACEHOLDER_NAME, PLACEHOLDERS };

static const char *const placeholder_text[PLACEHOLDERS] = {"{id}", "{stem}", "{name}"};

/* The placeholder that text begins with, or PLACEHOLDERS. */
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
    return strncmp(path, KEY, strlen(KEY)) == 0 && path[strlen(KEY)] ? path + strlen(KEY) : NULL;
}

const char *bl_companion_base(const struct bl_composite *composite, const struct bl_composite_part *part)
{
    return bl_companion_extension(part->path) ? composite->sources_base : composite->base;
}

int bl_companion_check(const char *path, struct bl_error *e)
{
    const char *extension = bl_companion_extension(path);
    if (extension && !strpbrk(extension, "{}/,"))
        return BL_OK;
    if (strstr(path, "{key}"))
        return bl_error_set(e, BL_EUSAGE,
                            "\"%s\": {key} begins the name of a member beside the sequence in its tar: \"{key}.npy\"",
                            path);
    bool found = false;
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

void bl_companion_append_path(const char *path, const char *id, struct bl_buffer *out)
{
    while (*path) {
        size_t plain = strcspn(path, "{");
        bl_buffer_append(out, path, plain);
        path += plain;
        if (!*path)
            break;
        enum placeholder placeholder = placeholder_find(path);
        const char *end = id + (placeholder == PLACEHOLDER_NAME ? strlen(id) : bl_path_stem(id));
        const char *begin = placeholder == PLACEHOLDER_STEM ? bl_path_name(id) : id;
        bl_buffer_append(out, begin, (size_t)(end - begin));
        path += strlen(placeholder_text[placeholder]);
    }
}

/* --- columns ---------------------------------------------------------------------------------------------------- */

/* Columns of a companion's file. A table need not have its content. */
enum file_column { FILE_PATH, FILE_BYTES, FILE_LENGTH, FILE_STREAM, FILE_REASON, FILE_CONTENT, FILE_COLUMNS };

static const char *file_column_name(const struct bl_composite_part *part, int column)
{
    static const char *const name[FILE_COLUMNS] = {"path", "bytes", "length", "stream", "reason", "content"};
    if (column == FILE_LENGTH && part->kind->follow)
        return part->kind->steps; /* a length in other units than the sequence's */
    return name[column];
}

/* Appends the names of the kind's own columns, and of those of clips, a tab before each. */
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
    for (const char *tab = columns.data; tab && (tab = strchr(tab, '\t')); tab++)
        bl_buffer_printf(out, "\t%s.%.*s", part->name, (int)strcspn(tab + 1, "\t"), tab + 1);
    out->failed |= columns.failed;
    bl_buffer_free(&columns);
}

static void file_columns_append(const struct bl_row *row, struct bl_buffer *out)
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
        file_columns_append(row, out);
    else if (part->path)
        bl_buffer_text(out, "\t\t\t\t\t\t");
    if (row && row->extra && *row->extra) {
        bl_buffer_text(out, row->extra);
    } else {
        for (const char *tab = columns.data; tab && (tab = strchr(tab, '\t')); tab++)
            bl_buffer_byte(out, '\t');
    }
    out->failed |= columns.failed;
    bl_buffer_free(&columns);
}

void bl_companion_append_damage(const struct bl_composite_part *part, const char *path, const char *reason,
                                struct bl_buffer *out)
{
    if (*reason)
        bl_buffer_printf(out, "%s%s: %s: %s", out->size ? "; " : "", part->name, path, reason);
}

/* --- rows ------------------------------------------------------------------------------------------------------- */

/* Appends a column's value to out->text, with a zero byte; *at: where it begins there. */
static int file_column_read(const struct bl_composite_part *part, const struct bl_row *row, const char *column,
                            size_t *at, bool optional, struct bl_companion_row *out, struct bl_error *e)
{
    struct bl_buffer name = {0};
    bl_buffer_printf(&name, "%s.%s", part->name, column);
    *at = out->text.size;
    int code = bl_buffer_check(&name, e);
    if (code)
        goto out;
    if (!bl_row_get_value(row, name.data, &out->text) && !optional)
        code = bl_error_set(e, BL_EUSAGE, "the table has no valid column %s: scan with the same fields", name.data);
out:
    bl_buffer_byte(&out->text, '\0');
    bl_buffer_free(&name);
    if (code)
        return code;
    return bl_buffer_check(&out->text, e);
}

/* Sets out->columns and out->extra to the kind's own columns and their values. */
static int extra_columns_read(const struct bl_composite_part *part, const struct bl_row *row,
                              struct bl_companion_row *out, struct bl_error *e)
{
    struct bl_buffer name = {0}, value = {0};
    bool failed = false; /* what is cleared forgets it */
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
        failed |= name.failed || value.failed;
    }
    int code = failed || out->columns.failed ? bl_error_memory(e) : bl_buffer_check(&out->extra, e);
    bl_buffer_free(&name);
    bl_buffer_free(&value);
    return code;
}

/* Sets what the row says of its clip. */
static int clip_columns_read(struct bl_companion_row *out, struct bl_error *e)
{
    out->row.clip_begin = bl_row_get_number(&out->row, "clip_begin");
    out->row.clip_end = bl_row_get_number(&out->row, "clip_end");
    out->row.is_clip = true;
    bl_buffer_clear(&out->seek);
    bl_row_get_value(&out->row, "clip_seek", &out->seek);
    bl_buffer_byte(&out->seek, '\0');
    out->row.clip_seek = out->seek.data;
    if (out->row.clip_begin < 0 || out->row.clip_end < out->row.clip_begin)
        return bl_error_set(e, BL_EFAIL, "%s: an invalid number in the columns of its clips", out->row.id);
    return bl_buffer_check(&out->seek, e);
}

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
    if (!code && part->clips)
        code = clip_columns_read(out, e);
    if (code || !part->path)
        return code;
    for (int c = 0; c < FILE_COLUMNS && !code; c++)
        code = file_column_read(part, row, file_column_name(part, c), &at[c], c == FILE_CONTENT, out, e);
    if (code)
        return code;
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

/* --- making ------------------------------------------------------------------------------------------------------- */

/* The tables of functions of a composite. The functions that count and read are in count.c. */

static const char *composite_steps(const void *config)
{
    const struct bl_composite *composite = config;
    return bl_kind_steps(composite->part[0].kind, composite->part[0].config);
}

/* Appends each line of text after "field NAME ". */
static void identity_append_lines(const char *name, const char *text, struct bl_buffer *out)
{
    while (text && *text) {
        size_t size = strcspn(text, "\n");
        bl_buffer_printf(out, "field %s %.*s\n", name, (int)size, text);
        text += size + (text[size] == '\n');
    }
}

static void composite_identify(const void *config, struct bl_buffer *out)
{
    const struct bl_composite *composite = config;
    for (int p = 0; p < composite->parts; p++) {
        const struct bl_composite_part *part = &composite->part[p];
        struct bl_buffer lines = {0};
        if (part->kind->options.identify)
            part->kind->options.identify(part->config, p ? &lines : out);
        if (part->clips) {
            bl_buffer_text(&lines, "clips: ");
            bl_content_format(bl_clip_list_digest(part->clips), &lines);
            bl_buffer_byte(&lines, '\n');
        }
        identity_append_lines(part->name, lines.data, out);
        out->failed |= lines.failed;
        bl_buffer_free(&lines);
    }
}

/* --- scanning --------------------------------------------------------------------------------------------------- */

/* The primary's, then "; NAME: ..." of each companion. */
static void composite_sampling(const void *config, struct bl_buffer *out)
{
    const struct bl_composite *composite = config;
    for (int p = 0; p < composite->parts; p++) {
        const struct bl_composite_part *part = &composite->part[p];
        if (p)
            bl_buffer_printf(out, "; %s: ", part->name);
        part->kind->scan->sampling(part->config, out);
        if (part->tolerance >= 0 && p)
            bl_buffer_printf(out, " length-tolerance=%lld", (long long)part->tolerance);
    }
}

static void composite_columns(const void *config, bool lists, struct bl_buffer *out)
{
    (void)lists; /* a composite has none */
    const struct bl_composite *composite = config;
    const struct bl_composite_part *primary = &composite->part[0];
    if (primary->kind->scan->columns)
        primary->kind->scan->columns(primary->config, false, out);
    for (int p = 1; p < composite->parts; p++)
        bl_companion_append_columns(&composite->part[p], out);
}

/* The file must hold what it held at the scan, or still be missing. */
static int companion_verify_file(const struct bl_composite_part *part, const struct bl_companion_row *companion,
                                 struct bl_error *e)
{
    struct bl_input input = {.path = companion->open_path};
    const char *unusable;
    int code = bl_input_stat_content(part->kind, &input, &unusable, e);
    if (code)
        return code;
    if (input.bytes != companion->row.bytes)
        return bl_error_set(e, BL_EDATA, "%s: %s has a different size", part->name, companion->path);
    if (companion->row.content && input.content != companion->row.content)
        return bl_error_set(e, BL_EDATA, "%s: %s has different content", part->name, companion->path);
    return BL_OK;
}

static int part_verify(const struct bl_composite_part *part, const struct bl_row *row, struct bl_error *e)
{
    return part->kind->scan->verify ? part->kind->scan->verify(part->config, row, e) : BL_OK;
}

static int composite_verify(const void *config, const struct bl_row *row, struct bl_error *e)
{
    const struct bl_composite *composite = config;
    struct bl_companion_row companion = {0};
    int code = part_verify(&composite->part[0], row, e);
    for (int p = 1; p < composite->parts && !code; p++) {
        const struct bl_composite_part *part = &composite->part[p];
        code = bl_companion_row_read(composite, p, row, &companion, e);
        if (code || !companion.path || !*companion.path)
            continue; /* no file, or the row was unusable before its file was looked for */
        code = companion_verify_file(part, &companion, e);
        if (!code)
            code = part_verify(part, &companion.row, e);
    }
    bl_companion_row_free(&companion);
    return code;
}

/* --- reading ---------------------------------------------------------------------------------------------------- */

static int composite_add_fields(const struct bl_composite_part *part, int p, const struct bl_fields *some,
                                struct bl_fields *all, struct bl_error *e)
{
    if (all->count + some->count > BL_FIELDS_MAX)
        return bl_error_set(e, BL_EUSAGE, "more than %d fields", BL_FIELDS_MAX);
    for (int f = 0; f < some->count; f++) {
        struct bl_field *field = &all->field[all->count++];
        const char *name = some->field[f].name;
        *field = some->field[f];
        field->part = p;
        int size = p ? snprintf(field->name, sizeof field->name, "%s%s%s", part->name, some->count > 1 ? "_" : "",
                                some->count > 1 ? name : "")
                     : 0;
        if (size >= (int)sizeof field->name)
            return bl_error_set(e, BL_EUSAGE, "the field's name %s_%s is too long", part->name, name);
    }
    return BL_OK;
}

static int composite_fields(const void *config, const struct bl_kind_env *env, const struct bl_row *row,
                            struct bl_fields *out, struct bl_error *e)
{
    const struct bl_composite *composite = config;
    struct bl_companion_row companion = {0};
    int code = BL_OK;
    *out = (struct bl_fields){0};
    for (int p = 0; p < composite->parts && !code; p++) {
        const struct bl_composite_part *part = &composite->part[p];
        struct bl_fields some;
        if (row && p)
            code = bl_companion_row_read(composite, p, row, &companion, e);
        if (code)
            break;
        code = part->kind->read->fields(part->config, env, row && p ? &companion.row : row, &some, e);
        if (!code)
            code = composite_add_fields(part, p, &some, out, e);
    }
    bl_companion_row_free(&companion);
    return code;
}

static void composite_describe(const void *config, const struct bl_field *field, struct bl_buffer *out)
{
    const struct bl_composite *composite = config;
    const struct bl_composite_part *part = &composite->part[field->part];
    part->kind->read->describe(part->config, field, out);
    if (field->part && part->path)
        bl_buffer_printf(out, ", of %s", part->path);
}

static int composite_versions(const void *config, const struct bl_kind_env *env, bl_version_emit *emit, void *sink,
                              struct bl_error *e)
{
    const struct bl_composite *composite = config;
    int code = BL_OK;
    for (int p = 0; p < composite->parts && !code; p++) {
        const struct bl_composite_part *part = &composite->part[p];
        if (part->kind->read->versions)
            code = part->kind->read->versions(part->config, env, emit, sink, e);
    }
    return code;
}

/* --- the kind --------------------------------------------------------------------------------------------------- */

/* Whether only the first row must be asked for fields, as options decide those of the other parts. */
static bool composite_first_file_decides(const struct bl_composite *composite)
{
    bool first = false;
    for (int p = 0; p < composite->parts; p++) {
        struct bl_fields fields;
        const struct bl_composite_part *part = &composite->part[p];
        if (part->kind->read->first_file_decides)
            first = true;
        else if (part->kind->read->fields(part->config, NULL, NULL, &fields, NULL))
            return false;
    }
    return first;
}

/* The rate of the primary's steps, if its options set one. */
static int composite_resolve_rate(struct bl_composite *composite, struct bl_error *e)
{
    const struct bl_composite_part *primary = &composite->part[0];
    struct bl_buffer sampling = {0};
    primary->kind->scan->sampling(primary->config, &sampling);
    int code = bl_buffer_check(&sampling, e);
    if (code || !bl_kind_rate(primary->kind, sampling.data, &composite->rate.num, &composite->rate.den))
        composite->rate = (struct bl_rational){0};
    bl_buffer_free(&sampling);
    return code;
}

/* Attaches a part that follows to the primary. */
static int part_attach(const struct bl_composite *composite, const struct bl_composite_part *part, struct bl_error *e)
{
    const struct bl_kind *primary = composite->part[0].kind;
    const struct bl_kind_follow *follow = part->kind->follow;
    if (!follow)
        return BL_OK;
    bool times = primary->read->times == BL_TIMES_SECONDS || composite->rate.den;
    if (follow->needs(part->config) == BL_FOLLOW_TIMES && !times)
        return bl_error_set(e, BL_EUSAGE, "field %s: %s has no times: give the field a %s, in steps per second",
                            part->name, primary->name, part->path ? "step-rate" : "rate");
    if (!follow->attach)
        return BL_OK;
    int code = follow->attach(part->config, composite->rate.num, composite->rate.den, part->tolerance, e);
    if (code)
        bl_error_prefix(e, "field %s", part->name);
    return code;
}

static void composite_add_totals(struct bl_composite *composite, const struct bl_composite_part *part, int *count)
{
    const struct bl_total *own = part->kind->scan->totals;
    for (int t = 0; own && own[t].column && *count < BL_TOTALS_MAX; t++) {
        char *column = composite->total_column[*count];
        snprintf(column, sizeof composite->total_column[0], "%s%s%s", part->name ? part->name : "",
                 part->name ? "." : "", own[t].column);
        composite->total[*count] = own[t];
        composite->total[(*count)++].column = column;
    }
}

/* What the primary has stays, but for lists: their lines have no names to find companions by. */
static void composite_set_tables(struct bl_composite *composite)
{
    const struct bl_kind *primary = composite->part[0].kind;
    composite->scan = *primary->scan;
    composite->scan.is_list = NULL;
    composite->scan.columns = composite_columns;
    composite->scan.number = NULL;
    composite->scan.want = NULL;
    composite->scan.totals = composite->total;
    composite->scan.sampling = composite_sampling;
    composite->scan.open = bl_composite_open_counter;
    composite->scan.count = bl_composite_count;
    composite->scan.verify = composite_verify;
    composite->read = (struct bl_kind_read){.times = primary->read->times,
                                            .first_file_decides = composite_first_file_decides(composite),
                                            .fields = composite_fields,
                                            .open = bl_composite_open,
                                            .describe = composite_describe,
                                            .versions = composite_versions};
    composite->kind = *primary;
    composite->kind.steps_of = composite_steps;
    /* Whoever owns the parts' configs checks, prepares and releases them. */
    composite->kind.options = (struct bl_kind_options){.table = primary->options.table, .identify = composite_identify};
    composite->kind.scan = &composite->scan;
    composite->kind.read = &composite->read;
}

int bl_composite_make(struct bl_composite *composite, struct bl_error *e)
{
    int totals = 0;
    int code = composite_resolve_rate(composite, e);
    for (int p = 0; p < composite->parts && !code; p++) {
        const struct bl_composite_part *part = &composite->part[p];
        if (!bl_composite_accepts(part->kind))
            return bl_error_set(e, BL_EUSAGE,
                                "fields: %s does not have one file per sequence, so it cannot be combined with others",
                                part->kind->name);
        code = part_attach(composite, part, e);
    }
    if (code)
        return code;
    composite_set_tables(composite);
    for (int p = 0; p < composite->parts; p++) {
        composite->read.memory += composite->part[p].kind->read->memory;
        composite_add_totals(composite, &composite->part[p], &totals);
    }
    composite->total[totals] = (struct bl_total){0};
    return BL_OK;
}
