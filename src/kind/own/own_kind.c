/* Makes the kind with own fields around the kind of the sources: it passes every call on, and adds what own fields add
 * to a scan, to the fields and to the identity. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "kind/array/array.h"
#include "kind/input_stat.h"
#include "kind/own/own.h"
#include "kind/own/own_list.h"
#include "kind/own/own_text.h"
#include "kind/text/text.h"

#define FLAT_BYTES 64 /* a field with larger steps is flat, unless the user says otherwise */

/* --- the sources' kind -------------------------------------------------------------------------------------------- */

/* Functions that pass calls on. */

static const char *own_steps(const void *config)
{
    const struct bl_own *own = config;
    return bl_kind_steps(own->inner, own->inner_config);
}

static bool own_decodes(const void *config)
{
    const struct bl_own *own = config;
    return own->inner->decodes(own->inner_config);
}

static void own_gpu_times(const void *config, struct bl_gpu_times *times)
{
    const struct bl_own *own = config;
    own->inner->gpu_times(own->inner_config, times);
}

static void own_inner_columns(const void *config, bool manifests, struct bl_buffer *out)
{
    const struct bl_own *own = config;
    own->inner->scan->columns(own->inner_config, manifests, out);
}

static const char *own_number(const void *config, int i)
{
    const struct bl_own *own = config;
    return own->inner->scan->number(own->inner_config, i);
}

static int own_want(void *config, const struct bl_kind_wanted *wanted, struct bl_error *e)
{
    const struct bl_own *own = config;
    return own->inner->scan->want(own->inner_config, wanted, e);
}

static bool own_is_streamed(const void *config, const char *path)
{
    const struct bl_own *own = config;
    return own->inner->scan->is_streamed(own->inner_config, path);
}

static int own_is_divisible(const void *config, const struct bl_input *input, bool *divisible, struct bl_error *e)
{
    const struct bl_own *own = config;
    return own->inner->scan->is_divisible(own->inner_config, input, divisible, e);
}

static int own_spool_add(void *config, const struct bl_kind_env *env, const struct bl_chunk *chunk, struct bl_error *e)
{
    const struct bl_own *own = config;
    return own->inner->spool->add(own->inner_config, env, chunk, e);
}

static int own_spool_remove(void *config, const struct bl_kind_env *env, struct bl_error *e)
{
    const struct bl_own *own = config;
    return own->inner->spool->remove(own->inner_config, env, e);
}

static bool own_is_rows_alone(const void *config)
{
    const struct bl_own *own = config;
    return own->inner->spool->is_rows_alone(own->inner_config);
}

/* --- own fields --------------------------------------------------------------------------------------------------- */

bool bl_own_kind_is_media(const struct bl_kind *kind)
{
    return kind->decodes;
}

/* --- identity ----------------------------------------------------------------------------------------------------- */

/* Appends the identity lines: the sources' as they are, those of own fields after "field NAME ". */
static void own_identify(const void *config, struct bl_buffer *out)
{
    const struct bl_own *own = config;
    if (own->inner->options.identify)
        own->inner->options.identify(own->inner_config, out);
    for (int f = 0; f < own->fields; f++) {
        const struct bl_own_field *field = &own->field[f];
        struct bl_buffer lines = {0};
        const char *line;
        size_t at = 0, size;
        if (field->kind->options.identify)
            field->kind->options.identify(field->config, &lines);
        while (bl_text_next_line(lines.data, lines.size, &at, &line, &size))
            bl_buffer_printf(out, "field %s %.*s\n", field->name, (int)size, line);
        bl_buffer_free_part(&lines, out);
    }
}

/* Appends the column sampling: the sources', then what decides the length of each own field: "; text: own column=text
 * tokenizer=0123456789abcdef". The word own tells readers of the table that the length is not the sequence's
 * (bl_row_is_adjusted). */
static void own_sampling(const void *config, struct bl_buffer *out)
{
    const struct bl_own *own = config;
    own->inner->scan->sampling(own->inner_config, out);
    for (int f = 0; f < own->fields; f++) {
        const struct bl_own_field *field = &own->field[f];
        bool is_list = field->column && field->kind == &bl_kind_array;
        bl_buffer_printf(out, "; %s: own ", field->name);
        if (field->column)
            bl_buffer_printf(out, "column=%s ", field->column);
        if (is_list)
            bl_buffer_printf(out, "dtype=%s", bl_dtype_name(field->dtype));
        else
            field->kind->scan->sampling(field->config, out);
        bl_buffer_text(out, field->may_miss ? " missing=empty" : "");
    }
}

/* --- verification ------------------------------------------------------------------------------------------------- */

/* Checks that a file of field f, at this path in the table, holds what its row says. */
static int own_verify_file(const struct bl_own *own, int f, const struct bl_row *row, const char *path,
                           struct bl_error *e)
{
    const char *unusable;
    struct bl_input input = {.path = row->path};
    BL_TRY(bl_input_stat_content(own->field[f].kind, &input, &unusable, e));
    if (input.bytes != row->bytes)
        return bl_error_set(e, BL_EDATA, "%s: %s has a different size", own->field[f].name, path);
    if (row->content && input.content != row->content)
        return bl_error_set(e, BL_EDATA, "%s: %s has different content", own->field[f].name, path);
    return BL_OK;
}

/* Checks the files that the column of field f names. A row that is unusable names none. */
static int own_verify_records(const struct bl_own *own, int f, const struct bl_row *row, struct bl_error *e)
{
    struct bl_own_records records = {.source = bl_own_source(own, f), .row = row};
    bool found = true;
    int code = BL_OK;
    while (!code && found) {
        code = bl_own_records_next(&records, &found, e);
        if (!code && found)
            code = own_verify_file(own, f, &records.file, records.path, e);
    }
    bl_own_records_free(&records);
    return code;
}

/* Checks that the files of own fields hold what they held at the scan, or are still missing. */
static int own_verify(const void *config, const struct bl_row *row, struct bl_error *e)
{
    const struct bl_own *own = config;
    struct bl_companion_row file = {0};
    int code = own->inner->scan->verify ? own->inner->scan->verify(own->inner_config, row, e) : BL_OK;
    for (int f = 0; f < own->fields && !code; f++) {
        if (own->field[f].has_files)
            code = own_verify_records(own, f, row, e);
        if (code || !own->field[f].path)
            continue;
        code = bl_companion_row_read(&own->files, f + 1, row, &file, e);
        if (!code && *file.path) /* otherwise the row was unusable before its file was looked for */
            code = own_verify_file(own, f, &file.row, file.path, e);
    }
    bl_companion_row_free(&file);
    return code;
}

/* --- fields ------------------------------------------------------------------------------------------------------- */

/* Sets the type and shape of an array in the column of a row. */
static int list_fields(const struct bl_own *own, int f, const struct bl_row *row, struct bl_field *out,
                       struct bl_error *e)
{
    struct bl_buffer value = {0};
    struct bl_own_list list = {0};
    int code = bl_own_row_value(own, f, row, &value, e);
    if (!code)
        code = bl_own_list_read(&list, value.data, value.size, own->field[f].dtype, NULL, e);
    if (!code && !list.steps)
        code = bl_error_set(e, BL_EDATA, "there are no steps");
    *out = (struct bl_field){.kind = "array", .dtype = own->field[f].dtype, .rank = list.rank};
    memcpy(out->shape, list.shape, sizeof list.shape);
    bl_buffer_free(&value);
    return code;
}

/* Sets the type and shape of field f. A row without steps of an array does not decide them: the rank is
 * BL_RANK_UNKNOWN. */
static int own_field_of(const struct bl_own *own, int f, const struct bl_kind_env *env, const struct bl_row *row,
                        struct bl_field *out, struct bl_error *e)
{
    const struct bl_own_field *field = &own->field[f];
    struct bl_companion_row file = {0};
    struct bl_fields fields = {0};
    int64_t length = 0;
    *out = (struct bl_field){.kind = "array", .dtype = field->dtype, .rank = BL_RANK_UNKNOWN};
    if (field->kind == &bl_kind_text || bl_own_kind_is_media(field->kind)) {
        BL_TRY(field->kind->read->fields(field->config, env, NULL, &fields, e));
        *out = fields.field[0];
        return BL_OK;
    }
    if (!row)
        return bl_error_set(e, BL_EDATA, "the form of steps is the first array's");
    BL_TRY(bl_own_row_length(own, f, row, &length, e));
    if (!length)
        return BL_OK;
    if (!field->path)
        return list_fields(own, f, row, out, e);
    int code = bl_companion_row_read(&own->files, f + 1, row, &file, e);
    if (!code)
        code = field->kind->read->fields(field->config, env, &file.row, &fields, e);
    if (!code)
        *out = fields.field[0];
    bl_companion_row_free(&file);
    return code;
}

/* Sets the fields of the sources' kind, and behind them the own fields. */
static int own_fields(const void *config, const struct bl_kind_env *env, const struct bl_row *row,
                      struct bl_fields *out, struct bl_error *e)
{
    const struct bl_own *own = config;
    BL_TRY(own->inner->read->fields(own->inner_config, env, row, out, e));
    if (out->count + own->fields > BL_FIELDS_MAX)
        return bl_error_set(e, BL_EUSAGE, "more than %d fields", BL_FIELDS_MAX);
    for (int f = 0; f < own->fields; f++) {
        const struct bl_own_field *from = &own->field[f];
        struct bl_field *field = &out->field[out->count];
        int code = own_field_of(own, f, env, row, field, e);
        if (code == BL_EDATA)
            bl_error_prefix(e, "%s", from->name);
        if (code)
            return code;
        out->count++;
        snprintf(field->name, sizeof field->name, "%s", from->name);
        field->own = true;
        field->capacity = from->capacity;
        field->flat = from->storage == BL_OWN_FLAT;
        if (from->storage == BL_OWN_AUTO && field->rank != BL_RANK_UNKNOWN)
            field->flat = bl_field_step_bytes(field) > FLAT_BYTES;
    }
    return BL_OK;
}

/* Describes a field to users, and names where an own field comes from. */
static void own_describe(const void *config, const struct bl_field *field, struct bl_buffer *out)
{
    const struct bl_own *own = config;
    int f = 0;
    while (f < own->fields && strcmp(own->field[f].name, field->name) != 0)
        f++;
    if (!field->own || f == own->fields) {
        own->inner->read->describe(own->inner_config, field, out);
        return;
    }
    const struct bl_own_field *from = &own->field[f];
    if (from->column && from->kind == &bl_kind_array)
        bl_buffer_text(out, "lists of numbers");
    else
        from->kind->read->describe(from->config, field, out);
    bl_buffer_printf(out, ", of %s%s",
                     from->path        ? ""
                     : from->has_files ? "the files in the column "
                                       : "the column ",
                     from->path ? from->path : from->column);
}

static int own_versions(const void *config, const struct bl_kind_env *env, bl_version_emit *emit, void *sink,
                        struct bl_error *e)
{
    const struct bl_own *own = config;
    int code = own->inner->read->versions ? own->inner->read->versions(own->inner_config, env, emit, sink, e) : BL_OK;
    for (int f = 0; f < own->fields && !code; f++)
        code = own->field[f].kind->read->versions(own->field[f].config, env, emit, sink, e);
    return code;
}

/* --- the kind ----------------------------------------------------------------------------------------------------- */

/* Fills in the table of functions for the scan: those of the sources' kind, as far as it has them. */
static void own_set_scan(struct bl_own *own)
{
    const struct bl_kind_scan *inner = own->inner->scan;
    own->scan = *inner;
    own->scan.sampling = own_sampling;
    own->scan.columns = inner->columns ? own_inner_columns : NULL;
    own->scan.totals = own->total;
    own->scan.number = inner->number ? own_number : NULL;
    own->scan.want = inner->want ? own_want : NULL;
    own->scan.is_streamed = inner->is_streamed ? own_is_streamed : NULL;
    own->scan.is_divisible = inner->is_divisible ? own_is_divisible : NULL;
    own->scan.open = bl_own_counter_open;
    own->scan.count = bl_own_count;
    own->scan.take_key = NULL; /* the sources' kind is prepared */
    own->scan.last_columns = bl_own_columns;
    own->scan.complete = bl_own_complete;
    own->scan.verify = own_verify;
}

/* Fills in the other tables. One row decides the fields if options decide those of the sources. */
static void own_set_tables(struct bl_own *own, const struct bl_kind_env *env)
{
    const struct bl_kind *inner = own->inner;
    struct bl_fields fields;
    bool decided = !inner->read->fields(own->inner_config, env, NULL, &fields, NULL);
    own_set_scan(own);
    own->read = (struct bl_kind_read){.memory = inner->read->memory,
                                      .times = inner->read->times,
                                      .first_file_decides = inner->read->first_file_decides || decided,
                                      .fields = own_fields,
                                      .open = bl_own_open,
                                      .describe = own_describe,
                                      .versions = own_versions};
    /* The kind is known to users by the name of the sources'. */
    own->kind = *inner;
    own->kind.steps_of = own_steps;
    own->kind.decodes = inner->decodes ? own_decodes : NULL;
    own->kind.gpu_times = inner->gpu_times ? own_gpu_times : NULL;
    own->kind.options = (struct bl_kind_options){.table = inner->options.table, .identify = own_identify};
    own->kind.scan = &own->scan;
    own->kind.read = &own->read;
    if (!inner->spool)
        return;
    own->spool = (struct bl_kind_spool){.add = own_spool_add,
                                        .remove = own_spool_remove,
                                        .is_rows_alone = inner->spool->is_rows_alone ? own_is_rows_alone : NULL};
    own->kind.spool = &own->spool;
}

void bl_own_make(struct bl_own *own, const struct bl_kind_env *env)
{
    const struct bl_total *inner = own->inner->scan->totals;
    int totals = 0;
    /* The companions of own->files are the own fields alone. */
    own->files.part[0] = (struct bl_composite_part){.kind = own->inner, .config = own->inner_config};
    own->files.parts = own->fields + 1;
    for (; inner && inner[totals].column && totals < BL_TOTALS_MAX; totals++)
        own->total[totals] = inner[totals];
    own_set_tables(own, env);
    for (int f = 0; f < own->fields; f++) {
        struct bl_own_field *field = &own->field[f];
        const struct bl_kind *kind = field->kind == &bl_kind_text ? &bl_kind_own_text : field->kind;
        own->files.part[f + 1] = (struct bl_composite_part){
            .kind = kind, .config = field->config, .name = field->name, .path = field->path, .tolerance = -1};
        if (field->kind == &bl_kind_array)
            ((struct bl_array_config *)field->config)->takes_empty = true;
        own->read.memory += kind->read->memory;
        snprintf(own->total_column[f], sizeof own->total_column[f], "%s.length", field->name);
        snprintf(own->total_text[f], sizeof own->total_text[f], "%s: sequences that have none", field->name);
        if (totals < BL_TOTALS_MAX)
            own->total[totals++] =
                (struct bl_total){.column = own->total_column[f], .text = own->total_text[f], .value = "0"};
    }
    own->total[totals] = (struct bl_total){0};
}
