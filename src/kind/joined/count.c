#include "kind/joined/count.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kind/joined/partner.h"

struct bl_counter {
    const struct bl_joined *joined;
    struct bl_counter *part[BL_FIELDS_MAX]; /* NULL for kinds that have none */
};

void bl_joined_close_counter(struct bl_counter *counter)
{
    for (int p = 0; p < counter->joined->parts; p++) {
        if (counter->part[p])
            counter->joined->part[p].kind->close_counter(counter->part[p]);
    }
    free(counter);
}

int bl_joined_open_counter(const void *config, const struct bl_kind_env *env, struct bl_counter **counter,
                           struct bl_error *e)
{
    const struct bl_joined *joined = config;
    struct bl_counter *c = calloc(1, sizeof *c);
    int code = c ? BL_OK : bl_error_memory(e);
    if (code)
        return code;
    c->joined = joined;
    for (int p = 0; p < joined->parts && !code; p++) {
        const struct bl_joined_part *part = &joined->part[p];
        if (part->kind->open_counter)
            code = part->kind->open_counter(part->config, env, &c->part[p], e);
    }
    if (code)
        bl_joined_close_counter(c);
    else
        *counter = c;
    return code;
}

/* --- a partner's file ------------------------------------------------------------------------------------------- */

/* What counting it came to. */
struct found {
    int rows;
    struct bl_row row;
    struct bl_buffer path; /* as the table has it */
    struct bl_buffer reason, further, form;
};

static void found_free(struct found *found)
{
    bl_buffer_free(&found->path);
    bl_buffer_free(&found->reason);
    bl_buffer_free(&found->further);
    bl_buffer_free(&found->form);
}

static int capture(void *sink, int input, const struct bl_row *row, struct bl_error *e)
{
    (void)input;
    struct found *found = sink;
    if (found->rows++)
        return BL_OK;
    found->row = *row;
    bl_buffer_text(&found->reason, row->reason ? row->reason : "");
    bl_buffer_text(&found->further, row->further ? row->further : "");
    bl_buffer_text(&found->form, row->form ? row->form : "");
    int code = bl_buffer_check(&found->form, e);
    if (code)
        goto out;
    code = bl_buffer_check(&found->reason, e);
    if (code)
        goto out;
    code = bl_buffer_check(&found->further, e);
out:
    found->row.reason = found->reason.data;
    found->row.further = found->further.data;
    return code;
}

/* --- rows ------------------------------------------------------------------------------------------------------- */

/* The primary's counting under way. */
struct joining {
    const struct bl_joined *joined;
    const struct bl_kind_env *env;
    struct bl_counter *counter;
    const struct bl_stretch *stretch;
    bl_row_emit *emit;
    void *sink;
};

static int count_file(const struct joining *j, int p, struct bl_input *input, const struct bl_row *followed,
                      struct found *found, struct bl_error *e)
{
    const struct bl_joined_part *part = &j->joined->part[p];
    const char *unusable;
    int code = bl_input_look_into(part->kind, input, &unusable, e);
    if (code)
        goto out;
    if (unusable) {
        struct bl_row row = {.status = BL_ROW_SKIPPED, .reason = unusable, .stream = -1, .offset = -1};
        code = capture(found, 0, &row, e);
    } else {
        struct bl_stretch stretch = {.input = input, .inputs = 1, .end = INT64_MAX, .followed = followed};
        code = part->kind->count(part->config, j->env, j->counter->part[p], &stretch, capture, found, e);
        code = code ? code : bl_input_look_again(part->kind, input, e);
    }
out:
    found->row.path = found->path.data;
    found->row.bytes = input->bytes;
    found->row.content = input->content;
    return code;
}

static int ask(const struct joining *j, int p, const char *id, const struct bl_row *followed, struct found *found,
               struct bl_error *e)
{
    const struct bl_joined_part *part = &j->joined->part[p];
    if (!part->path) {
        struct bl_input none = {.path = "", .id = id};
        struct bl_stretch stretch = {.input = &none, .inputs = 1, .end = INT64_MAX, .followed = followed};
        return part->kind->count(part->config, j->env, j->counter->part[p], &stretch, capture, found, e);
    }
    bl_partner_path(part->path, id, &found->path);
    int code = bl_buffer_check(&found->path, e);
    if (code)
        return code;
    char *open_path = bl_input_path(j->joined->base, found->path.data);
    struct bl_input input = {.path = open_path, .id = id};
    code = open_path ? count_file(j, p, &input, followed, found, e) : bl_error_memory(e);
    free(open_path);
    return code;
}

/* Why the partner's file cannot go with the row; nothing where it can. */
static void judge(const struct bl_joined *joined, int p, const struct bl_row *row, const struct found *found,
                  struct bl_buffer *reason)
{
    const struct bl_joined_part *part = &joined->part[p];
    const char *path = found->path.data;
    int64_t length = found->row.length, apart = length > row->length ? length - row->length : row->length - length;
    if (!part->path && found->row.status != BL_ROW_OK)
        bl_buffer_printf(reason, "%s: %s", part->name, found->row.reason);
    else if (!part->path)
        return;
    else if (found->rows != 1)
        bl_buffer_printf(reason, "%s: %s has %d sequences", part->name, path, found->rows);
    else if (found->row.status != BL_ROW_OK)
        bl_buffer_printf(reason, "%s: %s: %s", part->name, path, found->row.reason);
    else if (!part->kind->follows && apart > (part->tolerance > 0 ? part->tolerance : 0))
        bl_buffer_printf(
            reason, "%s: %s has %" PRId64 " %s, the %s %" PRId64 " %s (length-tolerance: %" PRId64 " would take it)",
            part->name, path, length, bl_kind_steps(part->kind, part->config), joined->part[0].kind->name, row->length,
            bl_kind_steps(joined->part[0].kind, joined->part[0].config), apart);
}

/* A row that is put together: its columns, why it is of no use, what is wrong with it, the form of its steps. */
struct text {
    struct bl_buffer further, reason, damage, form;
};

static int text_check(const struct text *text, struct bl_error *e)
{
    bool failed = text->further.failed || text->reason.failed || text->damage.failed || text->form.failed;
    return failed ? bl_error_memory(e) : BL_OK;
}

static void text_free(struct text *text)
{
    bl_buffer_free(&text->further);
    bl_buffer_free(&text->reason);
    bl_buffer_free(&text->damage);
    bl_buffer_free(&text->form);
}

/* Adds what partner p has for the row. */
static int join(const struct joining *j, int p, const char *id, const struct bl_row *row, struct text *text,
                struct bl_error *e)
{
    const struct bl_joined_part *part = &j->joined->part[p];
    struct found found = {0};
    struct bl_row followed = *row;
    if (!bl_joined_is_told(j->joined, p))
        followed.times = NULL;
    int code = ask(j, p, id, &followed, &found, e);
    bl_partner_format(part, !code && found.rows ? &found.row : NULL, &text->further);
    if (code)
        goto out;
    judge(j->joined, p, row, &found, &text->reason);
    if (!text->reason.size && part->path)
        bl_partner_damage(part, found.row.path, found.row.reason, &text->damage);
out:
    if (found.form.size)
        bl_buffer_printf(&text->form, "%s%s %s", text->form.size ? ", " : "", part->name, found.form.data);
    found_free(&found);
    return code;
}

static void append_primary(const struct bl_joined_part *primary, const struct bl_row *row, struct bl_buffer *out)
{
    struct bl_buffer columns = {0};
    bl_buffer_text(out, row->further ? row->further : "");
    if (primary->kind->columns && (!row->further || !*row->further))
        primary->kind->columns(primary->config, false, &columns);
    for (const char *tab = columns.data; tab && (tab = strchr(tab, '\t')); tab++)
        bl_buffer_byte(out, '\t');
    out->failed |= columns.failed;
    bl_buffer_free(&columns);
}

/* Whether a partner must know when steps begin before it can say what it has. */
static bool needs_times(const struct bl_joined *joined)
{
    bool needs = false;
    for (int p = 1; p < joined->parts; p++)
        needs |= joined->part[p].kind->weighs_times && bl_joined_is_told(joined, p);
    return needs;
}

/* The row as partners are told it. Where the primary has a rate, that tells the times, which are to be freed. */
static int follow_row(const struct joining *j, int input, const struct bl_row *given, struct bl_row *row,
                      double **times, struct bl_error *e)
{
    const struct bl_rational *rate = &j->joined->rate;
    *row = *given;
    *times = NULL;
    row->path = j->stretch->input[input].path;
    if (row->status != BL_ROW_OK || !rate->den || !needs_times(j->joined))
        return BL_OK;
    row->times = *times = malloc((size_t)row->length * sizeof **times);
    for (int64_t i = 0; i < row->length && *times; i++)
        (*times)[i] = bl_kind_begin(rate, NULL, 0, i);
    return *times ? BL_OK : bl_error_memory(e);
}

/* A row of the primary. Where it is of use, its partners are looked for. */
static int take(void *sink, int input, const struct bl_row *given, struct bl_error *e)
{
    const struct joining *j = sink;
    struct bl_row row = *given, followed;
    struct text text = {0};
    double *times;
    int code = follow_row(j, input, given, &followed, &times, e);
    append_primary(&j->joined->part[0], given, &text.further);
    bl_buffer_text(&text.damage, row.reason ? row.reason : "");
    bl_buffer_text(&text.form, row.form ? row.form : "");
    for (int p = 1; p < j->joined->parts && !code; p++) {
        if (row.status == BL_ROW_OK && !text.reason.size)
            code = join(j, p, j->stretch->input[input].id, &followed, &text, e);
        else
            bl_partner_format(&j->joined->part[p], NULL, &text.further);
    }
    if (!code)
        code = text_check(&text, e);
    row.further = text.further.data;
    row.reason = text.damage.data;
    row.form = text.form.size ? text.form.data : NULL;
    if (text.reason.size) {
        row.status = BL_ROW_SKIPPED;
        row.length = 0;
        row.reason = text.reason.data;
        row.form = NULL;
    }
    if (!code)
        code = j->emit(j->sink, input, &row, e);
    text_free(&text);
    free(times);
    return code;
}

int bl_joined_count(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                    struct bl_stretch *stretch, bl_row_emit *emit, void *sink, struct bl_error *e)
{
    const struct bl_joined *joined = config;
    const struct bl_joined_part *primary = &joined->part[0];
    struct joining j = {joined, env, counter, stretch, emit, sink};
    stretch->times = needs_times(joined);
    return primary->kind->count(primary->config, env, counter->part[0], stretch, take, &j, e);
}
