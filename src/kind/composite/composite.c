/* The table of functions over the parts. count.c and read.c do the work; companion.c knows the columns. */
#include "kind/composite/composite.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "kind/composite/count.h"
#include "kind/composite/companion.h"
#include "kind/composite/read.h"
#include "kind/labels/intervals.h"

const struct bl_kind *const bl_composite_kinds[] = {&bl_kind_intervals, NULL};

bool bl_composite_accepts(const struct bl_kind *kind)
{
    return !kind->stretch && !kind->keep;
}

/* Each line of text with "field NAME " before it. */
static void identity_append(const char *name, const char *text, struct bl_buffer *out)
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
        if (part->kind->identify)
            part->kind->identify(part->config, p ? &lines : out);
        identity_append(part->name, lines.data, out);
        out->failed |= lines.failed;
        bl_buffer_free(&lines);
    }
}

static void composite_columns(const void *config, bool lists, struct bl_buffer *out)
{
    (void)lists; /* there are none: see bl_composite_make */
    const struct bl_composite *composite = config;
    const struct bl_composite_part *primary = &composite->part[0];
    if (primary->kind->columns)
        primary->kind->columns(primary->config, false, out);
    for (int p = 1; p < composite->parts; p++)
        bl_companion_append_columns(&composite->part[p], out);
}

/* The primary's, then of each companion "; NAME: ...". */
static void composite_sampling(const void *config, struct bl_buffer *out)
{
    const struct bl_composite *composite = config;
    for (int p = 0; p < composite->parts; p++) {
        const struct bl_composite_part *part = &composite->part[p];
        if (p)
            bl_buffer_printf(out, "; %s: ", part->name);
        part->kind->sampling(part->config, out);
        if (part->tolerance >= 0 && p)
            bl_buffer_printf(out, " length-tolerance=%lld", (long long)part->tolerance);
    }
}

/* A file must hold what it held, and may not have come since. */
static int companion_verify_file(const struct bl_composite_part *part, const struct bl_companion_row *companion,
                                 struct bl_error *e)
{
    struct bl_input input = {.path = companion->open_path};
    const char *unusable;
    int code = bl_input_stat_content(part->kind, &input, &unusable, e);
    bool size = input.bytes == companion->row.bytes;
    if (code || (size && (!companion->row.content || input.content == companion->row.content)))
        return code;
    return bl_error_set(e, BL_EDATA, "%s: %s has %s", part->name, companion->path,
                        size ? "other bytes" : "another size");
}

static int composite_compare(const void *config, const struct bl_row *row, struct bl_error *e)
{
    const struct bl_composite *composite = config;
    struct bl_companion_row companion = {0};
    int code =
        composite->part[0].kind->compare ? composite->part[0].kind->compare(composite->part[0].config, row, e) : BL_OK;
    for (int p = 1; p < composite->parts && !code; p++) {
        code = bl_companion_row(composite, p, row, &companion, e);
        if (!code && companion.path &&
            *companion.path) /* of a row that is of no use otherwise nothing was looked for */
            code = companion_verify_file(&composite->part[p], &companion, e);
        if (!code && companion.path && *companion.path && composite->part[p].kind->compare)
            code = composite->part[p].kind->compare(composite->part[p].config, &companion.row, e);
    }
    bl_companion_row_free(&companion);
    return code;
}

static void composite_remark(const void *config, const struct bl_row *row, struct bl_remarks *remarks)
{
    const struct bl_composite *composite = config;
    struct bl_companion_row companion = {0};
    struct bl_error none = {0};
    for (int p = 0; p < composite->parts; p++) {
        const struct bl_composite_part *part = &composite->part[p];
        if (part->kind->remark && (p == 0 || bl_companion_row(composite, p, row, &companion, &none) == BL_OK))
            part->kind->remark(part->config, p ? &companion.row : row, remarks);
    }
    bl_companion_row_free(&companion);
}

static const char *composite_steps(const void *config)
{
    const struct bl_composite *composite = config;
    return bl_kind_steps(composite->part[0].kind, composite->part[0].config);
}

/* --- fields ----------------------------------------------------------------------------------------------------- */

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
            code = bl_companion_row(composite, p, row, &companion, e);
        if (!code)
            code = part->kind->fields(part->config, env, row && p ? &companion.row : row, &some, e);
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
    part->kind->describe(part->config, field, out);
    if (field->part)
        bl_buffer_printf(out, "%s%s", part->path ? ", of " : "", part->path ? part->path : "");
}

static void composite_versions(const void *config, void (*emit)(void *sink, const char *name, const char *version),
                               void *sink)
{
    const struct bl_composite *composite = config;
    for (int p = 0; p < composite->parts; p++)
        composite->part[p].kind->versions(composite->part[p].config, emit, sink);
}

/* --- the kind --------------------------------------------------------------------------------------------------- */

bool bl_composite_gets_times(const struct bl_composite *composite, int p)
{
    const struct bl_composite_part *part = &composite->part[p];
    enum bl_follow how = part->kind->follows ? part->kind->follows(part->config) : BL_FOLLOW_STEPS;
    return how == BL_FOLLOW_TIMES || (how == BL_FOLLOW_NUMBERS && composite->part[0].kind->has_numbers);
}

/* Whether no row but the first need be asked for fields: those of the other parts are decided by their options. */
static bool composite_first_file_decides(const struct bl_composite *composite)
{
    bool first = false, other = false;
    for (int p = 0; p < composite->parts; p++) {
        struct bl_fields fields;
        const struct bl_composite_part *part = &composite->part[p];
        if (part->kind->first_file_decides)
            first = true;
        else if (part->kind->fields(part->config, NULL, NULL, &fields, NULL) != BL_OK)
            other = true;
    }
    return first && !other;
}

/* How many steps a second the primary's options make. */
static int composite_resolve_rate(struct bl_composite *composite, struct bl_error *e)
{
    const struct bl_composite_part *primary = &composite->part[0];
    struct bl_buffer composite_sampling = {0};
    primary->kind->sampling(primary->config, &composite_sampling);
    int code = bl_buffer_check(&composite_sampling, e);
    if (code || !bl_kind_rate(primary->kind, composite_sampling.data, &composite->rate.num, &composite->rate.den))
        composite->rate = (struct bl_rational){0};
    bl_buffer_free(&composite_sampling);
    return code;
}

/* Tells a part that follows what it follows: the primary. */
static int part_follow(const struct bl_composite *composite, const struct bl_composite_part *part, struct bl_error *e)
{
    const struct bl_kind *primary = composite->part[0].kind;
    if (!part->kind->follows)
        return BL_OK;
    if (part->kind->follows(part->config) == BL_FOLLOW_TIMES && !primary->has_times && !composite->rate.den)
        return bl_error_set(e, BL_EUSAGE, "field %s: %s has no times: give the field a %s, in steps a second",
                            part->name, primary->name, part->path ? "step-rate" : "rate");
    int code = part->kind->follow
                   ? part->kind->follow(part->config, composite->rate.num, composite->rate.den, part->tolerance, e)
                   : BL_OK;
    if (code)
        bl_error_prefix(e, "field %s", part->name);
    return code;
}

int bl_composite_make(struct bl_composite *composite, struct bl_error *e)
{
    struct bl_kind *kind = &composite->kind;
    *kind = *composite->part[0].kind;
    kind->reader_memory = 0;
    int code = composite_resolve_rate(composite, e);
    for (int p = 0; p < composite->parts && !code; p++) {
        const struct bl_composite_part *part = &composite->part[p];
        if (!bl_composite_accepts(part->kind))
            return bl_error_set(e, BL_EUSAGE,
                                "fields: %s has no file of its own for each sequence, so nothing can be joined with it",
                                part->kind->name);
        code = part_follow(composite, part, e);
        kind->reader_memory += part->kind->reader_memory;
    }
    if (code)
        return code;
    kind->first_file_decides = composite_first_file_decides(composite);
    kind->config_size = sizeof *composite;
    kind->check = NULL; /* the parts are checked, made ready and given back by whoever owns their configs */
    kind->prepare = NULL;
    kind->per_step = NULL;
    kind->release = NULL;
    kind->warning = NULL;
    kind->check_dtype = NULL;
    kind->is_list =
        NULL; /* a list's lines have no names to find companions by: whoever lists the inputs refuses them */
    kind->steps_of = composite_steps;
    kind->identify = composite_identify;
    kind->columns = composite_columns;
    kind->remark = composite_remark;
    kind->sampling = composite_sampling;
    kind->open_counter = bl_composite_open_counter;
    kind->close_counter = bl_composite_close_counter;
    kind->count = bl_composite_count;
    kind->compare = composite_compare;
    kind->fields = composite_fields;
    kind->open = bl_composite_open;
    kind->read = bl_composite_read;
    kind->close = bl_composite_close;
    kind->describe = composite_describe;
    kind->versions = composite_versions;
    return BL_OK;
}
