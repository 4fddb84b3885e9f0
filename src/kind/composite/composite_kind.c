/* Makes one kind out of the parts of a composite: its functions count, identify and verify all files of a sequence.
 *
 * The primary's kind counts the input and emits its row. For each usable row, composite_emit counts the companions'
 * files, compares their lengths with the row's, and appends their columns. The first companion that does not fit makes
 * the sequence a skipped one; the columns of the companions after it stay empty. Example: a video a.mp4 of 100 frames
 * with poses/a.npy of 98 rows becomes "skipped", with the reason "poses: poses/a.npy has 98 rows, the video 100 frames
 * (length-tolerance: 2 would accept it)". */
#include "kind/composite/composite_kind.h"

#include <inttypes.h>
#include <stdio.h>
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

/* Closes the counters of all parts, also if only some could be opened. */
static void composite_counter_close(struct bl_counter *counter)
{
    struct composite_counter *c = (struct composite_counter *)counter;
    for (int p = 0; p < c->composite->parts; p++) {
        if (c->part[p])
            c->part[p]->close(c->part[p]);
    }
    free(c);
}

/* Opens a counter for each part whose kind has one. */
static int composite_counter_open(const void *config, const struct bl_kind_env *env, struct bl_counter **counter,
                                  struct bl_error *e)
{
    const struct bl_composite *composite = config;
    struct composite_counter *c = calloc(1, sizeof *c);
    if (!c)
        return bl_error_memory(e);
    int code = BL_OK;
    c->base.close = composite_counter_close;
    c->composite = composite;
    /* An error in the middle closes the counters that were opened. */
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

void bl_companion_found_free(struct bl_companion_found *found)
{
    struct bl_buffer *const buffers[] = {&found->path, &found->reason, &found->extra, &found->form};
    for (size_t b = 0; b < sizeof buffers / sizeof *buffers; b++)
        bl_buffer_free(buffers[b]);
    *found = (struct bl_companion_found){0};
}

/* Keeps the first row of a companion's file, and counts its rows; it is a bl_row_emit. The texts of the row belong to
 * the kind and are copied. A file must have one row; more of them are a reason to skip the sequence. */
static int found_capture(void *sink, int input, const struct bl_row *row, struct bl_error *e)
{
    (void)input;
    struct bl_companion_found *found = sink;
    /* Only the number of further rows matters. */
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

/* Counts the companion's file at input->path. A file that cannot be used gives a skipped row with the reason. */
static int companion_count_file(const struct bl_companion_counting *c, struct bl_input *input,
                                struct bl_companion_found *found, struct bl_error *e)
{
    const struct bl_composite_part *part = &c->composite->part[c->part];
    const char *unusable;
    int code = bl_input_stat_content(part->kind, input, &unusable, e);
    if (code)
        goto out;
    /* The file does not exist, or is a folder: nothing is opened. */
    found->is_missing |= unusable && strcmp(unusable, BL_REASON_MISSING) == 0;
    if (unusable && found->is_missing && part->zeros) {
        const struct bl_input none = {.path = "", .id = c->id};
        struct bl_chunk chunk = {.input = &none, .inputs = 1, .end = INT64_MAX, .followed = c->followed};
        code = part->kind->scan->count(part->config, c->env, c->counter, &chunk, found_capture, found, e);
    } else if (unusable) {
        struct bl_row row = {.status = BL_ROW_SKIPPED, .reason = unusable, .stream = -1, .offset = -1};
        code = found_capture(found, 0, &row, e);
    } else {
        /* Each file is a chunk. */
        struct bl_chunk chunk = {.input = input, .inputs = 1, .end = INT64_MAX, .followed = c->followed};
        code = part->kind->scan->count(part->config, c->env, c->counter, &chunk, found_capture, found, e);
        /* The file must not have changed while it was counted. */
        if (!code)
            code = bl_input_recheck(part->kind, input, e);
    }
out:
    found->row.path = found->path.data;
    found->row.bytes = input->bytes;
    found->row.content = input->content;
    return code;
}

/* Keeps the row of a clip. Its path is copied, too, because it names a file that only the list knows. */
static int clip_capture(void *sink, int input, const struct bl_row *row, struct bl_error *e)
{
    struct bl_companion_found *found = sink;
    bl_buffer_clear(&found->path);
    bl_buffer_text(&found->path, row->path ? row->path : "");
    BL_TRY(bl_buffer_check(&found->path, e));
    return found_capture(found, input, row, e);
}

/* Makes the row of a sequence for which the list has no clip. The row names the list itself, with its size and content,
 * so that a change of the list is noticed. */
static int clip_capture_missing(const struct bl_composite_part *part, struct bl_input *list,
                                struct bl_companion_found *found, struct bl_error *e)
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

/* Counts the clip that the companion's list has for the id: the one line is a chunk. */
static int companion_count_clip(const struct bl_companion_counting *c, struct bl_companion_found *found,
                                struct bl_error *e)
{
    const struct bl_composite_part *part = &c->composite->part[c->part];
    struct bl_line line;
    char *open_path = bl_path_join(c->composite->base, part->path);
    if (!open_path)
        return bl_error_memory(e);
    /* The list's path may be relative to the directory of the composite. */
    struct bl_input input = {.path = open_path, .name = part->path, .id = c->id};
    struct bl_chunk chunk = {.input = &input,
                             .inputs = 1,
                             .end = INT64_MAX,
                             .base = c->composite->base,
                             .list = true,
                             .clips = true,
                             .line = &line,
                             .lines = 1};
    int code = BL_OK;
    /* The kind counts the clip as a line of a list that it was given. */
    if (bl_clip_list_find(part->clips, c->id, &line))
        code = part->kind->scan->count(part->config, c->env, c->counter, &chunk, clip_capture, found, e);
    else
        code = clip_capture_missing(part, &input, found, e);
    found->row.path = found->path.data;
    free(open_path);
    return code;
}

/* Sets the path of the companion's file. *fault: the reason if it is known already that there is no such file, or NULL.
 * The path is set in any case, for the table. */
static int companion_find(const struct bl_companion_counting *c, struct bl_companion_found *found, const char **fault,
                          struct bl_error *e)
{
    const struct bl_composite_part *part = &c->composite->part[c->part];
    const char *extension = bl_companion_extension(part->path);
    struct bl_buffer *path = &found->path;
    struct bl_member within;
    *fault = NULL;
    /* The path follows from the sequence's id. */
    if (!extension) {
        bl_companion_append_path(part->path, c->id, path);
        return bl_buffer_check(path, e);
    }
    const struct bl_member_entry *entry = bl_member_index_beside(c->composite->members, c->name, extension);
    if (entry) {
        bl_member_index_append(c->composite->members, entry, path);
    } else if (bl_member_parse(c->name, &within)) {
        /* The path that the member would have, for the table. */
        bl_buffer_printf(path, "%.*s.%s", (int)bl_member_key(within.name), within.name, extension);
        *fault = "the sample has no such member";
        found->is_missing = true;
    } else {
        bl_buffer_text(path, part->path);
        *fault = "the sequence is no member of a tar";
    }
    return bl_buffer_check(path, e);
}

int bl_companion_count(const struct bl_companion_counting *c, struct bl_companion_found *found, struct bl_error *e)
{
    const struct bl_composite_part *part = &c->composite->part[c->part];
    const char *fault;
    if (!part->path) {
        /* Without a file, the input is only a name for messages. */
        struct bl_input none = {.path = "", .id = c->id};
        struct bl_chunk chunk = {.input = &none, .inputs = 1, .end = INT64_MAX, .followed = c->followed};
        return part->kind->scan->count(part->config, c->env, c->counter, &chunk, found_capture, found, e);
    }
    if (part->clips)
        return companion_count_clip(c, found, e);
    BL_TRY(companion_find(c, found, &fault, e));
    char *open_path = bl_path_join(bl_companion_base(c->composite, part), found->path.data);
    struct bl_input input = {.path = open_path, .fault = fault, .id = c->id};
    int code = open_path ? companion_count_file(c, &input, found, e) : bl_error_memory(e);
    free(open_path);
    return code;
}

/* --- rows ------------------------------------------------------------------------------------------------------- */

/* The counting of one chunk of the primary: what composite_emit needs beside the row. */
struct composite_counting {
    const struct bl_composite *composite;
    const struct bl_kind_env *env;
    struct composite_counter *counter;
    const struct bl_chunk *chunk;
    bl_row_emit *emit;
    void *sink;
};

/* Appends the reason why the companion does not fit the row. Nothing is appended if it fits. */
static void companion_compare(const struct bl_composite *composite, int p, const struct bl_row *row,
                              const struct bl_companion_found *found, struct bl_buffer *reason)
{
    const struct bl_composite_part *part = &composite->part[p];
    const char *path = found->path.data;
    int64_t length = found->row.length, apart = length > row->length ? length - row->length : row->length - length;
    bool named = part->clips || !part->path; /* the reason names the place itself, or there is no file */
    if (named && found->row.status != BL_ROW_OK)
        bl_buffer_printf(reason, "%s: %s", part->name, found->row.reason);
    else if (!part->path)
        return;
    else if (found->rows != 1)
        bl_buffer_printf(reason, "%s: %s has %d sequences", part->name, path, found->rows);
    else if (found->row.status != BL_ROW_OK)
        bl_buffer_printf(reason, "%s: %s: %s", part->name, path, found->row.reason);
    /* A kind that follows has a length in other units. */
    else if (!part->kind->follow && apart > (part->tolerance > 0 ? part->tolerance : 0))
        bl_buffer_printf(
            reason, "%s: %s has %" PRId64 " %s, the %s %" PRId64 " %s (length-tolerance: %" PRId64 " would accept it)",
            part->name, path, length, bl_kind_steps(part->kind, part->config), composite->part[0].kind->name,
            row->length, bl_kind_steps(composite->part[0].kind, composite->part[0].config), apart);
}

/* The texts of a composite's row: the columns, the reason if it is skipped, the damage in its files, and the form of
 * its steps ("poses F32 [25, 3]"). */
struct row_texts {
    struct bl_buffer extra, reason, damage, form;
};

/* Counts companion p for the row, and adds its columns and its reason or damage. */
static int row_add_companion(const struct composite_counting *c, int p, int input, const struct bl_row *row,
                             struct row_texts *texts, struct bl_error *e)
{
    const struct bl_composite_part *part = &c->composite->part[p];
    struct bl_companion_found found = {0};
    struct bl_row followed = *row;
    /* The times are computed for all companions, and shown only to those that need them. */
    if (!bl_composite_needs_times(c->composite, p))
        followed.times = NULL;
    const struct bl_companion_counting counting = {.composite = c->composite,
                                                   .part = p,
                                                   .env = c->env,
                                                   .counter = c->counter->part[p],
                                                   .id = c->chunk->input[input].id,
                                                   .name = c->chunk->input[input].name,
                                                   .followed = &followed};
    int code = bl_companion_count(&counting, &found, e);
    bl_companion_append_values(part, !code && found.rows ? &found.row : NULL, &texts->extra);
    if (code)
        goto out;
    companion_compare(c->composite, p, row, &found, &texts->reason);
    /* Damage does not skip a sequence: the row reports it, and its steps are used. */
    if (!texts->reason.size && part->path)
        bl_companion_append_damage(part, found.row.path, found.row.reason, &texts->damage);
out:
    if (found.form.size)
        bl_buffer_printf(&texts->form, "%s%s %s", texts->form.size ? ", " : "", part->name, found.form.data);
    bl_companion_found_free(&found);
    return code;
}

/* Returns whether counting some companion needs the times of the primary's steps: a kind that gives each step a part of
 * its file counts these parts. */
static bool counting_needs_times(const struct bl_composite *composite)
{
    for (int p = 1; p < composite->parts; p++) {
        const struct bl_kind_follow *follow = composite->part[p].kind->follow;
        if (follow && follow->per_step_of && bl_composite_needs_times(composite, p))
            return true;
    }
    return false;
}

/* Makes the row that companions get. If the primary has a rate, the times follow from it: *times, which the caller
 * frees. */
static int row_add_times(const struct composite_counting *c, int input, const struct bl_row *given, struct bl_row *row,
                         double **times, struct bl_error *e)
{
    const struct bl_rational *rate = &c->composite->rate;
    *row = *given;
    *times = NULL;
    /* The companions get the path that can be opened. */
    row->path = c->chunk->input[input].path;
    if (row->status != BL_ROW_OK || !rate->den || !counting_needs_times(c->composite))
        return BL_OK;
    row->times = *times = malloc((size_t)row->length * sizeof **times);
    for (int64_t i = 0; i < row->length && *times; i++)
        (*times)[i] = bl_kind_step_time(rate, NULL, 0, i);
    return *times ? BL_OK : bl_error_memory(e);
}

/* Takes a row of the primary, counts its companions if it is usable, and emits the row with all columns. */
static int composite_emit(void *sink, int input, const struct bl_row *given, struct bl_error *e)
{
    const struct composite_counting *c = sink;
    struct bl_row row = *given, followed;
    struct row_texts texts = {0};
    double *times;
    int code = row_add_times(c, input, given, &followed, &times, e);
    /* A row without extra values gets an empty one for each column of the primary's kind. */
    const struct bl_composite_part *primary = &c->composite->part[0];
    struct bl_buffer columns = {0};
    bl_buffer_text(&texts.extra, given->extra ? given->extra : "");
    if (primary->kind->scan->columns && (!given->extra || !*given->extra))
        primary->kind->scan->columns(primary->config, false, &columns);
    for (const char *tab = columns.data; tab && (tab = strchr(tab, '\t')); tab++)
        bl_buffer_byte(&texts.extra, '\t');
    texts.extra.failed |= columns.failed;
    bl_buffer_free(&columns);
    /* The primary's own reason comes first; companions append theirs (bl_companion_append_damage). */
    bl_buffer_text(&texts.damage, row.reason ? row.reason : "");
    bl_buffer_text(&texts.form, row.form ? row.form : "");
    /* After the first reason the other companions are not counted: each would cost a read. */
    for (int p = 1; p < c->composite->parts && !code; p++) {
        if (row.status == BL_ROW_OK && !texts.reason.size)
            code = row_add_companion(c, p, input, &followed, &texts, e);
        else
            bl_companion_append_values(&c->composite->part[p], NULL, &texts.extra);
    }
    /* A failed buffer would silently shorten a column. */
    if (!code && (texts.extra.failed || texts.reason.failed || texts.damage.failed || texts.form.failed))
        code = bl_error_memory(e);
    row.extra = texts.extra.data;
    row.reason = texts.damage.data;
    row.form = texts.form.size ? texts.form.data : NULL;
    /* A skipped row has no length and no form. */
    if (texts.reason.size) {
        row.status = BL_ROW_SKIPPED;
        row.length = 0;
        row.reason = texts.reason.data;
        row.form = NULL;
    }
    if (!code)
        code = c->emit(c->sink, input, &row, e);
    struct bl_buffer *const buffers[] = {&texts.extra, &texts.reason, &texts.damage, &texts.form};
    for (size_t b = 0; b < sizeof buffers / sizeof *buffers; b++)
        bl_buffer_free(buffers[b]);
    free(times);
    return code;
}

/* Counts a chunk of the primary, whose rows go to composite_emit instead of the caller's emit. */
static int composite_count(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                           struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e)
{
    const struct bl_composite *composite = config;
    const struct bl_composite_part *primary = &composite->part[0];
    struct composite_counting c = {composite, env, (struct composite_counter *)counter, chunk, emit, sink};
    /* The primary's kind then sets the times of each row. */
    chunk->times = counting_needs_times(composite);
    return primary->kind->scan->count(primary->config, env, c.counter->part[0], chunk, composite_emit, &c, e);
}

/* --- making ------------------------------------------------------------------------------------------------------- */

/* Returns the name of the primary's steps, which all parts share. */
static const char *composite_steps(const void *config)
{
    const struct bl_composite *composite = config;
    return bl_kind_steps(composite->part[0].kind, composite->part[0].config);
}

static bool composite_decodes(const void *config)
{
    const struct bl_composite_part *primary = &((const struct bl_composite *)config)->part[0];
    return primary->kind->decodes(primary->config);
}

static void composite_gpu_times(const void *config, struct bl_gpu_times *times)
{
    const struct bl_composite *composite = config;
    for (int i = 0; i < composite->parts; i++) {
        const struct bl_composite_part *part = &composite->part[i];
        if (part->kind->gpu_times)
            part->kind->gpu_times(part->config, times);
    }
}

/* Appends the identity lines: the primary's as they are, those of companions after "field NAME ", so that two fields of
 * one kind keep their lines apart. */
static void composite_identify(const void *config, struct bl_buffer *out)
{
    const struct bl_composite *composite = config;
    for (int p = 0; p < composite->parts; p++) {
        const struct bl_composite_part *part = &composite->part[p];
        struct bl_buffer lines = {0};
        if (part->kind->options.identify)
            part->kind->options.identify(part->config, p ? &lines : out);
        /* The clips of a list decide bytes, and the list's path does not. */
        if (part->clips) {
            bl_buffer_text(&lines, "clips: ");
            bl_content_format(bl_clip_list_digest(part->clips), &lines);
            bl_buffer_byte(&lines, '\n');
        }
        for (const char *at = lines.data; at && *at;) {
            size_t size = strcspn(at, "\n");
            bl_buffer_printf(out, "field %s %.*s\n", part->name, (int)size, at);
            at += size + (at[size] == '\n');
        }
        out->failed |= lines.failed;
        bl_buffer_free(&lines);
    }
}

/* --- scanning --------------------------------------------------------------------------------------------------- */

/* Appends the column sampling: the primary's, then "; NAME: ..." for each companion. */
static void composite_sampling(const void *config, struct bl_buffer *out)
{
    const struct bl_composite *composite = config;
    for (int p = 0; p < composite->parts; p++) {
        const struct bl_composite_part *part = &composite->part[p];
        if (p)
            bl_buffer_printf(out, "; %s: ", part->name);
        part->kind->scan->sampling(part->config, out);
        /* A tolerance and zeros for missing files decide which sequences are usable. */
        if (part->tolerance >= 0 && p)
            bl_buffer_printf(out, " length-tolerance=%lld", (long long)part->tolerance);
        if (part->zeros)
            bl_buffer_text(out, " missing=zeros");
    }
}

/* Appends the names of the extra columns: the primary's, then those of each companion. Rows have their values in this
 * order (composite_emit). */
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

/* Checks that the companions' files hold what they held at the scan, or are still missing. The caller checks the
 * primary's file itself. */
static int composite_verify(const void *config, const struct bl_row *row, struct bl_error *e)
{
    const struct bl_composite *composite = config;
    struct bl_companion_row companion = {0};
    int code = BL_OK;
    for (int p = 1; p < composite->parts && !code; p++) {
        const struct bl_composite_part *part = &composite->part[p];
        code = bl_companion_row_read(composite, p, row, &companion, e);
        if (code || !companion.path || !*companion.path)
            continue; /* no file, or the row was unusable before its file was looked for */
        /* The file is opened by the path of the composite's base. */
        struct bl_input input = {.path = companion.open_path};
        const char *unusable;
        code = bl_input_stat_content(part->kind, &input, &unusable, e);
        if (!code && input.bytes != companion.row.bytes)
            code = bl_error_set(e, BL_EDATA, "%s: %s has a different size", part->name, companion.path);
        else if (!code && companion.row.content && input.content != companion.row.content)
            code = bl_error_set(e, BL_EDATA, "%s: %s has different content", part->name, companion.path);
    }
    bl_companion_row_free(&companion);
    return code;
}

/* --- reading ---------------------------------------------------------------------------------------------------- */

/* Sets the fields of all parts, each with the number of its part. A companion's field has the companion's name, and
 * NAME_FIELD if its kind has several fields. */
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
        /* A companion's kind finds its own columns in its own row. */
        if (row && p)
            code = bl_companion_row_read(composite, p, row, &companion, e);
        if (code)
            break;
        /* The first companion's field begins behind the primary's. */
        code = part->kind->read->fields(part->config, env, row && p ? &companion.row : row, &some, e);
        if (!code && out->count + some.count > BL_FIELDS_MAX)
            code = bl_error_set(e, BL_EUSAGE, "more than %d fields", BL_FIELDS_MAX);
        for (int f = 0; f < some.count && !code; f++) {
            struct bl_field *field = &out->field[out->count++];
            const char *name = some.field[f].name;
            *field = some.field[f];
            field->part = p;
            int size = p ? snprintf(field->name, sizeof field->name, "%s%s%s", part->name, some.count > 1 ? "_" : "",
                                    some.count > 1 ? name : "")
                         : 0;
            if (size >= (int)sizeof field->name)
                code = bl_error_set(e, BL_EUSAGE, "the field's name %s_%s is too long", part->name, name);
        }
    }
    bl_companion_row_free(&companion);
    return code;
}

/* Describes a field to users, and names the path of the companion's files. */
static void composite_describe(const void *config, const struct bl_field *field, struct bl_buffer *out)
{
    const struct bl_composite *composite = config;
    const struct bl_composite_part *part = &composite->part[field->part];
    part->kind->read->describe(part->config, field, out);
    if (field->part && part->path)
        bl_buffer_printf(out, ", of %s", part->path);
    if (part->zeros)
        bl_buffer_text(out, ", or zeros where that is missing");
}

/* Emits the versions of the libraries of all parts. */
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

/* Attaches a part that follows to the primary: it gets the rate of the primary's steps. BL_EUSAGE: the part needs
 * times, and the primary has none. */
static int part_attach(const struct bl_composite *composite, const struct bl_composite_part *part, struct bl_error *e)
{
    const struct bl_kind *primary = composite->part[0].kind;
    const struct bl_kind_follow *follow = part->kind->follow;
    if (!follow)
        return BL_OK;
    /* Times exist if the primary's kind has them, or a rate from which they follow. */
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

/* Fills in the tables of the composite. The primary's members stay, except for lists: their lines have no names by
 * which companions could be found. */
static void composite_set_tables(struct bl_composite *composite)
{
    const struct bl_kind *primary = composite->part[0].kind;
    /* If options decide the fields of all parts, except for those that the first file decides, one row is enough. */
    bool first = false, all = true;
    for (int p = 0; p < composite->parts && all; p++) {
        struct bl_fields fields;
        const struct bl_composite_part *part = &composite->part[p];
        if (part->kind->read->first_file_decides)
            first = true;
        else
            all = !part->kind->read->fields(part->config, NULL, NULL, &fields, NULL);
    }
    composite->scan = *primary->scan;
    composite->scan.lists = NULL;
    composite->scan.columns = composite_columns;
    composite->scan.totals = composite->total;
    composite->scan.sampling = composite_sampling;
    composite->scan.open = composite_counter_open;
    composite->scan.count = composite_count;
    composite->scan.verify = composite_verify;
    composite->read = (struct bl_kind_read){.times = primary->read->times,
                                            .first_file_decides = first && all,
                                            .fields = composite_fields,
                                            .open = bl_composite_open,
                                            .describe = composite_describe,
                                            .versions = composite_versions};
    /* The kind is known to users by the primary's name. */
    composite->kind = *primary;
    composite->kind.steps_of = composite_steps;
    composite->kind.decodes = primary->decodes ? composite_decodes : NULL;
    composite->kind.gpu_times = composite_gpu_times;
    /* The owner of the parts' configs checks, prepares and releases them. */
    composite->kind.options = (struct bl_kind_options){.table = primary->options.table, .identify = composite_identify};
    composite->kind.scan = &composite->scan;
    composite->kind.read = &composite->read;
}

int bl_composite_make(struct bl_composite *composite, struct bl_error *e)
{
    int totals = 0;
    const struct bl_composite_part *primary = &composite->part[0];
    struct bl_buffer sampling = {0}; /* states the rate of the primary's steps, if its options set one */
    primary->kind->scan->sampling(primary->config, &sampling);
    int code = bl_buffer_check(&sampling, e);
    /* Without a rate, den 0 says so. */
    if (code || !bl_kind_rate(primary->kind, sampling.data, &composite->rate.num, &composite->rate.den))
        composite->rate = (struct bl_rational){0};
    bl_buffer_free(&sampling);
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
    /* A worker has a reader of each part at a time, so that their memory adds up. */
    for (int p = 0; p < composite->parts; p++) {
        const struct bl_composite_part *part = &composite->part[p];
        const struct bl_total *own = part->kind->scan->totals;
        composite->read.memory += part->kind->read->memory;
        /* "missing" of the companion poses is counted as "poses.missing". */
        for (int t = 0; own && own[t].column && totals < BL_TOTALS_MAX; t++, totals++) {
            char *column = composite->total_column[totals];
            snprintf(column, sizeof composite->total_column[0], "%s%s%s", part->name ? part->name : "",
                     part->name ? "." : "", own[t].column);
            composite->total[totals] = own[t];
            composite->total[totals].column = column;
            if (own[t].name && part->name) /* of the count in the manifest, where each field has its own */
                composite->total[totals].name = column;
        }
    }
    composite->total[totals] = (struct bl_total){0};
    return BL_OK;
}
