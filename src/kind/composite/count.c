#include "kind/composite/count.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/archive.h"
#include "base/buffer.h"
#include "base/fs.h"
#include "kind/input_stat.h"

/* --- counting ----------------------------------------------------------------------------------------------------- */

struct composite_counter {
    struct bl_counter base;
    const struct bl_composite *composite;
    struct bl_counter *part[BL_FIELDS_MAX]; /* NULL for kinds that have none */
};

static void composite_counter_close(struct bl_counter *counter)
{
    struct composite_counter *c = (struct composite_counter *)counter;
    for (int p = 0; p < c->composite->parts; p++) {
        if (c->part[p])
            c->part[p]->close(c->part[p]);
    }
    free(c);
}

int bl_composite_open_counter(const void *config, const struct bl_kind_env *env, struct bl_counter **counter,
                              struct bl_error *e)
{
    const struct bl_composite *composite = config;
    struct composite_counter *c = calloc(1, sizeof *c);
    if (!c)
        return bl_error_memory(e);
    int code = BL_OK;
    c->base.close = composite_counter_close;
    c->composite = composite;
    for (int p = 0; p < composite->parts && !code; p++) {
        const struct bl_composite_part *part = &composite->part[p];
        if (part->kind->scan->open)
            code = part->kind->scan->open(part->config, env, &c->part[p], e);
    }
    if (code) {
        composite_counter_close(&c->base);
        return code;
    }
    *counter = &c->base;
    return BL_OK;
}

/* --- a companion's file ------------------------------------------------------------------------------------------- */

/* What counting the file gave: the first row, with its texts. */
struct found {
    int rows;
    struct bl_row row;
    struct bl_buffer path; /* in the table */
    struct bl_buffer reason, extra, form;
};

static void found_free(struct found *found)
{
    bl_buffer_free(&found->path);
    bl_buffer_free(&found->reason);
    bl_buffer_free(&found->extra);
    bl_buffer_free(&found->form);
}

static int found_capture(void *sink, int input, const struct bl_row *row, struct bl_error *e)
{
    (void)input;
    struct found *found = sink;
    if (found->rows++)
        return BL_OK;
    found->row = *row;
    bl_buffer_text(&found->reason, row->reason ? row->reason : "");
    bl_buffer_text(&found->extra, row->extra ? row->extra : "");
    bl_buffer_text(&found->form, row->form ? row->form : "");
    found->row.reason = found->reason.data;
    found->row.extra = found->extra.data;
    bool failed = found->reason.failed || found->extra.failed || found->form.failed;
    return failed ? bl_error_memory(e) : BL_OK;
}

/* --- rows ------------------------------------------------------------------------------------------------------- */

/* The counting of a chunk of the primary. */
struct counting {
    const struct bl_composite *composite;
    const struct bl_kind_env *env;
    struct composite_counter *counter;
    const struct bl_chunk *chunk;
    bl_row_emit *emit;
    void *sink;
};

static int companion_count_file(const struct counting *c, int p, struct bl_input *input, const struct bl_row *followed,
                                struct found *found, struct bl_error *e)
{
    const struct bl_composite_part *part = &c->composite->part[p];
    const char *unusable;
    int code = bl_input_stat_content(part->kind, input, &unusable, e);
    if (code)
        goto out;
    if (unusable) {
        struct bl_row row = {.status = BL_ROW_SKIPPED, .reason = unusable, .stream = -1, .offset = -1};
        code = found_capture(found, 0, &row, e);
    } else {
        struct bl_chunk chunk = {.input = input, .inputs = 1, .end = INT64_MAX, .followed = followed};
        code = part->kind->scan->count(part->config, c->env, c->counter->part[p], &chunk, found_capture, found, e);
        if (!code)
            code = bl_input_recheck(part->kind, input, e);
    }
out:
    found->row.path = found->path.data;
    found->row.bytes = input->bytes;
    found->row.content = input->content;
    return code;
}

/* Copies the path of the row, which names a file in its turn: a clip's. */
static int clip_capture(void *sink, int input, const struct bl_row *row, struct bl_error *e)
{
    struct found *found = sink;
    bl_buffer_clear(&found->path);
    bl_buffer_text(&found->path, row->path ? row->path : "");
    int code = bl_buffer_check(&found->path, e);
    return code ? code : found_capture(found, input, row, e);
}

/* The row of a sequence that the list has no clip for: what it names is the list itself. */
static int clip_capture_missing(const struct bl_composite_part *part, struct bl_input *list, struct found *found,
                                struct bl_error *e)
{
    const char *unusable;
    struct bl_buffer reason = {0};
    bl_buffer_printf(&reason, "%s: no line has its id", part->path);
    int code = bl_buffer_check(&reason, e);
    if (!code)
        code = bl_input_stat_content(part->kind, list, &unusable, e);
    const struct bl_row row = {.path = part->path,
                               .bytes = list->bytes,
                               .content = list->content,
                               .status = BL_ROW_SKIPPED,
                               .reason = reason.data,
                               .stream = -1,
                               .offset = -1};
    if (!code)
        code = clip_capture(found, 0, &row, e);
    bl_buffer_free(&reason);
    return code;
}

/* Counts the clip that the companion's list has for the id. */
static int companion_count_clip(const struct counting *c, int p, const char *id, struct found *found,
                                struct bl_error *e)
{
    const struct bl_composite_part *part = &c->composite->part[p];
    struct bl_line line;
    char *open_path = bl_path_join(c->composite->base, part->path);
    if (!open_path)
        return bl_error_memory(e);
    struct bl_input input = {.path = open_path, .name = part->path, .id = id};
    struct bl_chunk chunk = {.input = &input,
                             .inputs = 1,
                             .end = INT64_MAX,
                             .base = c->composite->base,
                             .list = true,
                             .clips = true,
                             .line = &line,
                             .lines = 1};
    int code = BL_OK;
    if (bl_clip_list_find(part->clips, id, &line))
        code = part->kind->scan->count(part->config, c->env, c->counter->part[p], &chunk, clip_capture, found, e);
    else
        code = clip_capture_missing(part, &input, found, e);
    found->row.path = found->path.data;
    free(open_path);
    return code;
}

/* Sets the path of the companion's file. *fault: why it is known that there is none; or NULL. */
static int companion_find(const struct counting *c, const struct bl_composite_part *part, int input,
                          struct bl_buffer *path, const char **fault, struct bl_error *e)
{
    const struct bl_input *primary = &c->chunk->input[input];
    const char *extension = bl_companion_extension(part->path);
    struct bl_member within;
    *fault = NULL;
    if (!extension) {
        bl_companion_append_path(part->path, primary->id, path);
        return bl_buffer_check(path, e);
    }
    const struct bl_member_entry *entry = bl_member_index_beside(c->composite->members, primary->name, extension);
    if (entry) {
        bl_member_index_append(c->composite->members, entry, path);
    } else if (bl_member_parse(primary->name, &within)) {
        bl_buffer_printf(path, "%.*s.%s", (int)bl_member_key(within.name), within.name, extension);
        *fault = "the sample has no such member";
    } else {
        bl_buffer_text(path, part->path);
        *fault = "the sequence is no member of a tar";
    }
    return bl_buffer_check(path, e);
}

static int companion_count(const struct counting *c, int p, int number, const struct bl_row *followed,
                           struct found *found, struct bl_error *e)
{
    const char *id = c->chunk->input[number].id, *fault;
    const struct bl_composite_part *part = &c->composite->part[p];
    if (!part->path) {
        struct bl_input none = {.path = "", .id = id};
        struct bl_chunk chunk = {.input = &none, .inputs = 1, .end = INT64_MAX, .followed = followed};
        return part->kind->scan->count(part->config, c->env, c->counter->part[p], &chunk, found_capture, found, e);
    }
    if (part->clips)
        return companion_count_clip(c, p, id, found, e);
    int code = companion_find(c, part, number, &found->path, &fault, e);
    if (code)
        return code;
    char *open_path = bl_path_join(bl_companion_base(c->composite, part), found->path.data);
    struct bl_input input = {.path = open_path, .fault = fault, .id = id};
    code = open_path ? companion_count_file(c, p, &input, followed, found, e) : bl_error_memory(e);
    free(open_path);
    return code;
}

/* Appends why the companion's file does not fit the row, if so. */
static void companion_compare(const struct bl_composite *composite, int p, const struct bl_row *row,
                              const struct found *found, struct bl_buffer *reason)
{
    const struct bl_composite_part *part = &composite->part[p];
    const char *path = found->path.data;
    int64_t length = found->row.length, apart = length > row->length ? length - row->length : row->length - length;
    bool named = part->clips || !part->path; /* the reason says where it is, or there is no file */
    if (named && found->row.status != BL_ROW_OK)
        bl_buffer_printf(reason, "%s: %s", part->name, found->row.reason);
    else if (!part->path)
        return;
    else if (found->rows != 1)
        bl_buffer_printf(reason, "%s: %s has %d sequences", part->name, path, found->rows);
    else if (found->row.status != BL_ROW_OK)
        bl_buffer_printf(reason, "%s: %s: %s", part->name, path, found->row.reason);
    else if (!part->kind->follow && apart > (part->tolerance > 0 ? part->tolerance : 0))
        bl_buffer_printf(
            reason, "%s: %s has %" PRId64 " %s, the %s %" PRId64 " %s (length-tolerance: %" PRId64 " would accept it)",
            part->name, path, length, bl_kind_steps(part->kind, part->config), composite->part[0].kind->name,
            row->length, bl_kind_steps(composite->part[0].kind, composite->part[0].config), apart);
}

/* Texts of a composite's row: its columns, why it is skipped, which damage there is, the form of its steps. */
struct row_texts {
    struct bl_buffer extra, reason, damage, form;
};

static void row_texts_free(struct row_texts *texts)
{
    bl_buffer_free(&texts->extra);
    bl_buffer_free(&texts->reason);
    bl_buffer_free(&texts->damage);
    bl_buffer_free(&texts->form);
}

/* Counts companion p's file for the row, and adds its texts. */
static int row_add_companion(const struct counting *c, int p, int input, const struct bl_row *row,
                             struct row_texts *texts, struct bl_error *e)
{
    const struct bl_composite_part *part = &c->composite->part[p];
    struct found found = {0};
    struct bl_row followed = *row;
    if (!bl_composite_needs_times(c->composite, p))
        followed.times = NULL;
    int code = companion_count(c, p, input, &followed, &found, e);
    bl_companion_append_values(part, !code && found.rows ? &found.row : NULL, &texts->extra);
    if (code)
        goto out;
    companion_compare(c->composite, p, row, &found, &texts->reason);
    if (!texts->reason.size && part->path)
        bl_companion_append_damage(part, found.row.path, found.row.reason, &texts->damage);
out:
    if (found.form.size)
        bl_buffer_printf(&texts->form, "%s%s %s", texts->form.size ? ", " : "", part->name, found.form.data);
    found_free(&found);
    return code;
}

static void primary_append_columns(const struct bl_composite_part *primary, const struct bl_row *row,
                                   struct bl_buffer *out)
{
    struct bl_buffer columns = {0};
    bl_buffer_text(out, row->extra ? row->extra : "");
    if (primary->kind->scan->columns && (!row->extra || !*row->extra))
        primary->kind->scan->columns(primary->config, false, &columns);
    for (const char *tab = columns.data; tab && (tab = strchr(tab, '\t')); tab++)
        bl_buffer_byte(out, '\t');
    out->failed |= columns.failed;
    bl_buffer_free(&columns);
}

/* Whether counting some companion needs the times of the primary's steps. */
static bool counting_needs_times(const struct bl_composite *composite)
{
    for (int p = 1; p < composite->parts; p++) {
        const struct bl_kind_follow *follow = composite->part[p].kind->follow;
        if (follow && follow->count_needs_times && bl_composite_needs_times(composite, p))
            return true;
    }
    return false;
}

/* Makes the row that companions get. If the primary has a rate, the times follow from it, and are to be freed. */
static int row_add_times(const struct counting *c, int input, const struct bl_row *given, struct bl_row *row,
                         double **times, struct bl_error *e)
{
    const struct bl_rational *rate = &c->composite->rate;
    *row = *given;
    *times = NULL;
    row->path = c->chunk->input[input].path;
    if (row->status != BL_ROW_OK || !rate->den || !counting_needs_times(c->composite))
        return BL_OK;
    row->times = *times = malloc((size_t)row->length * sizeof **times);
    for (int64_t i = 0; i < row->length && *times; i++)
        (*times)[i] = bl_kind_step_time(rate, NULL, 0, i);
    return *times ? BL_OK : bl_error_memory(e);
}

/* Takes a row of the primary. If it is usable, its companions are counted. */
static int composite_emit(void *sink, int input, const struct bl_row *given, struct bl_error *e)
{
    const struct counting *c = sink;
    struct bl_row row = *given, followed;
    struct row_texts texts = {0};
    double *times;
    int code = row_add_times(c, input, given, &followed, &times, e);
    primary_append_columns(&c->composite->part[0], given, &texts.extra);
    bl_buffer_text(&texts.damage, row.reason ? row.reason : "");
    bl_buffer_text(&texts.form, row.form ? row.form : "");
    for (int p = 1; p < c->composite->parts && !code; p++) {
        if (row.status == BL_ROW_OK && !texts.reason.size)
            code = row_add_companion(c, p, input, &followed, &texts, e);
        else
            bl_companion_append_values(&c->composite->part[p], NULL, &texts.extra);
    }
    if (!code && (texts.extra.failed || texts.reason.failed || texts.damage.failed || texts.form.failed))
        code = bl_error_memory(e);
    row.extra = texts.extra.data;
    row.reason = texts.damage.data;
    row.form = texts.form.size ? texts.form.data : NULL;
    if (texts.reason.size) {
        row.status = BL_ROW_SKIPPED;
        row.length = 0;
        row.reason = texts.reason.data;
        row.form = NULL;
    }
    if (!code)
        code = c->emit(c->sink, input, &row, e);
    row_texts_free(&texts);
    free(times);
    return code;
}

int bl_composite_count(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                       struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e)
{
    const struct bl_composite *composite = config;
    const struct bl_composite_part *primary = &composite->part[0];
    struct counting c = {composite, env, (struct composite_counter *)counter, chunk, emit, sink};
    chunk->times = counting_needs_times(composite);
    return primary->kind->scan->count(primary->config, env, c.counter->part[0], chunk, composite_emit, &c, e);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* A part's reader, and the fields that it writes: those of the dataset from `first` on. */
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
    struct bl_companion_row companion;
    struct bl_buffer reason; /* of the primary alone */
    struct bl_buffer beyond; /* a step that is read only to check the end of its file */
    bool timed;              /* some part needs the times of steps */
    double *times;           /* of a piece's steps, as in struct bl_request */
    size_t capacity;         /* of times */
};

/* Chooses the fields of the part, which are consecutive. */
static void sub_choose_fields(struct sub *sub, int part, const struct bl_fields *all)
{
    for (int f = 0; f < all->count; f++) {
        if (all->field[f].part != part)
            continue;
        if (!sub->fields.count)
            sub->first = f;
        sub->fields.field[sub->fields.count++] = all->field[f];
    }
}

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

/* Copies the step before `have` to those from `have` to `steps`. */
static void fields_repeat_last(const struct bl_fields *fields, uint8_t *const *out, int64_t have, int64_t steps)
{
    for (int f = 0; f < fields->count; f++) {
        size_t size = bl_field_step_bytes(&fields->field[f]);
        for (uint8_t *at = out[f] + (size_t)have * size, *end = out[f] + (size_t)steps * size; at < end; at += size)
            memcpy(at, at - size, size);
    }
}

/* So that a field of any type can begin there. */
static size_t bytes_align(size_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

/* Reads the last step of a companion with more steps than the sequence: kinds compare a file with the scan only when a
 * piece reaches its end. */
static int companion_read_end(struct composite_reader *r, const struct bl_kind *kind, struct sub *sub,
                              struct bl_note *note, struct bl_error *e)
{
    uint8_t *out[BL_FIELDS_MAX];
    struct bl_note end = {0};
    size_t bytes = 0, at = 0;
    struct bl_request request = {
        .row = r->companion.row, .source_start = r->companion.row.length - 1, .steps = 1, .out = out};
    for (int f = 0; f < sub->fields.count; f++)
        bytes += bytes_align(bl_field_step_bytes(&sub->fields.field[f]));
    bl_buffer_clear(&r->beyond);
    if (!bl_buffer_reserve(&r->beyond, bytes))
        return bl_error_memory(e);
    for (int f = 0; f < sub->fields.count; f++) {
        out[f] = (uint8_t *)r->beyond.data + at;
        at += bytes_align(bl_field_step_bytes(&sub->fields.field[f]));
    }
    int code = bl_file_check_read(&sub->check, kind, sub->reader, &request, &end, e);
    if (code)
        return code;
    if (!note->text[0])
        *note = end;
    return BL_OK;
}

/* Reads a companion's steps. Where it has fewer than the sequence, its last step is repeated. */
static int companion_read(struct composite_reader *r, int p, const struct bl_request *request, struct bl_note *note,
                          struct bl_error *e)
{
    struct sub *sub = &r->sub[p];
    const struct bl_kind *kind = r->composite->part[p].kind;
    int code = bl_companion_row_read(r->composite, p, &request->row, &r->companion, e);
    if (code)
        return code;
    if (r->companion.row.length < 1)
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
    if (kind->follow)
        return bl_file_check_read(&sub->check, kind, sub->reader, &own, note, e);
    if (start >= length)
        own.source_start = length - 1;
    if (own.steps > length - own.source_start)
        own.steps = length - own.source_start;
    code = bl_file_check_read(&sub->check, kind, sub->reader, &own, note, e);
    if (code)
        return code;
    fields_repeat_last(&sub->fields, own.out, own.steps, steps);
    if (start + steps == request->row.length && start + steps < length)
        code = companion_read_end(r, kind, sub, note, e);
    return code;
}

/* Makes room for the times of the piece's steps, and sets them if the primary has a rate. */
static int composite_make_times(struct composite_reader *r, const struct bl_request *request, struct bl_error *e)
{
    const struct bl_rational *rate = &r->composite->rate;
    int code = BL_ARRAY_RESERVE(r->times, r->capacity, (size_t)request->steps, e);
    if (code)
        return code;
    for (int64_t i = 0; i < request->steps && rate->den; i++)
        r->times[i] = bl_kind_step_time(rate, NULL, request->source_start, i);
    return BL_OK;
}

/* Sets r->reason to the primary's own: the row's reason without the part about companions' files, which is its end. */
static int primary_reason(struct composite_reader *r, const struct bl_row *row, struct bl_error *e)
{
    struct bl_buffer damage = {0};
    bl_buffer_clear(&r->reason);
    bl_buffer_text(&r->reason, row->reason);
    int code = bl_buffer_check(&r->reason, e);
    for (int p = 1; p < r->composite->parts && !code && *row->reason; p++) {
        code = bl_companion_row_read(r->composite, p, row, &r->companion, e);
        if (!code && r->companion.path)
            bl_companion_append_damage(&r->composite->part[p], r->companion.path, r->companion.row.reason, &damage);
    }
    if (!code)
        code = bl_buffer_check(&damage, e);
    if (code)
        goto out;
    size_t all = r->reason.size, size = damage.size;
    if (size && size <= all && strcmp(r->reason.data + all - size, damage.data) == 0) {
        r->reason.size = all - size > 2 ? all - size - 2 : 0; /* without "; " between them */
        r->reason.data[r->reason.size] = '\0';
    }
out:
    bl_buffer_free(&damage);
    return code;
}

static int primary_read(struct composite_reader *r, const struct bl_request *request, struct bl_note *note,
                        struct bl_error *e)
{
    struct bl_request own = *request;
    int code = primary_reason(r, &request->row, e);
    if (code)
        return code;
    own.row.reason = r->reason.data;
    own.out = request->out + r->sub[0].first;
    own.times = r->timed ? r->times : NULL;
    return r->sub[0].reader->piece(r->sub[0].reader, &own, note, e);
}

static int composite_reader_piece(struct bl_reader *reader, const struct bl_request *request, struct bl_note *note,
                                  struct bl_error *e)
{
    struct composite_reader *r = (struct composite_reader *)reader;
    const struct bl_composite *composite = r->composite;
    note->text[0] = '\0';
    int code = r->timed ? composite_make_times(r, request, e) : BL_OK;
    for (int p = 0; p < composite->parts && !code; p++) {
        struct bl_note one = {0};
        code = p ? companion_read(r, p, request, &one, e) : primary_read(r, request, &one, e);
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
        sub_choose_fields(sub, p, fields);
        code = kind->read->open(composite->part[p].config, env, &sub->fields, &sub->reader, e);
    }
    if (code) {
        composite_reader_close(&r->base);
        return code;
    }
    *reader = &r->base;
    return BL_OK;
}
