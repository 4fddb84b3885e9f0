/* Extra fields of a YAML file: the options of one field, its kind, and their checks.
 *
 * A field has two groups of options: those of every field (table below), and those of its kind, which are not known
 * until the name of the kind or the extension of the path is. So the caller reads the entry
 *
 *     - {name: labels, path: "labels/{id}.npy", kind: array, dtype: int64}
 *
 * in two passes: it sets path and kind after bl_extra_field_begin, and all others after bl_extra_field_use_kind. */
#include "cmd/extra_field.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buffer.h"
#include "base/checksum.h"
#include "base/text.h"
#include "kind/kinds.h"
#include "kind/media_options.h"

/* --- options ------------------------------------------------------------------------------------------------------ */

/* The options of every field. They have no help texts: a field is described in the manual page, and no flag sets it. */
static const struct bl_option table[] = {
    BL_OPTION_STRING("name", struct bl_extra_field, name, BL_AFFECTS_BYTES, NULL),
    BL_OPTION_STRING("path", struct bl_extra_field, path, BL_AFFECTS_LENGTHS, NULL),
    BL_OPTION_STRING("kind", struct bl_extra_field, kind_name, BL_AFFECTS_LENGTHS, NULL),
    BL_OPTION_STRING("dtype", struct bl_extra_field, dtype, BL_AFFECTS_BYTES, NULL),
    BL_OPTION_CUSTOM("stream", &bl_option_stream_number, int, struct bl_extra_field, stream, BL_AFFECTS_LENGTHS, NULL,
                     .initial = "best"),
    BL_OPTION_INT("length-tolerance", struct bl_extra_field, tolerance, BL_AFFECTS_LENGTHS, NULL, .max = INT64_MAX),
    BL_OPTION_STRING("steps", struct bl_extra_field, steps, BL_AFFECTS_LENGTHS, NULL, .unlisted = true),
    BL_OPTION_STRING("column", struct bl_extra_field, column, BL_AFFECTS_LENGTHS, NULL, .unlisted = true),
    BL_OPTION_STRING("key", struct bl_extra_field, key, BL_AFFECTS_LENGTHS, NULL, .unlisted = true),
    BL_OPTION_STRING("missing", struct bl_extra_field, missing, BL_AFFECTS_LENGTHS, NULL, .unlisted = true),
    BL_OPTION_STRING("capacity", struct bl_extra_field, capacity, BL_AFFECTS_PLAN, NULL, .unlisted = true),
    BL_OPTION_STRING("storage", struct bl_extra_field, storage, BL_AFFECTS_BYTES, NULL, .unlisted = true),
    {0},
};

/* The options of the text kind that say how a file is cut into documents, or what else they have. An own text is one
 * document. */
static const char *const document_options[] = {"format",   "key", "join", "documents", "token-file",
                                               "megatron", "fim", "keep", "field",     NULL};

static bool names_have_option(const char *const *names, const char *option)
{
    while (*names && strcmp(*names, option) != 0)
        names++;
    return *names;
}

bool bl_extra_field_is_early(const char *option)
{
    static const char *const early[] = {"path", "kind", "steps", "column", "key", NULL};
    return names_have_option(early, option);
}

bool bl_extra_field_is_own(const struct bl_extra_field *field)
{
    return field->steps && strcmp(field->steps, "own") == 0;
}

int bl_extra_field_refuse(const struct bl_extra_field *field, const char *option, struct bl_error *e)
{
    if (field->own_table && names_have_option(document_options, option) && strcmp(option, "key") != 0)
        return bl_error_set(e, BL_EUSAGE, "%s: a text with steps of its own is one document: leave it out", option);
    if (bl_extra_field_is_own(field) && strcmp(option, "per-step") == 0)
        return bl_error_set(e, BL_EUSAGE, "per-step: a field with steps: own has no part for each step");
    return BL_OK;
}

/* Only kinds with a variant that is cut per step have this option. */
static const struct bl_option per_step_table[] = {
    BL_OPTION_FLAG("per-step", struct bl_extra_field, per_step, BL_AFFECTS_BYTES, NULL),
    {0},
};

int bl_extra_field_begin(struct bl_extra_field *field, struct bl_error *e)
{
    return bl_options_add(&field->options, NULL, table, field, e);
}

/* --- kinds -------------------------------------------------------------------------------------------------------- */

/* Adds the options of the text kind that an own text can have. The others get their defaults. */
static int own_field_add_text(struct bl_extra_field *field, struct bl_error *e)
{
    struct bl_options defaults = {0};
    int all = 0, kept = 0;
    const struct bl_option *option = field->kind->options.table;
    BL_TRY(bl_options_add(&defaults, NULL, option, field->config, e));
    bl_options_free(&defaults);
    while (option[all].name)
        all++;
    field->own_table = calloc((size_t)all + 1, sizeof *field->own_table);
    if (!field->own_table)
        return bl_error_memory(e);
    for (; option->name; option++) {
        if (!names_have_option(document_options, option->name))
            field->own_table[kept++] = *option;
    }
    return bl_options_add(&field->options, NULL, field->own_table, field->config, e);
}

/* Finds the kind of an own field, and adds its options. A list in a column has no options of files. */
static int own_field_use_kind(struct bl_extra_field *field, struct bl_error *e)
{
    int sources = (field->path != NULL) + (field->column != NULL) + (field->key != NULL);
    if (sources != 1)
        return bl_error_set(e, BL_EUSAGE, "a field with steps: own has %s: path, column or key",
                            sources ? "only one of these" : "one of these");
    field->kind = bl_kind_find_own(field->kind_name, field->path);
    if (!field->kind && field->kind_name && bl_kind_find(field->kind_name))
        return bl_error_set(e, BL_EUSAGE,
                            "steps: own is for arrays, texts, images and videos: a field of the kind %s cannot have "
                            "steps of its own",
                            field->kind_name);
    if (!field->kind && field->kind_name)
        return bl_error_set(e, BL_EUSAGE, "there is no kind %s", field->kind_name);
    if (!field->kind && field->path)
        return bl_error_set(
            e, BL_EUSAGE, "the name %s has an unknown extension: give kind: array, text, images or video", field->path);
    if (!field->kind)
        return bl_error_set(e, BL_EUSAGE, "a field of a column needs its kind: array, text, images or video");
    field->kind_name = field->kind->name;
    field->config = calloc(1, field->kind->options.config_size);
    if (!field->config)
        return bl_error_memory(e);
    if (strcmp(field->kind->name, "text") == 0)
        return own_field_add_text(field, e);
    if (field->path || bl_own_kind_is_media(field->kind))
        return bl_options_add(&field->options, NULL, field->kind->options.table, field->config, e);
    struct bl_options defaults = {0};
    int code = bl_options_add(&defaults, NULL, field->kind->options.table, field->config, e);
    bl_options_free(&defaults);
    return code;
}

/* Refuses the options of own fields for a field whose steps are those of sequences. */
static int common_field_check(const struct bl_extra_field *field, struct bl_error *e)
{
    const struct {
        const char *name, *value;
    } own[] = {
        {"column", field->column}, {"key", field->key}, {"capacity", field->capacity}, {"storage", field->storage}};
    if (field->steps && strcmp(field->steps, "common") != 0)
        return bl_error_set(e, BL_EUSAGE, "steps expects common or own, not \"%s\"", field->steps);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        if (own[i].value)
            return bl_error_set(e, BL_EUSAGE, "%s is for a field with steps: own", own[i].name);
    }
    if (!field->missing || strcmp(field->missing, "error") == 0)
        return BL_OK;
    if (strcmp(field->missing, "empty") == 0)
        return bl_error_set(e, BL_EUSAGE, "missing: empty is for a field with steps: own");
    if (strcmp(field->missing, "zeros") != 0)
        return bl_error_set(e, BL_EUSAGE, "missing expects error or zeros, not \"%s\"", field->missing);
    if (!field->kind->options.has_zeros)
        return bl_error_set(e, BL_EUSAGE, "missing: zeros is for a field of sound, not of the kind %s",
                            field->kind->name);
    if (bl_extra_field_has_clips(field))
        return bl_error_set(e, BL_EUSAGE,
                            "missing: zeros is for a file of each sequence, and \"%s\" is a list of clips: leave it "
                            "out",
                            field->path);
    return BL_OK;
}

/* Returns whether a sequence without its file has zeros. */
static bool common_field_has_zeros(const struct bl_extra_field *field)
{
    return !bl_extra_field_is_own(field) && field->missing && strcmp(field->missing, "zeros") == 0;
}

/* Returns the kind of a field: the kind named in the file, or the first joinable kind that accepts the extension of the
 * path. NULL: there is none. */
static const struct bl_kind *extra_field_find_kind(const struct bl_extra_field *field)
{
    int k = 0;
    if (field->kind_name) {
        const struct bl_kind *follower = bl_kind_find_follower(field->kind_name);
        return follower ? follower : bl_kind_find(field->kind_name);
    }
    if (!field->path)
        return NULL;
    while (bl_kinds[k] && !(bl_composite_accepts(bl_kinds[k]) && bl_kind_has_extension(bl_kinds[k], field->path)))
        k++;
    return bl_kinds[k];
}

/* The message says what is missing: a kind that nobody names must follow from the path, and a kind that follows the
 * steps of the first field has no path. */
int bl_extra_field_use_kind(struct bl_extra_field *field, struct bl_error *e)
{
    if (bl_extra_field_is_own(field))
        return own_field_use_kind(field, e);
    BL_TRY(common_field_check(field, e));
    field->kind = extra_field_find_kind(field);
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
        return bl_error_set(e, BL_EUSAGE, "a field of the kind %s has other steps than the sequences: use steps: own",
                            field->kind->name);
    field->kind_name = field->kind->name; /* the identity of a dataset contains the kind, not how it was detected */
    const struct bl_kind *per_step = bl_kind_find_per_step(field->kind);
    /* The variant that is cut per step has the kind's options first, so one struct holds the options of both. */
    field->config = calloc(1, per_step ? per_step->options.config_size : field->kind->options.config_size);
    if (!field->config)
        return bl_error_memory(e);
    BL_TRY(bl_options_add(&field->options, NULL, field->kind->options.table, field->config, e));
    if (!per_step)
        return BL_OK;
    BL_TRY(bl_options_add(&field->options, NULL, per_step_table, field, e));
    return bl_options_add(&field->options, NULL, per_step->options.table, field->config, e);
}

/* --- checks ------------------------------------------------------------------------------------------------------- */

/* Replaces the kind by its variant of the same name if the field is cut per step. Otherwise the options of that variant
 * must not be given. */
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

/* Sets *word to the number of a value among two words, or to `missing` if it is not given. */
static int own_field_choose(const char *option, const char *value, const char *const words[2], int missing, int *word,
                            struct bl_error *e)
{
    *word = missing;
    for (int i = 0; i < 2 && value; i++) {
        if (strcmp(words[i], value) == 0) {
            *word = i;
            return BL_OK;
        }
    }
    if (!value)
        return BL_OK;
    return bl_error_set(e, BL_EUSAGE, "%s expects %s or %s, not \"%s\"", option, words[0], words[1], value);
}

/* Checks the capacity: a number of steps, or auto. */
static int own_field_check_capacity(struct bl_extra_field *field, struct bl_error *e)
{
    const char *text = field->capacity;
    if (!text)
        return bl_error_set(e, BL_EUSAGE,
                            "a field with steps: own needs capacity: the most of its steps in a block, or auto");
    field->own.capacity = 0;
    if (strcmp(text, "auto") == 0 || bl_text_to_int(text, strlen(text), 1, INT32_MAX, &field->own.capacity))
        return BL_OK;
    return bl_error_set(e, BL_EUSAGE, "capacity expects a number from 1 to 2147483647, or auto, not \"%s\"", text);
}

/* Sets the type of the elements of an array in a column, of which each name of a type is a value in lower case. */
static int own_field_check_list(struct bl_extra_field *field, struct bl_error *e)
{
    field->own.dtype = BL_F32;
    if (!field->dtype)
        return BL_OK;
    for (int dtype = BL_U8; dtype <= BL_F64; dtype++) {
        const char *name = bl_dtype_name((enum bl_dtype)dtype);
        if (strcasecmp(name, field->dtype) == 0 && strcmp(name, field->dtype) != 0) {
            field->own.dtype = (enum bl_dtype)dtype;
            return BL_OK;
        }
    }
    return bl_error_set(e, BL_EUSAGE,
                        "dtype: lists of numbers have the type u8, i8, bool, i16, u16, f16, bf16, i32, u32, f32, i64, "
                        "u64 or f64, not \"%s\"",
                        field->dtype);
}

/* Checks the options of pictures and videos, whose steps have one size, and which the processor decodes. */
static int own_field_check_media(const struct bl_extra_field *field, struct bl_error *e)
{
    if (bl_options_origin(&field->options, "size") == BL_ORIGIN_DEFAULT)
        return bl_error_set(e, BL_EUSAGE, "a field of %s with steps: own needs size: WIDTHxHEIGHT, that of each step",
                            field->kind->name);
    if (bl_options_origin(&field->options, "decoder") != BL_ORIGIN_DEFAULT)
        return bl_error_set(e, BL_EUSAGE, "decoder: the processor decodes a field with steps: own");
    if (bl_options_origin(&field->options, "times") != BL_ORIGIN_DEFAULT)
        return bl_error_set(e, BL_EUSAGE, "times: a field with steps: own has its frames alone");
    if (strcmp(field->kind->name, "images") == 0 && field->path && bl_companion_extension(field->path))
        return bl_error_set(e, BL_EUSAGE, "\"%s\": pictures are read from files, not from tars: unpack them",
                            field->path);
    return BL_OK;
}

/* Checks the options of an own field, and makes field->own of them. */
static int own_field_check(struct bl_extra_field *field, struct bl_error *e)
{
    static const char *const storages[] = {"padded", "flat"}, *const misses[] = {"error", "empty"};
    bool is_media = bl_own_kind_is_media(field->kind);
    bool is_text = strcmp(field->kind->name, "text") == 0, is_list = !is_text && !is_media && !field->path;
    int storage, missing;
    if (bl_options_origin(&field->options, "length-tolerance") != BL_ORIGIN_DEFAULT)
        return bl_error_set(e, BL_EUSAGE,
                            "length-tolerance: the steps of a field with steps: own need not be those of the sequence");
    BL_TRY(own_field_check_capacity(field, e));
    BL_TRY(own_field_choose("storage", field->storage, storages, -1, &storage, e));
    BL_TRY(own_field_choose("missing", field->missing, misses, is_media && !field->path, &missing, e));
    if (field->path)
        BL_TRY(bl_companion_check(field->path, e));
    if (is_list)
        BL_TRY(own_field_check_list(field, e));
    if (is_media)
        BL_TRY(own_field_check_media(field, e));
    if (is_text && bl_options_origin(&field->options, "tokenizer") == BL_ORIGIN_DEFAULT)
        return bl_error_set(e, BL_EUSAGE, "a text needs a tokenizer: tokenizer: FILE, or bytes");
    field->own.name = field->name;
    field->own.kind = field->kind;
    field->own.config = field->config;
    field->own.path = field->path;
    field->own.column = field->column ? field->column : field->key;
    field->own.has_files = is_media && !field->path;
    field->own.storage = storage < 0 ? BL_OWN_AUTO : storage ? BL_OWN_FLAT : BL_OWN_PADDED;
    field->own.may_miss = missing;
    return BL_OK;
}

/* A kind that follows the first field has no files, and a folder is never a list. */
bool bl_extra_field_has_clips(const struct bl_extra_field *field)
{
    return field->path && !bl_extra_field_is_own(field) && !field->kind->follow && !field->kind->scan->stat_folder &&
           bl_kind_is_list(field->kind, field->path);
}

int bl_extra_field_check(struct bl_extra_field *field, struct bl_error *e)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    struct bl_kind_config *config = field->config; /* of kinds that have types or streams */
    if (!field->name)
        return bl_error_set(e, BL_EUSAGE, "a field without a name");
    if (strlen(field->name) >= BL_FIELD_NAME_MAX || field->name[strspn(field->name, letters)])
        return bl_error_set(e, BL_EUSAGE, "a field's name is at most %d letters, digits, _ and -, not \"%s\"",
                            BL_FIELD_NAME_MAX - 1, field->name);
    bool is_own = bl_extra_field_is_own(field), is_list = bl_extra_field_has_clips(field);
    BL_TRY(is_own ? own_field_check(field, e) : common_field_check(field, e));
    if (is_list && strpbrk(field->path, "{}"))
        return bl_error_set(e, BL_EUSAGE, "\"%s\" is a list of inputs, not the file of one sequence", field->path);
    if (is_list && field->per_step)
        return bl_error_set(e, BL_EUSAGE, "per-step: clips cannot be cut per step, and \"%s\" is a list of clips",
                            field->path);
    if (field->path && !is_list && !is_own)
        BL_TRY(bl_companion_check(field->path, e)); /* the path has a placeholder, as in "labels/{id}.npy" */
    BL_TRY(is_own ? BL_OK : extra_field_choose_kind(field, e));
    bool is_list_type = is_own && !field->path && !field->own_table && !bl_own_kind_is_media(field->kind);
    bool is_typed = field->dtype && !is_list_type; /* by the kind's types */
    int dtype = is_typed ? bl_kind_dtype(field->kind, field->dtype) : -1;
    if (is_typed && dtype < 0)
        return bl_error_set(e, BL_EUSAGE, "dtype: %s has no type \"%s\"", field->kind->name, field->dtype);
    if (is_typed)
        config->dtype = dtype;
    if (field->stream && !field->kind->options.has_streams)
        return bl_error_set(e, BL_EUSAGE, "stream: %s has no streams", field->kind->name);
    if (field->kind->options.has_streams)
        config->stream = field->stream;
    if (common_field_has_zeros(field))
        config->zeros = true;
    BL_TRY(bl_kind_check(field->kind, field->config, e));
    return field->kind->options.check_dtype ? field->kind->options.check_dtype(field->config, e) : BL_OK;
}

/* --- use ---------------------------------------------------------------------------------------------------------- */

void bl_extra_field_free(struct bl_extra_field *field)
{
    if (field->prepared && field->kind->options.release)
        field->kind->options.release(field->config);
    bl_options_free(&field->options);
    bl_clip_list_free(&field->clips);
    free(field->own_table);
    free(field->config);
}

struct bl_composite_part bl_extra_field_part(struct bl_extra_field *field)
{
    bool is_given = bl_options_origin(&field->options, "length-tolerance") != BL_ORIGIN_DEFAULT;
    return (struct bl_composite_part){.kind = field->kind,
                                      .config = field->config,
                                      .name = field->name,
                                      .path = field->path,
                                      .clips = bl_extra_field_has_clips(field) ? &field->clips : NULL,
                                      .tolerance = is_given ? field->tolerance : -1,
                                      .zeros = common_field_has_zeros(field)};
}

bool bl_extra_field_next(const struct bl_extra_field *field, struct bl_option_match *match)
{
    while (bl_options_next(&field->options, match)) {
        /* A kind may have an option that every field has, too, such as dtype. Only the field's own is shown. */
        bool hidden = match->option->command_line_only;
        for (const struct bl_option *own = table; own->name && match->group->values != field; own++)
            hidden |= strcmp(own->name, match->option->name) == 0;
        if (!hidden)
            return true;
    }
    return false;
}

/* The lines are, for example, "field labels kind: array\n". */
void bl_extra_field_identify(const struct bl_extra_field *field, bool lengths, struct bl_buffer *out)
{
    for (struct bl_option_match m = {0}; bl_extra_field_next(field, &m);) {
        const enum bl_affects affects = m.option->affects;
        if (affects == BL_AFFECTS_NOTHING || (lengths && affects != BL_AFFECTS_LENGTHS) ||
            !bl_option_is_listed(m.group, m.option, out))
            continue;
        bl_buffer_printf(out, "field %s ", field->name);
        bl_option_identity(m.group, m.option, out);
    }
}

/* --- choice of a field -------------------------------------------------------------------------------------------- */

/* Returns BL_EUSAGE with the names of all fields, "frames, labels", and the most similar name if there is one. */
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
        code = bl_error_set(e, BL_EUSAGE, "--field %s: there is no such field; the fields are: %s", name, names.data);
    bl_buffer_free(&names);
    return code;
}

/* A dataset with one field needs no --field. */
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
