#include "kind/labels/annotations.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/path.h"

#define BYTES_MAX ((size_t)1 << 30)
#define VALUES_MAX ((size_t)1 << 26) /* nine million annotations: a tree of 3 GB */

static int annotated_compare(const void *a, const void *b)
{
    return strcmp(((const struct bl_annotated *)a)->id, ((const struct bl_annotated *)b)->id);
}

/* Stores why the sequence is unusable; the first reason counts. */
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

static int annotation_compare_begin(const void *a, const void *b)
{
    double x = ((const struct bl_annotation *)a)->begin, y = ((const struct bl_annotation *)b)->begin;
    return (x > y) - (x < y);
}

static int annotated_count_overlaps(struct bl_annotated *sequence, struct bl_error *e)
{
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
    for (size_t i = 0; i < sequence->count; i++) {
        int code = annotation_parse(sequence, i, json_array_get(list, i), mapping, e);
        if (code)
            return code;
    }
    return sequence->fault ? BL_OK : annotated_count_overlaps(sequence, e);
}

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
        int code = annotated_parse(sequence, id, value, mapping, e);
        if (code)
            return code;
        all->overlaps += sequence->overlaps;
    }
    qsort(all->sequence, all->count, sizeof *all->sequence, annotated_compare);
    return BL_OK;
}

/* Jansson does not report out of memory: it rejects sound text, or has no code. Half a surrogate pair and NaN are sound
 * to our scanner, and not to Jansson. */
static int annotations_report_json(const struct bl_buffer *text, const json_error_t *wrong, const char *path,
                                   struct bl_error *e)
{
    struct bl_json_fault fault;
    enum json_error_code code = json_error_code(wrong);
    bool surrogate = strncmp(wrong->text, "invalid Unicode", 15) == 0;
    bool sound = bl_json_scan(text->data, text->size, NULL, 0, NULL, &fault) && !fault.not_finite;
    if (code <= json_error_out_of_memory || (code == json_error_invalid_syntax && !surrogate && sound))
        return bl_error_memory(e);
    return bl_error_set(e, BL_EUSAGE, "%s:%d:%d: not JSON: %s", path, wrong->line, wrong->column, wrong->text);
}

int bl_annotations_read(struct bl_annotations *all, const char *path, const struct bl_mapping *mapping,
                        struct bl_error *e)
{
    struct bl_buffer text = {0};
    json_t *root = NULL;
    json_error_t wrong;
    *all = (struct bl_annotations){0};
    int code = bl_mapping_load(path, BYTES_MAX, &text, &all->digest, e);
    if (code)
        goto out;
    if (bl_json_marks(text.data, text.size) > VALUES_MAX) {
        code = bl_error_set(e, BL_EUSAGE, "%s: more than %zu values", path, VALUES_MAX);
        goto out;
    }
    root = json_loadb(text.data, text.size, JSON_REJECT_DUPLICATES, &wrong);
    code = root ? annotations_parse(all, root, path, mapping, e) : annotations_report_json(&text, &wrong, path, e);
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

static const struct bl_annotated *annotations_find_id(const struct bl_annotations *all, char *id)
{
    struct bl_annotated wanted = {.id = id};
    return bsearch(&wanted, all->sequence, all->count, sizeof wanted, annotated_compare);
}

int bl_annotations_find(const struct bl_annotations *all, const char *id, const struct bl_annotated **found,
                        struct bl_error *e)
{
    char *name = strdup(id);
    if (!name)
        return bl_error_memory(e);
    char *last = name + (bl_path_name(name) - name);
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
