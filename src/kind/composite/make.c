/* The tables of functions over the parts. count.c and read.c do the work; composite.c knows the columns. */
#include "kind/composite/make.h"

#include <stdio.h>
#include <string.h>

#include "kind/composite/composite.h"
#include "kind/composite/count.h"
#include "kind/composite/read.h"
#include "kind/input_stat.h"

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
    composite->scan.close = bl_composite_close_counter;
    composite->scan.count = bl_composite_count;
    composite->scan.verify = composite_verify;
    composite->read = (struct bl_kind_read){.times = primary->read->times,
                                            .first_file_decides = composite_first_file_decides(composite),
                                            .fields = composite_fields,
                                            .open = bl_composite_open,
                                            .piece = bl_composite_read,
                                            .close = bl_composite_close,
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
