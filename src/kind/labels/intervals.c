/* The kind "intervals": labels of periods of time, put on the steps of another kind's sequences.
 *
 * The annotations of all sequences are in one JSON file, which is read once, when the options are prepared. The kind
 * has no files of its own and no lengths: it follows the steps of the first field (struct bl_kind_follow), from which
 * it gets the number or the time of each step. A step has the label of the interval in which it begins: with the
 * interval [2.0, 4.5) and 2 steps per second, the steps 4 to 8 have its label. */
#include "kind/labels/intervals.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/json.h"

enum bl_intervals_unit { BL_INTERVALS_SECONDS, BL_INTERVALS_STEPS };

struct bl_intervals_config {
    const char *annotations, *mapping; /* files */
    int unit;                          /* enum bl_intervals_unit: what the numbers of a segment are */
    struct bl_rational rate;           /* steps per second; den 0: that of the sequences */
    bool multi;                        /* a number for each label, 0 or 1, instead of one label */
    int64_t background;                /* the label of steps in no interval */
    /* Set by prepare: */
    struct bl_mapping names;
    struct bl_annotations all;
    int64_t classes; /* the largest label + 1 */
};

extern const struct bl_kind bl_kind_intervals;

/* --- annotations -------------------------------------------------------------------------------------------------- */

/* The file has the format of ActivityNet; other members are ignored:
 *
 *     {"database": {"ID": {"annotations": [{"segment": [BEGIN, END], "label": "NAME"}, ...]}, ...}}
 *
 * A fault in the annotations of a sequence makes that sequence unusable, and is reported only if the sequence is an
 * input. A fault of the file's structure is an error. */

#define BYTES_MAX ((size_t)1 << 30)
#define VALUES_MAX ((size_t)1 << 26) /* nine million annotations: a tree of 3 GB */

/* Orders sequences by id, for qsort and bsearch. */
static int annotated_compare(const void *a, const void *b)
{
    return strcmp(((const struct bl_annotated *)a)->id, ((const struct bl_annotated *)b)->id);
}

/* Stores why the sequence is unusable, unless an earlier annotation has a fault: `annotation 3: "NAME" WHAT`. number
 * counts from 0. BL_EFAIL: out of memory. */
static int annotated_set_fault(struct bl_annotated *sequence, size_t number, const char *what, const char *name,
                               struct bl_error *e)
{
    struct bl_buffer text = {0};
    if (sequence->fault)
        return BL_OK;
    bl_buffer_printf(&text, "annotation %zu: ", number + 1);
    if (name)
        bl_buffer_printf(&text, "\"%.60s\" ", name);
    bl_buffer_text(&text, what);
    if (bl_buffer_check(&text, e)) {
        bl_buffer_free(&text);
        return BL_EFAIL;
    }
    sequence->fault = text.data;
    return BL_OK;
}

/* Parses annotation i of the sequence. The segment may be empty, so that it labels no step. */
static int annotation_parse(struct bl_annotated *sequence, size_t i, const json_t *json,
                            const struct bl_mapping *mapping, struct bl_error *e)
{
    struct bl_annotation *a = &sequence->annotation[i];
    const json_t *segment = json_object_get(json, "segment");
    const json_t *begin = json_array_get(segment, 0), *end = json_array_get(segment, 1);
    const char *label = json_string_value(json_object_get(json, "label"));
    if (json_array_size(segment) != 2 || !json_is_number(begin) || !json_is_number(end))
        return annotated_set_fault(sequence, i, "no \"segment\" of two numbers", NULL, e);
    *a = (struct bl_annotation){json_number_value(begin), json_number_value(end), -1};
    if (!(a->begin <= a->end))
        return annotated_set_fault(sequence, i, "a segment that ends before it begins", NULL, e);
    if (!label)
        return annotated_set_fault(sequence, i, "no \"label\"", NULL, e);
    a->label = bl_mapping_find(mapping, label);
    if (a->label < 0)
        return annotated_set_fault(sequence, i, "is not in the mapping", label, e);
    return BL_OK;
}

/* Orders annotations by their begin. */
static int annotation_compare_begin(const void *a, const void *b)
{
    double x = ((const struct bl_annotation *)a)->begin, y = ((const struct bl_annotation *)b)->begin;
    return (x > y) - (x < y);
}

/* Parses the annotations of a sequence, and counts those that overlap an earlier one. */
static int annotated_parse(struct bl_annotated *sequence, const char *id, const json_t *json,
                           const struct bl_mapping *mapping, struct bl_error *e)
{
    const json_t *list = json_object_get(json, "annotations");
    sequence->id = strdup(id);
    sequence->count = json_array_size(list);
    sequence->annotation = calloc(sequence->count + 1, sizeof *sequence->annotation);
    if (!sequence->id || !sequence->annotation)
        return bl_error_memory(e);
    if (!json_is_array(list)) {
        sequence->fault = strdup("no list \"annotations\"");
        return sequence->fault ? BL_OK : bl_error_memory(e);
    }
    for (size_t i = 0; i < sequence->count; i++)
        BL_TRY(annotation_parse(sequence, i, json_array_get(list, i), mapping, e));
    if (sequence->fault)
        return BL_OK;
    /* The order in the file decides which of two labels applies, so a copy is sorted. */
    struct bl_annotation *sorted = calloc(sequence->count + 1, sizeof *sorted);
    if (!sorted)
        return bl_error_memory(e);
    memcpy(sorted, sequence->annotation, sequence->count * sizeof *sorted);
    qsort(sorted, sequence->count, sizeof *sorted, annotation_compare_begin);
    double end = -INFINITY;
    for (size_t i = 0; i < sequence->count; i++) {
        sequence->overlaps += sorted[i].begin < end;
        end = fmax(end, sorted[i].end);
    }
    free(sorted);
    return BL_OK;
}

/* Parses the tree, and sorts the sequences by id. all->count counts a sequence before it is complete, so that
 * bl_annotations_free frees it after an error. */
static int annotations_parse(struct bl_annotations *all, json_t *root, const char *path,
                             const struct bl_mapping *mapping, struct bl_error *e)
{
    json_t *database = json_object_get(root, "database"), *value;
    const char *id;
    if (!json_is_object(database))
        return bl_error_set(e, BL_EUSAGE, "%s has no object \"database\"", path);
    all->sequence = calloc(json_object_size(database) + 1, sizeof *all->sequence);
    if (!all->sequence)
        return bl_error_memory(e);
    json_object_foreach(database, id, value)
    {
        struct bl_annotated *sequence = &all->sequence[all->count++];
        BL_TRY(annotated_parse(sequence, id, value, mapping, e));
        all->overlaps += sequence->overlaps;
    }
    qsort(all->sequence, all->count, sizeof *all->sequence, annotated_compare);
    return BL_OK;
}

int bl_annotations_read(struct bl_annotations *all, const char *path, const struct bl_mapping *mapping,
                        struct bl_error *e)
{
    struct bl_buffer text = {0};
    json_t *root = NULL;
    json_error_t wrong;
    *all = (struct bl_annotations){0};
    int code = bl_mapping_load(path, BYTES_MAX, &text, &all->digest, e);
    if (!code && bl_json_marks(text.data, text.size) > VALUES_MAX)
        code = bl_error_set(e, BL_EUSAGE, "%s: more than %zu values", path, VALUES_MAX);
    if (code)
        goto out;
    root = json_loadb(text.data, text.size, JSON_REJECT_DUPLICATES, &wrong);
    if (root) {
        code = annotations_parse(all, root, path, mapping, e);
        goto out;
    }
    /* Jansson does not report that memory ran out: it rejects sound text, or has no code. Half a surrogate pair and NaN
     * are sound to our scanner, and not to Jansson. */
    struct bl_json_fault fault;
    enum json_error_code reason = json_error_code(&wrong);
    bool surrogate = strncmp(wrong.text, "invalid Unicode", 15) == 0;
    bool sound = bl_json_scan(text.data, text.size, NULL, 0, NULL, &fault) && !fault.not_finite;
    code = reason <= json_error_out_of_memory || (reason == json_error_invalid_syntax && !surrogate && sound)
               ? bl_error_memory(e)
               : bl_error_set(e, BL_EUSAGE, "%s:%d:%d: not JSON: %s", path, wrong.line, wrong.column, wrong.text);
out:
    json_decref(root);
    bl_buffer_free(&text);
    return code;
}

void bl_annotations_free(struct bl_annotations *all)
{
    for (size_t i = 0; i < all->count; i++) {
        free(all->sequence[i].id);
        free(all->sequence[i].fault);
        free(all->sequence[i].annotation);
    }
    free(all->sequence);
    *all = (struct bl_annotations){0};
}

/* Returns the sequence with exactly this id, or NULL. */
static const struct bl_annotated *annotations_find_id(const struct bl_annotations *all, char *id)
{
    struct bl_annotated wanted = {.id = id};
    return bsearch(&wanted, all->sequence, all->count, sizeof wanted, annotated_compare);
}

int bl_annotations_find(const struct bl_annotations *all, const char *id, const struct bl_annotated **found,
                        struct bl_error *e)
{
    char *name = strdup(id); /* cut below, where the extension begins */
    if (!name)
        return bl_error_memory(e);
    char *last = name + (bl_path_name(name) - name); /* without folders */
    *found = annotations_find_id(all, name);
    name[bl_path_stem(name)] = '\0';
    if (!*found)
        *found = annotations_find_id(all, name);
    if (!*found)
        *found = annotations_find_id(all, last);
    if (!*found && strncmp(last, "v_", 2) == 0)
        *found = annotations_find_id(all, last + 2);
    free(name);
    return BL_OK;
}

/* --- kind --------------------------------------------------------------------------------------------------------- */

static const char *const extensions[] = {NULL}; /* no file is of this kind by its name */
static const char *const units[] = {"seconds", "steps", NULL};

/* Fields have no flags, so the options have no help texts. */
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

/* Checks the options before any file is read. BL_EUSAGE. */
static int intervals_check(const void *values, struct bl_error *e)
{
    const struct bl_intervals_config *config = values;
    if (!config->annotations || !config->mapping)
        return bl_error_set(e, BL_EUSAGE, "intervals need %s: FILE", config->annotations ? "mapping" : "annotations");
    if (config->unit == BL_INTERVALS_STEPS && config->rate.den)
        return bl_error_set(e, BL_EUSAGE, "intervals in steps need no rate");
    return BL_OK;
}

/* Reads both files. The digests of the files, and not their names alone, identify a dataset. */
static int intervals_prepare(void *values, struct bl_buffer *warning, struct bl_error *e)
{
    struct bl_intervals_config *config = values;
    BL_TRY(bl_mapping_read(&config->names, config->mapping, e));
    BL_TRY(bl_annotations_read(&config->all, config->annotations, &config->names, e));
    for (size_t i = 0; i < config->names.count; i++) { /* multi has a number for each label up to the largest */
        int64_t classes = (int64_t)config->names.label[i].number + 1;
        if (classes > config->classes)
            config->classes = classes;
    }
    if (config->all.overlaps && !config->multi)
        bl_buffer_printf(
            warning,
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

/* The digests make a dataset another one if a file has changed, whatever its name is. */
static void intervals_identify(const void *values, struct bl_buffer *out)
{
    const struct bl_intervals_config *config = values;
    bl_buffer_printf(out, "annotations digest: %016" PRIx64 "\nmapping digest: %016" PRIx64 "\n", config->all.digest,
                     config->names.digest);
}

/* Each row has the number of its annotations, and how many of them overlap an earlier one. */
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

/* Times of steps are the best source: frames of a video need not be evenly spaced. With a rate, the number of a step
 * gives its time. */
static enum bl_follow_needs intervals_needs(const void *values)
{
    const struct bl_intervals_config *config = values;
    if (config->unit == BL_INTERVALS_STEPS)
        return BL_FOLLOW_STEPS;
    return config->rate.den ? BL_FOLLOW_NUMBERS : BL_FOLLOW_TIMES;
}

/* Returns BL_EDATA if there are no usable annotations of a sequence. */
static int intervals_check_found(const struct bl_intervals_config *config, const struct bl_annotated *found,
                                 struct bl_error *e)
{
    if (!found)
        return bl_error_set(e, BL_EDATA, "%s has no entry for it", config->annotations);
    return found->fault ? bl_error_set(e, BL_EDATA, "%s: %s", config->annotations, found->fault) : BL_OK;
}

/* Reports whether there are annotations of the input, and how many. The length is the other kind's. */
static int intervals_count(const void *values, const struct bl_kind_env *env, struct bl_counter *counter,
                           struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e)
{
    (void)env, (void)counter;
    const struct bl_intervals_config *config = values;
    const struct bl_annotated *found;
    struct bl_row row = {.status = BL_ROW_OK, .reason = "", .stream = -1, .offset = -1};
    struct bl_error fault = {0};
    char extra[64];
    BL_TRY(bl_annotations_find(&config->all, chunk->input->id, &found, e));
    int code = intervals_check_found(config, found, &fault);
    if (!code)
        snprintf(extra, sizeof extra, "\t%zu\t%zu", found->count, found->overlaps);
    row.extra = extra;
    return bl_chunk_emit_row(emit, sink, &row, code, &fault, e);
}

/* The field has one number a step, or with multi one number for each label. */
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

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* A reader has no state: the annotations are in the options. */
struct intervals_reader {
    struct bl_reader base;
    const struct bl_intervals_config *config;
};

/* Writes the label of a step that begins at `begin`, in the unit of the intervals. If several intervals hold the step,
 * the last one in the file applies; with multi all do. */
static void intervals_label_step(const struct bl_intervals_config *config, const struct bl_annotated *a, double begin,
                                 uint8_t *out)
{
    int32_t label = (int32_t)config->background; /* with multi, a step without a label is all zeros instead */
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

/* Labels the steps of a piece. The times of the steps come from the first field, by the request. */
static int intervals_reader_piece(struct bl_reader *reader, const struct bl_request *request, struct bl_note *note,
                                  struct bl_error *e)
{
    const struct bl_intervals_config *config = ((struct intervals_reader *)reader)->config;
    const struct bl_annotated *found;
    /* The annotations are found again for each piece: a search among all sequences takes microseconds. */
    size_t size = config->multi ? (size_t)config->classes : sizeof(int32_t);
    note->text[0] = '\0';
    BL_TRY(bl_annotations_find(&config->all, request->row.id, &found, e));
    BL_TRY(intervals_check_found(config, found, e));
    for (int64_t i = 0; i < request->steps; i++) {
        double begin = config->unit == BL_INTERVALS_STEPS
                           ? (double)(request->source_start + i)
                           : bl_kind_step_time(&config->rate, request->times, request->source_start, i);
        intervals_label_step(config, found, begin, request->out[0] + (size_t)i * size);
    }
    return BL_OK;
}

static void intervals_reader_close(struct bl_reader *reader)
{
    free(reader);
}

static int intervals_reader_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                                 struct bl_reader **reader, struct bl_error *e)
{
    (void)env, (void)fields;
    struct intervals_reader *r = calloc(1, sizeof *r);
    if (!r)
        return bl_error_memory(e);
    *r = (struct intervals_reader){{intervals_reader_piece, intervals_reader_close}, config};
    *reader = &r->base;
    return BL_OK;
}

/* Appends, for example, "labels of intervals in seconds, of activitynet.json". */
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
    .open = intervals_reader_open,
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
                .identify = intervals_identify},
    .scan = &intervals_scan,
    .read = &intervals_read,
    .follow = &intervals_follow,
};
