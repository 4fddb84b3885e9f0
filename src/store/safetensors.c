/* The safetensors container: making headers and parsing them. A header is JSON in one line, for example
 *
 *   {"__metadata__": {"bload_format": "1"}, "tokens": {"dtype": "U16", "shape": [4, 128], "data_offsets": [0, 1024]}}
 *
 * where data_offsets count from the end of the header. Python's safetensors maps such a file without a copy, so that
 * the order of tensors is chosen for alignment: large elements come first. */
#include "store/safetensors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "store/plan_info.h"

int64_t bl_tensor_bytes(const struct bl_tensor *tensor)
{
    int64_t bytes = (int64_t)bl_dtype_size(tensor->dtype);
    for (int i = 0; i < tensor->rank; i++) {
        if (tensor->shape[i] < 0 || __builtin_mul_overflow(bytes, tensor->shape[i], &bytes))
            return -1;
    }
    return bytes;
}

int bl_safetensors_place(struct bl_tensor *const tensor[], int count, struct bl_error *e)
{
    int64_t at = 0;
    for (int i = 0; i < count; i++) {
        int64_t bytes = bl_tensor_bytes(tensor[i]);
        tensor[i]->begin = at;
        /* Half of the range is kept free for the header, and for sums of callers. */
        if (bytes < 0 || __builtin_add_overflow(at, bytes, &at) || at > INT64_MAX / 2)
            return bl_error_set(e, BL_EUSAGE, "the file would be too large: tensor \"%s\"", tensor[i]->name);
        tensor[i]->end = at;
    }
    return BL_OK;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

int bl_safetensors_header(const struct bl_tensor *const tensor[], int count, const struct bl_metadata *metadata,
                          int pairs, struct bl_buffer *out, struct bl_error *e)
{
    struct bl_buffer text = {0};
    json_t *header = json_object(), *extra = json_object();
    for (int i = 0; i < pairs; i++)
        bl_jansson_set(&extra, metadata[i].name, json_string(metadata[i].value));
    bl_jansson_set(&header, "__metadata__", extra);
    for (int i = 0; i < count; i++) {
        json_t *shape = json_array();
        for (int d = 0; d < tensor[i]->rank; d++)
            bl_jansson_push(&shape, json_integer(tensor[i]->shape[d]));
        bl_jansson_set(&header, tensor[i]->name,
                       json_pack("{s:s, s:o, s:[I, I]}", "dtype", bl_dtype_name(tensor[i]->dtype), "shape", shape,
                                 "data_offsets", (json_int_t)tensor[i]->begin, (json_int_t)tensor[i]->end));
    }
    int code = bl_jansson_append_compact(header, &text, e);
    if (code)
        goto out;
    size_t used = BL_SAFETENSORS_PREFIX + text.size;
    size_t padding = (BL_SAFETENSORS_ALIGN - used % BL_SAFETENSORS_ALIGN) % BL_SAFETENSORS_ALIGN;
    /* n counts the spaces: readers take everything up to the data as JSON. */
    uint64_t n = used - BL_SAFETENSORS_PREFIX + padding;
    bl_buffer_append(out, &n, sizeof n);
    bl_buffer_append(out, text.data, text.size);
    for (size_t i = 0; i < padding; i++)
        bl_buffer_byte(out, ' ');
    code = bl_buffer_check(out, e);
out:
    bl_buffer_free(&text);
    return code;
}

int bl_safetensors_pad(struct bl_buffer *header, size_t size, struct bl_error *e)
{
    uint64_t n = size - BL_SAFETENSORS_PREFIX;
    while (header->size < size && !header->failed)
        bl_buffer_byte(header, ' ');
    BL_TRY(bl_buffer_check(header, e));
    memcpy(header->data, &n, sizeof n);
    return BL_OK;
}

/* --- parsing ------------------------------------------------------------------------------------------------------ */

int bl_safetensors_prefix(const void *prefix, int64_t file_size, int64_t *data, struct bl_error *e)
{
    uint64_t n;
    memcpy(&n, prefix, sizeof n);
    if (n > (uint64_t)BL_SAFETENSORS_HEADER_MAX)
        return bl_error_set(e, BL_EDATA,
                            "a header of %" PRIu64 " bytes exceeds the limit of the format: not a safetensors file", n);
    *data = BL_SAFETENSORS_PREFIX + (int64_t)n;
    if (*data > file_size)
        return bl_error_set(e, BL_EDATA, "the header (%" PRIu64 " bytes) extends beyond the end of the file", n);
    return BL_OK;
}

/* Parses the entry of one tensor. BL_EDATA: it is invalid, or its offsets do not fit its type and shape. */
static int tensor_parse(const char *name, json_t *entry, struct bl_tensor *out, struct bl_error *e)
{
    if (strlen(name) >= sizeof out->name)
        return bl_error_set(e, BL_EDATA, "a tensor's name is longer than %zu bytes", sizeof out->name - 1);
    strcpy(out->name, name);
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    int type = dtype ? bl_dtype_parse(dtype) : -1;
    if (type < 0)
        return bl_error_set(e, BL_EDATA, "tensor \"%s\": unknown dtype", name);
    out->dtype = (enum bl_dtype)type;
    const json_t *shape = json_object_get(entry, "shape"), *offsets = json_object_get(entry, "data_offsets");
    if (!json_is_array(shape) || json_array_size(shape) > BL_TENSOR_RANK_MAX)
        return bl_error_set(e, BL_EDATA, "tensor \"%s\": shape is not a list of at most %d numbers", out->name,
                            BL_TENSOR_RANK_MAX);
    out->rank = (int)json_array_size(shape);
    for (int i = 0; i < out->rank; i++) {
        const json_t *dimension = json_array_get(shape, (size_t)i);
        if (!json_is_integer(dimension) || json_integer_value(dimension) < 0)
            return bl_error_set(e, BL_EDATA, "tensor \"%s\": dimension %d is not a size", out->name, i);
        out->shape[i] = json_integer_value(dimension);
    }
    const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end))
        return bl_error_set(e, BL_EDATA, "tensor \"%s\": data_offsets are not two numbers", name);
    out->begin = json_integer_value(begin);
    out->end = json_integer_value(end);
    int64_t bytes = bl_tensor_bytes(out);
    if (bytes < 0 || out->begin < 0 || out->end < out->begin || out->end - out->begin != bytes)
        return bl_error_set(e, BL_EDATA, "tensor \"%s\": data_offsets do not fit type and shape", name);
    return BL_OK;
}

/* Orders tensors for qsort as they lie in the file; an empty tensor comes before the one that begins at its place. */
static int tensor_compare_begin(const void *a, const void *b)
{
    const struct bl_tensor *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

/* Parses all tensors, and sorts them by their offsets. Then checks that they fill the data without gaps or overlaps:
 * each tensor begins where the one before it ends, and the last one ends at the end of the file. */
static int safetensors_parse_entries(json_t *header, int64_t file_size, struct bl_safetensors *out, struct bl_error *e)
{
    out->tensor = calloc(json_object_size(header) + 1, sizeof *out->tensor);
    if (!out->tensor)
        return bl_error_memory(e);
    const char *name;
    json_t *entry;
    json_object_foreach(header, name, entry)
    {
        if (strcmp(name, "__metadata__") == 0)
            continue;
        BL_TRY(tensor_parse(name, entry, &out->tensor[out->count], e));
        out->count++;
    }
    qsort(out->tensor, (size_t)out->count, sizeof *out->tensor, tensor_compare_begin);
    int64_t at = 0;
    for (int i = 0; i < out->count; i++) {
        if (out->tensor[i].begin != at)
            return bl_error_set(e, BL_EDATA, "tensor \"%s\" begins at %" PRId64 ", not at %" PRId64,
                                out->tensor[i].name, out->tensor[i].begin, at);
        at = out->tensor[i].end;
    }
    if (at != file_size - out->data)
        return bl_error_set(e, BL_EDATA,
                            "the tensors have %" PRId64 " bytes, the file has %" PRId64 " after its header", at,
                            file_size - out->data);
    return BL_OK;
}

int bl_safetensors_parse(const char *head, size_t size, int64_t file_size, struct bl_safetensors *out,
                         struct bl_error *e)
{
    *out = (struct bl_safetensors){0};
    if (size < BL_SAFETENSORS_PREFIX)
        return bl_error_set(e, BL_EDATA, "too short for a safetensors file");
    BL_TRY(bl_safetensors_prefix(head, file_size, &out->data, e));
    if (out->data != (int64_t)size)
        return bl_error_set(e, BL_EDATA, "the size of the header differs from its first 8 bytes");
    json_error_t why;
    if (bl_json_marks(head + BL_SAFETENSORS_PREFIX, size - BL_SAFETENSORS_PREFIX) > BL_JSON_VALUES_MAX)
        return bl_error_set(e, BL_EDATA, "more than %zu values in the header", BL_JSON_VALUES_MAX);
    json_t *header =
        json_loadb(head + BL_SAFETENSORS_PREFIX, size - BL_SAFETENSORS_PREFIX, JSON_REJECT_DUPLICATES, &why);
    int code = BL_OK;
    if (json_is_object(header))
        code = safetensors_parse_entries(header, file_size, out, e);
    else
        code = bl_error_set(e, BL_EDATA, "the header is not a JSON object: %s", header ? "another value" : why.text);
    json_decref(header);
    if (code)
        bl_safetensors_free(out);
    return code;
}

const struct bl_tensor *bl_safetensors_find(const struct bl_safetensors *file, const char *name)
{
    for (int i = 0; i < file->count; i++) {
        if (strcmp(file->tensor[i].name, name) == 0)
            return &file->tensor[i];
    }
    return NULL;
}

void bl_safetensors_free(struct bl_safetensors *file)
{
    free(file->tensor);
    *file = (struct bl_safetensors){0};
}
