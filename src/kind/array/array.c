/* The array kind and its options. An element's way: file.c (the bytes of an array in its file), inflated.c (copies of
 * arrays that can only be read in order), layout.c (where each element belongs), read.c (pieces). */
#include "kind/array/array.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <zip.h>

#include "kind/array/config.h"
#include "kind/array/inflated.h"
#include "kind/array/layout.h"
#include "kind/array/read.h"
#include "kind/array/file.h"

/* NPY files in folders are token ids, unless --kind says otherwise: text comes before. */
static const char *const extensions[] = {"npz", "npy", NULL};

static const char *const dtypes[] = {"same", "f32", NULL};

static const struct bl_option options[] = {
    BL_OPTION_STRING("array", struct bl_array_config, member, BL_AFFECTS_LENGTHS,
                     "array of an .npz archive; required if it has several", .placeholder = "NAME"),
    BL_OPTION_INT("time-axis", struct bl_array_config, time_axis, BL_AFFECTS_LENGTHS,
                  "axis of the steps in the file; -1: the last", .initial = "0", .min = -BL_NPY_RANK_MAX,
                  .max = BL_NPY_RANK_MAX - 1, .placeholder = "N"),
    BL_OPTION_FLAG("squeeze", struct bl_array_config, squeeze, BL_AFFECTS_LENGTHS, "drop other axes of size 1"),
    BL_OPTION_STRING("name", struct bl_array_config, name, BL_AFFECTS_BYTES, "name of the field in the shards",
                     .initial = "array", .placeholder = "NAME"),
    {0},
};

static int array_config_check(const void *values, struct bl_error *e)
{
    const struct bl_array_config *config = values;
    static const char known[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    size_t size = strlen(config->name);
    if (!size || size >= BL_FIELD_NAME_MAX || strspn(config->name, known) != size)
        return bl_error_set(e, BL_EUSAGE, "--name expects 1 to %d letters, digits, _, . or -, not \"%s\"",
                            BL_FIELD_NAME_MAX - 1, config->name);
    return BL_OK;
}

static int array_config_prepare(void *values, struct bl_error *e)
{
    return bl_inflated_make(&((struct bl_array_config *)values)->inflated, e);
}

static void array_config_release(void *values)
{
    struct bl_array_config *config = values;
    bl_inflated_free(config->inflated);
    config->inflated = NULL;
}

static void array_config_sampling(const void *values, struct bl_buffer *out)
{
    const struct bl_array_config *config = values;
    bl_buffer_printf(out, "axis=%" PRId64 "%s%s%s%s", config->time_axis, config->squeeze ? " squeeze" : "",
                     config->dtype == BL_ARRAY_F32 ? " f32" : "", config->member ? " array=" : "",
                     config->member ? config->member : "");
}

/* Finds the layout of a file's array, and the bytes that follow it. */
static int array_file_layout(const struct bl_array_config *config, const struct bl_kind_env *env, const char *path,
                             int64_t bytes, struct bl_array_layout *layout, int64_t *trailing, struct bl_error *e)
{
    struct bl_array_file file;
    int code = bl_array_file_open(&file, path, bytes, config->member, env->cancel, e);
    if (code)
        return code;
    code = bl_array_layout_make(layout, &file.npy, config, e);
    *trailing = file.trailing;
    bl_array_file_close(&file);
    return code;
}

static int array_file_count(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                            struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e)
{
    (void)counter;
    struct bl_array_layout layout;
    struct bl_error fault = {0};
    char form[BL_ARRAY_FORM_MAX], reason[128] = "";
    int64_t trailing = 0;
    struct bl_row row = {.reason = reason, .stream = -1, .offset = -1};
    int code = array_file_layout(config, env, chunk->input->path, -1, &layout, &trailing, &fault);
    if (code)
        return bl_chunk_emit_row(emit, sink, &row, code, &fault, e);
    if (trailing > 0)
        snprintf(reason, sizeof reason, "%" PRId64 " bytes follow the array: left out", trailing);
    row.length = layout.steps;
    row.form = bl_array_form_print(form, layout.dtype, layout.rank, layout.shape);
    return emit(sink, 0, &row, e);
}

static int array_fields(const void *values, const struct bl_kind_env *env, const struct bl_row *row,
                        struct bl_fields *out, struct bl_error *e)
{
    const struct bl_array_config *config = values;
    struct bl_array_layout layout;
    int64_t trailing;
    if (!row)
        return bl_error_set(e, BL_EDATA, "the form of steps is the first array's");
    int code = array_file_layout(config, env, row->path, row->bytes, &layout, &trailing, e);
    if (code)
        return code;
    *out = (struct bl_fields){.count = 1};
    out->field[0] = (struct bl_field){.kind = "array", .dtype = layout.dtype, .rank = layout.rank};
    snprintf(out->field[0].name, sizeof out->field[0].name, "%s", config->name);
    memcpy(out->field[0].shape, layout.shape, sizeof layout.shape);
    return BL_OK;
}

static void array_config_describe(const void *values, const struct bl_field *field, struct bl_buffer *out)
{
    (void)field;
    const struct bl_array_config *config = values;
    bl_buffer_printf(out, "arrays as they are, steps along axis %" PRId64, config->time_axis);
    if (config->member)
        bl_buffer_printf(out, ", \"%s\" of archives", config->member);
    bl_buffer_text(out, config->squeeze ? ", other axes of size 1 dropped" : "");
    bl_buffer_text(out, config->dtype == BL_ARRAY_F32 ? ", F64 rounded to F32" : "");
}

static int array_versions(const void *config, const struct bl_kind_env *env, bl_version_emit *emit, void *sink,
                          struct bl_error *e)
{
    (void)config, (void)env, (void)e;
    emit(sink, "libzip", zip_libzip_version());
    return BL_OK;
}

static const struct bl_kind_scan array_scan = {
    .sampling = array_config_sampling,
    .count = array_file_count,
};

static const struct bl_kind_read array_read = {
    .memory = BL_ARRAY_READER_MEMORY,
    .first_file_decides = true,
    .fields = array_fields,
    .open = bl_array_reader_open,
    .piece = bl_array_reader_read,
    .close = bl_array_reader_close,
    .describe = array_config_describe,
    .versions = array_versions,
};

const struct bl_kind bl_kind_array = {
    .name = "array",
    .title = "Arrays",
    .steps = "rows",
    .extensions = extensions,
    .is_fallback = true,
    .options = {.table = options,
                .config_size = sizeof(struct bl_array_config),
                .dtypes = dtypes,
                .dtype = offsetof(struct bl_array_config, dtype),
                .check = array_config_check,
                .prepare = array_config_prepare,
                .release = array_config_release},
    .scan = &array_scan,
    .read = &array_read,
};
