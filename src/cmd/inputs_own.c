/* Makes the kind with own fields: prepares each field, has its decoder isolated, and finds the columns and the tables
 * from which it takes its values. */
#include "cmd/inputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "plan/capacity.h"
#include "scan/attributes.h"

int bl_inputs_take_keys(struct bl_inputs *inputs, struct bl_error *e)
{
    const struct bl_kind *kind = inputs->set.kind;
    for (int f = 0; f < inputs->config.fields; f++) {
        const struct bl_extra_field *field = &inputs->config.field[f];
        if (kind->scan->take_key && (field->key || field->column))
            kind->scan->take_key(inputs->set.kind_config,
                                 &(struct bl_kind_key){.name = field->own.column,
                                                       .is_column = field->column,
                                                       .is_text = strcmp(field->kind->name, "text") == 0});
        else if (field->key && inputs->set.files.count && !bl_files_have_list(&inputs->set.files, kind))
            return bl_error_set(e, BL_EUSAGE, "field %s: key: the sources have no keys: use path or column",
                                field->name);
    }
    return BL_OK;
}

int bl_inputs_make_own(struct bl_inputs *inputs, struct bl_error *e)
{
    struct bl_own *own = &inputs->own;
    *own = (struct bl_own){.inner = inputs->set.kind, .inner_config = inputs->set.kind_config};
    own->files.base = inputs->config.directory;
    own->files.sources_base = inputs->set.base;
    own->files.members = &inputs->set.files.members;
    for (int f = 0; f < inputs->config.fields; f++) {
        struct bl_extra_field *field = &inputs->config.field[f];
        if (!bl_extra_field_is_own(field))
            continue;
        struct bl_own_field *made = &own->field[own->fields++];
        *made = field->own;
        int code = bl_inputs_prepare_kind(inputs, &field->options, field->kind, field->config, e);
        field->prepared = true; /* a failed prepare needs a release, too */
        if (!code)
            code = bl_isolation_check(&inputs->isolation, field->kind, field->config, e);
        if (code) {
            bl_error_prefix(e, "field %s", field->name);
            return code;
        }
        /* Arrays that lie in lines of JSON have no files. */
        if (field->kind->decodes || field->path)
            bl_isolation_add(&inputs->isolation, &made->kind, field->config, field->path);
    }
    const struct bl_kind_env env = {.isolation = inputs->isolation.parts ? &inputs->isolation : NULL,
                                    .simd = bl_simd_best()};
    bl_own_make(own, &env);
    inputs->set.kind = &own->kind;
    inputs->set.kind_config = own;
    inputs->set.own = own;
    return BL_OK;
}

/* The paths of files in a column are relative to the folder of the table, and are opened as those of sources are. If
 * the sources are relative to the YAML file and the table is not, its path is made absolute. */
int bl_inputs_note_list(struct bl_inputs *inputs, const struct bl_options *options, struct bl_error *e)
{
    const char *path = inputs->attributes.path, *base = bl_inputs_base(inputs, options, "attributes");
    const char *sources = inputs->set.base;
    if (!path || inputs->own_list)
        return BL_OK;
    if (!sources)
        inputs->own_list = bl_path_join(base, path);
    else if (base || !(inputs->own_list = realpath(path, NULL))) /* a missing table is reported when it is read */
        inputs->own_list = strdup(path);
    return inputs->own_list ? BL_OK : bl_error_memory(e);
}

/* Returns whether the table of attributes has the column. */
static bool attributes_have(const struct bl_attributes *attributes, const char *column)
{
    int c = 0, count = attributes ? bl_attributes_count(attributes) : 0;
    while (c < count && strcmp(bl_attributes_name(attributes, c), column) != 0)
        c++;
    return c < count;
}

int bl_inputs_check_own(struct bl_inputs *inputs, struct bl_error *e)
{
    const struct bl_input_set *set = &inputs->set;
    for (int f = 0; f < inputs->own.fields; f++) {
        struct bl_own_field *field = &inputs->own.field[f];
        if (field->has_files && attributes_have(set->attributes, field->column))
            field->list = inputs->own_list; /* NULL: members of tars, beside which the files lie */
    }
    if (!set->files.count)
        return BL_OK;
    struct bl_buffer columns = {0};
    bl_files_columns(&set->files, set->kind, set->kind_config, &columns);
    if (set->attributes)
        bl_attributes_columns(set->attributes, &columns);
    bl_buffer_text(&columns, "");
    int code = bl_buffer_check(&columns, e);
    if (!code)
        code = bl_own_check_columns(set->own, columns.data, false, e);
    bl_buffer_free(&columns);
    return code;
}

int bl_inputs_set_capacities(const struct bl_inputs *inputs, struct bl_plan_options *options, struct bl_error *e)
{
    struct bl_plan_own own = {.count = 0};
    for (int f = 0; f < inputs->config.fields; f++) {
        const struct bl_extra_field *field = &inputs->config.field[f];
        if (!bl_extra_field_is_own(field))
            continue;
        own.field[own.count].capacity = field->own.capacity;
        snprintf(own.field[own.count++].name, sizeof own.field->name, "%s", field->name);
    }
    return own.count ? bl_plan_capacity_complete(&options->capacity, &own, e) : BL_OK;
}
