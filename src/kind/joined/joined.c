/* The table of functions over the parts. count.c and read.c do the work; partner.c knows the columns. */
#include "kind/joined/joined.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "kind/joined/count.h"
#include "kind/joined/partner.h"
#include "kind/joined/read.h"
#include "kind/labels/intervals.h"

const struct bl_kind *const bl_joined_kinds[] = {&bl_kind_intervals, NULL};

bool bl_joined_takes(const struct bl_kind *kind)
{
    return !kind->stretch && !kind->keep;
}

/* Each line of text with "field NAME " before it. */
static void append_lines(const char *name, const char *text, struct bl_buffer *out)
{
    while (text && *text) {
        size_t size = strcspn(text, "\n");
        bl_buffer_printf(out, "field %s %.*s\n", name, (int)size, text);
        text += size + (text[size] == '\n');
    }
}

static void identify(const void *config, struct bl_buffer *out)
{
    const struct bl_joined *joined = config;
    for (int p = 0; p < joined->parts; p++) {
        const struct bl_joined_part *part = &joined->part[p];
        struct bl_buffer lines = {0};
        if (part->kind->identify)
            part->kind->identify(part->config, p ? &lines : out);
        append_lines(part->name, lines.data, out);
        out->failed |= lines.failed;
        bl_buffer_free(&lines);
    }
}

static void columns(const void *config, bool lists, struct bl_buffer *out)
{
    (void)lists; /* there are none: see bl_joined_make */
    const struct bl_joined *joined = config;
    const struct bl_joined_part *primary = &joined->part[0];
    if (primary->kind->columns)
        primary->kind->columns(primary->config, false, out);
    for (int p = 1; p < joined->parts; p++)
        bl_partner_columns(&joined->part[p], out);
}

/* The primary's, then of each partner "; NAME: ...". */
static void sampling(const void *config, struct bl_buffer *out)
{
    const struct bl_joined *joined = config;
    for (int p = 0; p < joined->parts; p++) {
        const struct bl_joined_part *part = &joined->part[p];
        if (p)
            bl_buffer_printf(out, "; %s: ", part->name);
        part->kind->sampling(part->config, out);
        if (part->tolerance >= 0 && p)
            bl_buffer_printf(out, " length-tolerance=%lld", (long long)part->tolerance);
    }
}

/* A file must hold what it held, and may not have come since. */
static int compare_file(const struct bl_joined_part *part, const struct bl_partner_row *partner, struct bl_error *e)
{
    struct bl_input input = {.path = partner->open_path};
    const char *unusable;
    int code = bl_input_look_into(part->kind, &input, &unusable, e);
    bool size = input.bytes == partner->row.bytes;
    if (code || (size && (!partner->row.content || input.content == partner->row.content)))
        return code;
    return bl_error_set(e, BL_EDATA, "%s: %s has %s", part->name, partner->path, size ? "other bytes" : "another size");
}

static int compare(const void *config, const struct bl_row *row, struct bl_error *e)
{
    const struct bl_joined *joined = config;
    struct bl_partner_row partner = {0};
    int code = joined->part[0].kind->compare ? joined->part[0].kind->compare(joined->part[0].config, row, e) : BL_OK;
    for (int p = 1; p < joined->parts && !code; p++) {
        code = bl_partner_row(joined, p, row, &partner, e);
        if (!code && partner.path && *partner.path) /* of a row that is of no use otherwise nothing was looked for */
            code = compare_file(&joined->part[p], &partner, e);
        if (!code && partner.path && *partner.path && joined->part[p].kind->compare)
            code = joined->part[p].kind->compare(joined->part[p].config, &partner.row, e);
    }
    bl_partner_row_free(&partner);
    return code;
}

static void remark(const void *config, const struct bl_row *row, struct bl_remarks *remarks)
{
    const struct bl_joined *joined = config;
    struct bl_partner_row partner = {0};
    struct bl_error none = {0};
    for (int p = 0; p < joined->parts; p++) {
        const struct bl_joined_part *part = &joined->part[p];
        if (part->kind->remark && (p == 0 || bl_partner_row(joined, p, row, &partner, &none) == BL_OK))
            part->kind->remark(part->config, p ? &partner.row : row, remarks);
    }
    bl_partner_row_free(&partner);
}

static const char *steps_of(const void *config)
{
    const struct bl_joined *joined = config;
    return bl_kind_steps(joined->part[0].kind, joined->part[0].config);
}

/* --- fields ----------------------------------------------------------------------------------------------------- */

static int add_fields(const struct bl_joined_part *part, int p, const struct bl_fields *some, struct bl_fields *all,
                      struct bl_error *e)
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

static int fields(const void *config, const struct bl_kind_env *env, const struct bl_row *row, struct bl_fields *out,
                  struct bl_error *e)
{
    const struct bl_joined *joined = config;
    struct bl_partner_row partner = {0};
    int code = BL_OK;
    *out = (struct bl_fields){0};
    for (int p = 0; p < joined->parts && !code; p++) {
        const struct bl_joined_part *part = &joined->part[p];
        struct bl_fields some;
        if (row && p)
            code = bl_partner_row(joined, p, row, &partner, e);
        if (!code)
            code = part->kind->fields(part->config, env, row && p ? &partner.row : row, &some, e);
        if (!code)
            code = add_fields(part, p, &some, out, e);
    }
    bl_partner_row_free(&partner);
    return code;
}

static void describe(const void *config, const struct bl_field *field, struct bl_buffer *out)
{
    const struct bl_joined *joined = config;
    const struct bl_joined_part *part = &joined->part[field->part];
    part->kind->describe(part->config, field, out);
    if (field->part)
        bl_buffer_printf(out, "%s%s", part->path ? ", of " : "", part->path ? part->path : "");
}

static void versions(const void *config, void (*emit)(void *sink, const char *name, const char *version), void *sink)
{
    const struct bl_joined *joined = config;
    for (int p = 0; p < joined->parts; p++)
        joined->part[p].kind->versions(joined->part[p].config, emit, sink);
}

/* --- the kind --------------------------------------------------------------------------------------------------- */

bool bl_joined_is_told(const struct bl_joined *joined, int p)
{
    const struct bl_joined_part *part = &joined->part[p];
    enum bl_follow how = part->kind->follows ? part->kind->follows(part->config) : BL_FOLLOW_STEPS;
    return how == BL_FOLLOW_TIMES || (how == BL_FOLLOW_NUMBERS && joined->part[0].kind->numbers_steps);
}

/* Whether no row but the first need be asked for fields: those of the other parts are decided by their options. */
static bool decided_by_first(const struct bl_joined *joined)
{
    bool first = false, other = false;
    for (int p = 0; p < joined->parts; p++) {
        struct bl_fields fields;
        const struct bl_joined_part *part = &joined->part[p];
        if (part->kind->first_decides)
            first = true;
        else if (part->kind->fields(part->config, NULL, NULL, &fields, NULL) != BL_OK)
            other = true;
    }
    return first && !other;
}

/* How many steps a second the primary's options make. */
static int settle_rate(struct bl_joined *joined, struct bl_error *e)
{
    const struct bl_joined_part *primary = &joined->part[0];
    struct bl_buffer sampling = {0};
    primary->kind->sampling(primary->config, &sampling);
    int code = bl_buffer_check(&sampling, e);
    if (code || !bl_kind_rate(primary->kind, sampling.data, &joined->rate.num, &joined->rate.den))
        joined->rate = (struct bl_rational){0};
    bl_buffer_free(&sampling);
    return code;
}

/* Tells a part that follows what it follows: the primary. */
static int follow(const struct bl_joined *joined, const struct bl_joined_part *part, struct bl_error *e)
{
    const struct bl_kind *primary = joined->part[0].kind;
    if (!part->kind->follows)
        return BL_OK;
    if (part->kind->follows(part->config) == BL_FOLLOW_TIMES && !primary->tells_times && !joined->rate.den)
        return bl_error_set(e, BL_EUSAGE, "field %s: %s has no times: give the field a %s, in steps a second",
                            part->name, primary->name, part->path ? "step-rate" : "rate");
    int code = part->kind->follow
                   ? part->kind->follow(part->config, joined->rate.num, joined->rate.den, part->tolerance, e)
                   : BL_OK;
    if (code)
        bl_error_prefix(e, "field %s", part->name);
    return code;
}

int bl_joined_make(struct bl_joined *joined, struct bl_error *e)
{
    struct bl_kind *kind = &joined->kind;
    *kind = *joined->part[0].kind;
    kind->reader_memory = 0;
    int code = settle_rate(joined, e);
    for (int p = 0; p < joined->parts && !code; p++) {
        const struct bl_joined_part *part = &joined->part[p];
        if (!bl_joined_takes(part->kind))
            return bl_error_set(e, BL_EUSAGE,
                                "fields: %s has no file of its own for each sequence, so nothing can be joined with it",
                                part->kind->name);
        code = follow(joined, part, e);
        kind->reader_memory += part->kind->reader_memory;
    }
    if (code)
        return code;
    kind->first_decides = decided_by_first(joined);
    kind->config_size = sizeof *joined;
    kind->check = NULL; /* the parts are checked, made ready and given back by whoever owns their configs */
    kind->prepare = NULL;
    kind->per_step = NULL;
    kind->release = NULL;
    kind->warning = NULL;
    kind->check_dtype = NULL;
    kind->is_list = NULL; /* a list's lines have no names to find partners by: whoever lists the inputs refuses them */
    kind->steps_of = steps_of;
    kind->identify = identify;
    kind->columns = columns;
    kind->remark = remark;
    kind->sampling = sampling;
    kind->open_counter = bl_joined_open_counter;
    kind->close_counter = bl_joined_close_counter;
    kind->count = bl_joined_count;
    kind->compare = compare;
    kind->fields = fields;
    kind->open = bl_joined_open;
    kind->read = bl_joined_read;
    kind->close = bl_joined_close;
    kind->describe = describe;
    kind->versions = versions;
    return BL_OK;
}
