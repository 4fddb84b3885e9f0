/* The labels kind. mapping.c reads the names of labels, label_lines.c the files. */
#include "kind/labels/labels.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "kind/labels/label_lines.h"
#include "kind/input_stat.h"

/* Text files in folders are documents: labels have to be asked for (--kind labels). */
static const char *const extensions[] = {"txt", NULL};

static const struct bl_option options[] = {
    BL_OPTION_PATH(
        "mapping", struct bl_labels_config, mapping, BL_AFFECTS_BYTES,
        "numbers of the labels: lines \"NUMBER NAME\", or names, numbered from 0; without it lines are numbers"),
    {0},
};

static int labels_prepare(void *values, struct bl_error *e)
{
    struct bl_labels_config *config = values;
    return config->mapping ? bl_mapping_read(&config->names, config->mapping, e) : BL_OK;
}

static void labels_release(void *values)
{
    bl_mapping_free(&((struct bl_labels_config *)values)->names);
}

static void labels_identify(const void *values, struct bl_buffer *out)
{
    const struct bl_labels_config *config = values;
    if (config->mapping)
        bl_buffer_printf(out, "mapping digest: %016" PRIx64 "\n", config->names.digest);
}

static void labels_sampling(const void *config, struct bl_buffer *out)
{
    (void)config;
    bl_buffer_text(out, "all");
}

static int labels_count_lines(const struct bl_labels_config *config, const struct bl_kind_env *env, const char *path,
                              int64_t *count, struct bl_error *e)
{
    struct bl_label_lines lines;
    int32_t label;
    bool found = true;
    int code = bl_label_lines_open(&lines, path, &config->names, env->cancel, e);
    if (code)
        return code;
    while (!code && found) {
        code = bl_label_lines_next(&lines, &label, &found, e);
        *count += !code && found;
    }
    if (!code && !*count)
        code = bl_error_set(e, BL_EDATA, "no labels");
    bl_label_lines_close(&lines);
    return code;
}

static int labels_count(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                        struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e)
{
    (void)counter;
    struct bl_error fault = {0};
    struct bl_row row = {.status = BL_ROW_OK, .stream = -1, .offset = -1};
    int code = labels_count_lines(config, env, chunk->input->path, &row.length, &fault);
    return bl_chunk_emit_row(emit, sink, &row, code, &fault, e);
}

static int labels_fields(const void *config, const struct bl_kind_env *env, const struct bl_row *row,
                         struct bl_fields *out, struct bl_error *e)
{
    (void)config, (void)env, (void)row, (void)e;
    *out = (struct bl_fields){.count = 1};
    out->field[0] = (struct bl_field){.name = "labels", .kind = "labels", .dtype = BL_I32};
    return BL_OK;
}

/* --- reading ---------------------------------------------------------------------------------------------------- */

struct bl_reader {
    const struct bl_labels_config *config;
    const struct bl_kind_env *env;
    struct bl_label_lines lines;
};

static int labels_open_reader(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                              struct bl_reader **reader, struct bl_error *e)
{
    (void)fields;
    struct bl_reader *r = calloc(1, sizeof *r);
    if (!r)
        return bl_error_memory(e);
    r->config = config;
    r->env = env;
    *reader = r;
    return BL_OK;
}

/* Reads to the end of the piece; if that ends the sequence, to the end of the file. */
static int labels_read_lines(struct bl_reader *r, const struct bl_request *request, struct bl_error *e)
{
    int64_t first = request->source_start, end = first + request->steps, line = 0;
    while (line < end || end == request->row.length) {
        int32_t label;
        bool found;
        int code = bl_label_lines_next(&r->lines, &label, &found, e);
        if (code)
            return code;
        if (!found)
            break;
        if (line >= first && line < end)
            memcpy(request->out[0] + (size_t)(line - first) * sizeof label, &label, sizeof label);
        line++;
    }
    if (line < end || (end == request->row.length && line > end))
        return bl_error_set(e, BL_EDATA, "the scan counted %" PRId64 " lines, there are %" PRId64, request->row.length,
                            line);
    return BL_OK;
}

static int labels_read_piece(struct bl_reader *r, const struct bl_request *request, struct bl_note *note,
                             struct bl_error *e)
{
    struct bl_input input = {.path = request->row.path};
    const char *unusable;
    note->text[0] = '\0';
    int code = bl_input_stat(&bl_kind_labels, &input, &unusable, e);
    if (code)
        return code;
    if (unusable || input.bytes != request->row.bytes)
        return bl_error_set(e, BL_EFAIL, "%s: changed since the scan", request->row.path);
    code = bl_label_lines_open(&r->lines, request->row.path, &r->config->names, r->env->cancel, e);
    if (!code)
        code = labels_read_lines(r, request, e);
    bl_label_lines_close(&r->lines);
    return code;
}

static void labels_close_reader(struct bl_reader *r)
{
    free(r);
}

static void labels_describe(const void *values, const struct bl_field *field, struct bl_buffer *out)
{
    (void)field;
    const struct bl_labels_config *config = values;
    bl_buffer_text(out, "one label a line");
    if (config->mapping)
        bl_buffer_printf(out, ", numbered by %s", bl_path_name(config->mapping));
}

static const struct bl_kind_scan labels_scan = {
    .sampling = labels_sampling,
    .count = labels_count,
};

static const struct bl_kind_read labels_read = {
    .memory = (int64_t)1 << 20,
    .fields = labels_fields,
    .open = labels_open_reader,
    .piece = labels_read_piece,
    .close = labels_close_reader,
    .describe = labels_describe,
};

const struct bl_kind bl_kind_labels = {
    .name = "labels",
    .title = "Labels",
    .steps = "lines",
    .extensions = extensions,
    .is_fallback = true,
    .options = {.table = options,
                .config_size = sizeof(struct bl_labels_config),
                .prepare = labels_prepare,
                .release = labels_release,
                .identify = labels_identify},
    .scan = &labels_scan,
    .read = &labels_read,
};
