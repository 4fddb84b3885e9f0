#include "cmd/extra_field.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/checksum.h"
#include "base/text.h"
#include "kind/kinds.h"
#include "kind/media_options.h"

/* --- extra fields ------------------------------------------------------------------------------------------------- */

static const struct bl_option table[] = {
    BL_OPTION_STRING("name", struct bl_extra_field, name, BL_AFFECTS_BYTES, NULL),
    BL_OPTION_STRING("path", struct bl_extra_field, path, BL_AFFECTS_LENGTHS, NULL),
    BL_OPTION_STRING("kind", struct bl_extra_field, kind_name, BL_AFFECTS_LENGTHS, NULL),
    BL_OPTION_STRING("dtype", struct bl_extra_field, dtype, BL_AFFECTS_BYTES, NULL),
    BL_OPTION_CUSTOM("stream", &bl_option_stream_number, int, struct bl_extra_field, stream, BL_AFFECTS_LENGTHS, NULL,
                     .initial = "best"),
    BL_OPTION_INT("length-tolerance", struct bl_extra_field, tolerance, BL_AFFECTS_LENGTHS, NULL, .max = INT64_MAX),
    {0},
};

static const struct bl_option per_step_table[] = {
    BL_OPTION_FLAG("per-step", struct bl_extra_field, per_step, BL_AFFECTS_BYTES, NULL),
    {0},
};

int bl_extra_field_begin(struct bl_extra_field *field, struct bl_error *e)
{
    return bl_options_add(&field->options, NULL, table, field, e);
}

/* Returns the first joinable kind that accepts such file names. */
static const struct bl_kind *extra_field_kind_of_path(const char *path)
{
    int k = 0;
    while (bl_kinds[k] && !(bl_composite_accepts(bl_kinds[k]) && bl_kind_has_extension(bl_kinds[k], path)))
        k++;
    return bl_kinds[k];
}

static const struct bl_kind *extra_field_kind_of_name(const char *name)
{
    const struct bl_kind *follower = bl_kind_find_follower(name);
    return follower ? follower : bl_kind_find(name);
}

int bl_extra_field_use_kind(struct bl_extra_field *field, struct bl_error *e)
{
    field->kind = field->kind_name ? extra_field_kind_of_name(field->kind_name)
                  : field->path    ? extra_field_kind_of_path(field->path)
                                   : NULL;
    bool follows = field->kind && field->kind->follow;
    if (!field->path && !follows)
        return bl_error_set(e, BL_EUSAGE, "a field without a path");
    if (field->path && follows)
        return bl_error_set(e, BL_EUSAGE, "a field of the kind %s has no path", field->kind->name);
    if (!field->kind && field->kind_name)
        return bl_error_set(e, BL_EUSAGE, "there is no kind %s", field->kind_name);
    if (!field->kind)
        return bl_error_set(e, BL_EUSAGE, "the name %s has an unknown extension: give kind", field->path);
    if (!bl_composite_accepts(field->kind))
        return bl_error_set(e, BL_EUSAGE, "a field cannot be of the kind %s: it has no file for each sequence",
                            field->kind->name);
    field->kind_name = field->kind->name; /* the identity of a dataset contains the kind, not how it was detected */
    const struct bl_kind *per_step = bl_kind_find_per_step(field->kind);
    field->config = calloc(1, per_step ? per_step->options.config_size : field->kind->options.config_size);
    if (!field->config)
        return bl_error_memory(e);
    int code = bl_options_add(&field->options, NULL, field->kind->options.table, field->config, e);
    if (code || !per_step)
        return code;
    BL_TRY(bl_options_add(&field->options, NULL, per_step_table, field, e));
    return bl_options_add(&field->options, NULL, per_step->options.table, field->config, e);
}

/* A field cut per step has a different kind of the same name. */
static int extra_field_choose_kind(struct bl_extra_field *field, struct bl_error *e)
{
    const struct bl_kind *per_step = bl_kind_find_per_step(field->kind);
    if (field->per_step) {
        field->kind = per_step;
        return BL_OK;
    }
    for (const struct bl_option *option = per_step ? per_step->options.table : NULL; option && option->name; option++) {
        if (bl_options_origin(&field->options, option->name) != BL_ORIGIN_DEFAULT)
            return bl_error_set(e, BL_EUSAGE, "%s is for a field with per-step: true", option->name);
    }
    return BL_OK;
}

static int extra_field_check_name(const char *name, struct bl_error *e)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    if (!name)
        return bl_error_set(e, BL_EUSAGE, "a field without a name");
    if (strlen(name) >= BL_FIELD_NAME_MAX || name[strspn(name, letters)])
        return bl_error_set(e, BL_EUSAGE, "a field's name is at most %d letters, digits, _ and -, not \"%s\"",
                            BL_FIELD_NAME_MAX - 1, name);
    return BL_OK;
}

static int extra_field_check_dtype(struct bl_extra_field *field, struct bl_error *e)
{
    if (!field->dtype)
        return BL_OK;
    int which = bl_kind_dtype(field->kind, field->dtype);
    if (which < 0)
        return bl_error_set(e, BL_EUSAGE, "dtype: %s has no type \"%s\"", field->kind->name, field->dtype);
    struct bl_kind_config *config = field->config;
    config->dtype = which;
    return BL_OK;
}

static int extra_field_check_stream(struct bl_extra_field *field, struct bl_error *e)
{
    struct bl_kind_config *config = field->config;
    if (field->kind->options.has_streams)
        config->stream = field->stream;
    else if (field->stream)
        return bl_error_set(e, BL_EUSAGE, "stream: %s has no streams", field->kind->name);
    return BL_OK;
}

bool bl_extra_field_has_clips(const struct bl_extra_field *field)
{
    return field->path && !field->kind->follow && !field->kind->scan->stat_folder &&
           bl_kind_is_list(field->kind, field->path);
}

/* The path is that of a list of clips, or has a placeholder for the sequence's name. */
static int extra_field_check_path(const struct bl_extra_field *field, struct bl_error *e)
{
    bool is_list = bl_extra_field_has_clips(field);
    if (is_list && strpbrk(field->path, "{}"))
        return bl_error_set(e, BL_EUSAGE, "\"%s\" is a list of inputs, not the file of one sequence", field->path);
    if (is_list && field->per_step)
        return bl_error_set(e, BL_EUSAGE, "per-step: not of clips, as \"%s\" lists", field->path);
    return is_list ? BL_OK : bl_companion_check(field->path, e);
}

int bl_extra_field_check(struct bl_extra_field *field, struct bl_error *e)
{
    BL_TRY(extra_field_check_name(field->name, e));
    if (field->path) {
        BL_TRY(extra_field_check_path(field, e));
    }
    BL_TRY(extra_field_choose_kind(field, e));
    BL_TRY(extra_field_check_dtype(field, e));
    BL_TRY(extra_field_check_stream(field, e));
    int code = bl_kind_check(field->kind, field->config, e);
    if (code || !field->kind->options.check_dtype)
        return code;
    return field->kind->options.check_dtype(field->config, e);
}

void bl_extra_field_free(struct bl_extra_field *field)
{
    if (field->prepared && field->kind->options.release)
        field->kind->options.release(field->config);
    bl_options_free(&field->options);
    bl_clip_list_free(&field->clips);
    free(field->config);
}

struct bl_composite_part bl_extra_field_part(struct bl_extra_field *field)
{
    bool said = bl_options_origin(&field->options, "length-tolerance") != BL_ORIGIN_DEFAULT;
    return (struct bl_composite_part){.kind = field->kind,
                                      .config = field->config,
                                      .name = field->name,
                                      .path = field->path,
                                      .clips = bl_extra_field_has_clips(field) ? &field->clips : NULL,
                                      .tolerance = said ? field->tolerance : -1};
}

/* Whether to hide the kind's option because every field has an option of that name. */
static bool extra_field_hides(const struct bl_extra_field *field, const struct bl_option_match *match)
{
    bool hidden = false;
    for (const struct bl_option *own = table; own->name && match->group->values != field; own++)
        hidden |= strcmp(own->name, match->option->name) == 0;
    return hidden || match->option->command_line_only;
}

bool bl_extra_field_next(const struct bl_extra_field *field, struct bl_option_match *match)
{
    while (bl_options_next(&field->options, match)) {
        if (!extra_field_hides(field, match))
            return true;
    }
    return false;
}

void bl_extra_field_identify(const struct bl_extra_field *field, struct bl_buffer *out)
{
    for (struct bl_option_match m = {0}; bl_extra_field_next(field, &m);) {
        if (m.option->affects == BL_AFFECTS_NOTHING)
            continue;
        bl_buffer_printf(out, "field %s ", field->name);
        bl_option_identity(m.group, m.option, out);
    }
}

/* --- choice of a field -------------------------------------------------------------------------------------------- */

/* The names of the fields: "frames, labels". */
static int fields_refuse(const struct bl_fields *fields, const char *name, struct bl_error *e)
{
    struct bl_buffer names = {0};
    struct bl_nearest nearest = {.word = name ? name : "", .size = name ? strlen(name) : 0};
    for (int f = 0; f < fields->count; f++) {
        bl_buffer_printf(&names, "%s%s", f ? ", " : "", fields->field[f].name);
        bl_nearest_offer(&nearest, fields->field[f].name);
    }
    int code = bl_buffer_check(&names, e);
    if (!code && !name)
        code = bl_error_set(e, BL_EUSAGE, "--field must be given, one of: %s", names.data);
    else if (!code && nearest.best)
        code = bl_error_set(e, BL_EUSAGE, "--field %s: there is none, did you mean %s? All are: %s", name, nearest.best,
                            names.data);
    else if (!code)
        code = bl_error_set(e, BL_EUSAGE, "--field %s: there is none, but: %s", name, names.data);
    bl_buffer_free(&names);
    return code;
}

int bl_field_choose(const struct bl_fields *fields, const char *name, int *found, struct bl_error *e)
{
    *found = 0;
    if (!name)
        return fields->count == 1 ? BL_OK : fields_refuse(fields, NULL, e);
    for (int f = 0; f < fields->count; f++) {
        if (strcmp(fields->field[f].name, name) == 0) {
            *found = f;
            return BL_OK;
        }
    }
    return fields_refuse(fields, name, e);
}
