/* The intervals kind, which only follows others. A step has the label of the interval that it begins in. */
#include "kind/labels/intervals.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"

static const char *const extensions[] = {NULL};
static const char *const units[] = {"seconds", "steps", NULL};

static const struct bl_option options[] = {
    BL_OPTION_PATH("annotations", struct bl_intervals_config, annotations, BL_AFFECTS_BYTES, NULL),
    BL_OPTION_PATH("mapping", struct bl_intervals_config, mapping, BL_AFFECTS_BYTES, NULL),
    BL_OPTION_CHOICE("unit", struct bl_intervals_config, unit, units, BL_AFFECTS_BYTES, NULL, .initial = "seconds"),
    BL_OPTION_RATIONAL("rate", struct bl_intervals_config, rate, BL_AFFECTS_BYTES, NULL),
    BL_OPTION_FLAG("multi", struct bl_intervals_config, multi, BL_AFFECTS_BYTES, NULL),
    BL_OPTION_INT("background", struct bl_intervals_config, background, BL_AFFECTS_BYTES, NULL, .initial = "-1",
                  .min = INT32_MIN, .max = INT32_MAX),
    {0},
};

static int intervals_check(const void *values, struct bl_error *e)
{
    const struct bl_intervals_config *config = values;
    if (!config->annotations || !config->mapping)
        return bl_error_set(e, BL_EUSAGE, "intervals need %s: FILE", config->annotations ? "mapping" : "annotations");
    if (config->unit == BL_INTERVALS_STEPS && config->rate.den)
        return bl_error_set(e, BL_EUSAGE, "intervals in steps need no rate");
    return BL_OK;
}

static int intervals_prepare(void *values, struct bl_error *e)
{
    struct bl_intervals_config *config = values;
    int code = bl_mapping_read(&config->names, config->mapping, e);
    if (code)
        return code;
    code = bl_annotations_read(&config->all, config->annotations, &config->names, e);
    if (code)
        return code;
    for (size_t i = 0; i < config->names.count; i++) {
        int64_t classes = (int64_t)config->names.label[i].number + 1;
        if (classes > config->classes)
            config->classes = classes;
    }
    if (config->all.overlaps && !config->multi)
        snprintf(
            config->warning, sizeof config->warning,
            "overlapping intervals: %zu; the later one in the file applies (columns NAME.overlaps); multi keeps all",
            config->all.overlaps);
    return BL_OK;
}

static void intervals_release(void *values)
{
    struct bl_intervals_config *config = values;
    bl_mapping_free(&config->names);
    bl_annotations_free(&config->all);
}

static const char *intervals_warning(const void *values)
{
    const struct bl_intervals_config *config = values;
    return config->warning[0] ? config->warning : NULL;
}

static void intervals_identify(const void *values, struct bl_buffer *out)
{
    const struct bl_intervals_config *config = values;
    bl_buffer_printf(out, "annotations digest: %016" PRIx64 "\nmapping digest: %016" PRIx64 "\n", config->all.digest,
                     config->names.digest);
}

static void intervals_columns(const void *config, bool lists, struct bl_buffer *out)
{
    (void)config, (void)lists;
    bl_buffer_text(out, "\tintervals\toverlaps");
}

static void intervals_sampling(const void *config, struct bl_buffer *out)
{
    (void)config;
    bl_buffer_text(out, "intervals");
}

static enum bl_follow_needs intervals_needs(const void *values)
{
    const struct bl_intervals_config *config = values;
    if (config->unit == BL_INTERVALS_STEPS)
        return BL_FOLLOW_STEPS;
    return config->rate.den ? BL_FOLLOW_NUMBERS : BL_FOLLOW_TIMES;
}

/* BL_EDATA: there are no usable annotations of a sequence. */
static int intervals_check_found(const struct bl_intervals_config *config, const struct bl_annotated *found,
                                 struct bl_error *e)
{
    if (!found)
        return bl_error_set(e, BL_EDATA, "%s has no entry for it", config->annotations);
    return found->fault ? bl_error_set(e, BL_EDATA, "%s: %s", config->annotations, found->fault) : BL_OK;
}

/* The row reports whether there are annotations; the length is the other kind's. */
static int intervals_count(const void *values, const struct bl_kind_env *env, struct bl_counter *counter,
                           struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e)
{
    (void)env, (void)counter;
    const struct bl_intervals_config *config = values;
    const struct bl_annotated *found;
    struct bl_row row = {.status = BL_ROW_OK, .reason = "", .stream = -1, .offset = -1};
    struct bl_error fault = {0};
    char extra[64];
    int code = bl_annotations_find(&config->all, chunk->input->id, &found, e);
    if (code)
        return code;
    code = intervals_check_found(config, found, &fault);
    if (!code)
        snprintf(extra, sizeof extra, "\t%zu\t%zu", found->count, found->overlaps);
    row.extra = extra;
    return bl_chunk_emit_row(emit, sink, &row, code, &fault, e);
}

static int intervals_fields(const void *values, const struct bl_kind_env *env, const struct bl_row *row,
                            struct bl_fields *out, struct bl_error *e)
{
    (void)env, (void)row, (void)e;
    const struct bl_intervals_config *config = values;
    *out = (struct bl_fields){.count = 1};
    out->field[0] = (struct bl_field){.name = "labels", .kind = "intervals", .dtype = config->multi ? BL_U8 : BL_I32};
    out->field[0].rank = config->multi;
    out->field[0].shape[0] = config->classes;
    return BL_OK;
}

/* --- reading ---------------------------------------------------------------------------------------------------- */

struct bl_reader {
    const struct bl_intervals_config *config;
};

static int intervals_open_reader(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                                 struct bl_reader **reader, struct bl_error *e)
{
    (void)env, (void)fields;
    *reader = calloc(1, sizeof **reader);
    if (!*reader)
        return bl_error_memory(e);
    (*reader)->config = config;
    return BL_OK;
}

/* When step i of the piece begins, in the unit of the intervals. */
static double intervals_step_time(const struct bl_intervals_config *config, const struct bl_request *request, int64_t i)
{
    if (config->unit == BL_INTERVALS_STEPS)
        return (double)(request->source_start + i);
    return bl_kind_step_time(&config->rate, request->times, request->source_start, i);
}

static void intervals_label_step(const struct bl_intervals_config *config, const struct bl_annotated *a, double begin,
                                 uint8_t *out)
{
    int32_t label = (int32_t)config->background;
    if (config->multi)
        memset(out, 0, (size_t)config->classes);
    for (size_t i = 0; i < a->count; i++) {
        if (begin < a->annotation[i].begin || begin >= a->annotation[i].end)
            continue;
        label = a->annotation[i].label;
        if (config->multi)
            out[label] = 1;
    }
    if (!config->multi)
        memcpy(out, &label, sizeof label);
}

static int intervals_read_piece(struct bl_reader *r, const struct bl_request *request, struct bl_note *note,
                                struct bl_error *e)
{
    const struct bl_intervals_config *config = r->config;
    const struct bl_annotated *found;
    size_t size = config->multi ? (size_t)config->classes : sizeof(int32_t);
    note->text[0] = '\0';
    int code = bl_annotations_find(&config->all, request->row.id, &found, e);
    if (code)
        return code;
    code = intervals_check_found(config, found, e);
    if (code)
        return code;
    for (int64_t i = 0; i < request->steps; i++)
        intervals_label_step(config, found, intervals_step_time(config, request, i),
                             request->out[0] + (size_t)i * size);
    return BL_OK;
}

static void intervals_close_reader(struct bl_reader *r)
{
    free(r);
}

static void intervals_describe(const void *values, const struct bl_field *field, struct bl_buffer *out)
{
    (void)field;
    const struct bl_intervals_config *config = values;
    bl_buffer_printf(out, "%s of intervals in %s, of %s", config->multi ? "labels, one number each," : "labels",
                     units[config->unit], bl_path_name(config->annotations));
}

static const struct bl_kind_scan intervals_scan = {
    .sampling = intervals_sampling,
    .columns = intervals_columns,
    .count = intervals_count,
};

static const struct bl_kind_read intervals_read = {
    .memory = 4096,
    .fields = intervals_fields,
    .open = intervals_open_reader,
    .piece = intervals_read_piece,
    .close = intervals_close_reader,
    .describe = intervals_describe,
};

static const struct bl_kind_follow intervals_follow = {
    .needs = intervals_needs,
};

const struct bl_kind bl_kind_intervals = {
    .name = "intervals",
    .title = "Intervals",
    .steps = "steps",
    .extensions = extensions,
    .options = {.table = options,
                .config_size = sizeof(struct bl_intervals_config),
                .check = intervals_check,
                .prepare = intervals_prepare,
                .release = intervals_release,
                .warning = intervals_warning,
                .identify = intervals_identify},
    .scan = &intervals_scan,
    .read = &intervals_read,
    .follow = &intervals_follow,
};
