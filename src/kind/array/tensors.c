/* The header of a safetensors file: its size in 8 bytes, little-endian, then JSON with an entry for each tensor, such
 * as
 *
 *     {"x": {"dtype": "F32", "shape": [100, 512], "data_offsets": [0, 204800]}, "__metadata__": {"format": "pt"}}
 *
 * Offsets count from the end of the header. Source: https://github.com/huggingface/safetensors, README, "Format". The
 * format has no magic number, so that the name of the file counts, or the brace behind the size.
 *
 * store/safetensors.c parses the headers of bload's own shards: it checks all tensors, and limits their names and
 * ranks. Here one tensor of a file is wanted, and the others may have types and shapes that no field has. */
#include "kind/array/tensors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/archive.h"
#include "base/fs.h"
#include "base/io.h"
#include "base/json.h"
#include "kind/array/choice.h"

#define PREFIX 8                      /* bytes of the header's size */
#define HEADER_MAX INT64_C(100000000) /* bytes; the limit of the released readers */

bool bl_tensors_are(const char *path, const uint8_t *head, size_t size)
{
    char file[PATH_MAX];
    const char *name = bl_member_file(path, file);
    /* The header of a file of more than 4 GiB has less, so that the upper bytes of its size are zeros. */
    bool looks = size > PREFIX && head[PREFIX] == '{' && memcmp(head + 4, "\0\0\0\0", 4) == 0;
    return looks || (name && size >= PREFIX && bl_path_has_suffix(name, ".safetensors"));
}

/* A header in memory. */
struct tensors_header {
    char *text; /* owned */
    size_t size;
    int64_t data;  /* offset of the first tensor in the file */
    int64_t bytes; /* of the file */
};

/* Reads the header, and checks that it is one object. The caller frees header->text, also after an error. */
static int tensors_read_header(struct tensors_header *header, const struct bl_input_file *input, int64_t bytes,
                               const char *path, struct bl_json_value *all, struct bl_error *e)
{
    uint8_t prefix[PREFIX];
    struct bl_json_fault fault;
    uint64_t size = 0;
    *header = (struct tensors_header){.bytes = bytes};
    if (bytes < PREFIX)
        return bl_error_set(e, BL_EDATA, "truncated: %" PRId64 " bytes are no safetensors file", bytes);
    BL_TRY(bl_input_file_get(input, prefix, sizeof prefix, 0, path, e));
    for (int i = PREFIX - 1; i >= 0; i--)
        size = size << 8 | prefix[i];
    if (size > (uint64_t)HEADER_MAX)
        return bl_error_set(e, BL_EDATA, "no safetensors file: a header of %" PRIu64 " bytes", size);
    if ((int64_t)size > bytes - PREFIX)
        return bl_error_set(e, BL_EDATA, "truncated: the header has %" PRIu64 " bytes, and %" PRId64 " are there", size,
                            bytes - PREFIX);
    header->size = (size_t)size;
    header->data = PREFIX + (int64_t)size;
    header->text = malloc(header->size + 1);
    if (!header->text)
        return bl_error_memory(e);
    BL_TRY(bl_input_file_get(input, header->text, header->size, PREFIX, path, e));
    if (!bl_json_scan_value(header->text, header->size, all, &fault))
        return bl_error_set(e, BL_EDATA, "damaged safetensors header: %s at byte %zu of the file", fault.what,
                            PREFIX + fault.at);
    if (all->type != BL_JSON_OBJECT)
        return bl_error_set(e, BL_EDATA, "damaged safetensors header: it is %s", bl_json_type_name(all->type));
    return BL_OK;
}

/* Sets the next entry that is a tensor, and its name with escapes decoded. False: there is none. */
static bool tensors_next(const struct bl_json_value *all, size_t *at, struct bl_buffer *plain,
                         struct bl_json_value *name, struct bl_json_value *tensor)
{
    struct bl_json_value key;
    while (bl_json_next_member(all, at, &key, tensor)) {
        bl_buffer_clear(plain);
        if (!bl_json_text(&key, plain, name))
            *name = key;
        if (name->size != 12 || memcmp(name->text, "__metadata__", 12) != 0)
            return true;
    }
    return false;
}

/* --- one tensor --------------------------------------------------------------------------------------------------- */

/* Sets the type of the elements. */
static int tensor_set_type(struct bl_npy *npy, const struct bl_json_value *value, struct bl_error *e)
{
    char name[16] = "";
    if (value->type == BL_JSON_STRING && value->size < sizeof name)
        memcpy(name, value->text, value->size);
    int type = bl_dtype_parse(name);
    if (type < 0)
        return bl_error_set(e, BL_EDATA, "elements of type %.*s: BOOL, integers, F16, BF16, F32 and F64 can be read",
                            (int)(value->size < 32 ? value->size : 32), value->type ? value->text : "");
    npy->dtype = (enum bl_dtype)type;
    return BL_OK;
}

/* Sets rank, shape and bytes. The product is checked before each multiplication. */
static int tensor_set_shape(struct bl_npy *npy, const struct bl_json_value *value, struct bl_error *e)
{
    int64_t size, bytes = (int64_t)bl_dtype_size(npy->dtype);
    size_t at = 0;
    bool fits = value->type == BL_JSON_ARRAY, found = fits, empty = false;
    while (fits && found) {
        fits = bl_json_next_int(value, &at, &size, &found) == BL_OK;
        if (!fits || !found)
            break;
        /* An empty axis makes an empty array; the product of the others must fit nevertheless. */
        fits = size >= 0 && npy->rank < BL_NPY_RANK_MAX && (!size || bytes <= INT64_MAX / size);
        if (!fits)
            break;
        npy->shape[npy->rank++] = size;
        empty |= !size;
        bytes *= size ? size : 1;
    }
    npy->bytes = empty ? 0 : bytes;
    return fits ? BL_OK : bl_error_set(e, BL_EDATA, "damaged safetensors header: an impossible shape");
}

/* Sets where the tensor begins, and compares its size with the shape and with the file. */
static int tensor_set_place(struct bl_npy *npy, const struct bl_json_value *value, const struct tensors_header *header,
                            struct bl_error *e)
{
    int64_t place[2] = {-1, -1}, there = header->bytes - header->data;
    size_t at = 0;
    bool found = value->type == BL_JSON_ARRAY;
    for (int i = 0; i < 2 && found; i++) {
        if (bl_json_next_int(value, &at, &place[i], &found))
            found = false;
    }
    if (!found || place[0] < 0 || place[1] < place[0] || place[1] - place[0] != npy->bytes)
        return bl_error_set(e, BL_EDATA, "damaged safetensors header: the offsets do not fit %" PRId64 " bytes",
                            npy->bytes);
    if (place[1] > there)
        return bl_error_set(e, BL_EDATA,
                            "truncated: the tensor ends at byte %" PRId64 " of the data, %" PRId64 " are there",
                            place[1], there);
    npy->begin = header->data + place[0];
    return BL_OK;
}

static int tensors_parse_entry(struct bl_npy *npy, const struct bl_json_value *tensor,
                               const struct tensors_header *header, struct bl_error *e)
{
    struct bl_json_value name, value, dtype = {0}, shape = {0}, place = {0};
    size_t at = 0;
    *npy = (struct bl_npy){0};
    while (tensor->type == BL_JSON_OBJECT && bl_json_next_member(tensor, &at, &name, &value)) {
        if (name.size == 5 && memcmp(name.text, "dtype", 5) == 0)
            dtype = value;
        else if (name.size == 5 && memcmp(name.text, "shape", 5) == 0)
            shape = value;
        else if (name.size == 12 && memcmp(name.text, "data_offsets", 12) == 0)
            place = value;
    }
    BL_TRY(tensor_set_type(npy, &dtype, e));
    BL_TRY(tensor_set_shape(npy, &shape, e));
    return tensor_set_place(npy, &place, header, e);
}

int bl_tensors_find(const struct bl_input_file *input, int64_t bytes, const char *path, const char *name,
                    struct bl_npy *npy, struct bl_error *e)
{
    struct bl_array_choice choice = {
        .name = name, .is_pattern = bl_array_name_is_pattern(name), .one = "a safetensors file", .file = "the file"};
    struct tensors_header header;
    struct bl_json_value all, key, tensor, chosen = {0};
    struct bl_buffer plain = {0};
    size_t at = 0;
    int code = tensors_read_header(&header, input, bytes, path, &all, e);
    while (!code && tensors_next(&all, &at, &plain, &key, &tensor)) {
        if (bl_array_choice_offer(&choice, key.text, key.size))
            chosen = tensor;
    }
    if (!code)
        code = plain.failed ? bl_error_memory(e) : bl_array_choice_check(&choice, e);
    if (!code)
        code = tensors_parse_entry(npy, &chosen, &header, e);
    bl_array_choice_free(&choice);
    bl_buffer_free(&plain);
    free(header.text);
    return code;
}

int bl_tensors_list(const struct bl_input_file *input, int64_t bytes, const char *path, bl_array_take *take, void *sink,
                    struct bl_error *e)
{
    struct tensors_header header;
    struct bl_json_value all, key, tensor;
    struct bl_buffer plain = {0}, name = {0};
    size_t at = 0;
    int code = tensors_read_header(&header, input, bytes, path, &all, e);
    while (!code && tensors_next(&all, &at, &plain, &key, &tensor)) {
        bl_buffer_clear(&name);
        bl_buffer_append(&name, key.text, key.size);
        code = bl_buffer_check(&name, e);
        if (!code)
            code = take(sink, name.size ? name.data : "", e);
    }
    if (!code && plain.failed)
        code = bl_error_memory(e);
    bl_buffer_free(&plain);
    bl_buffer_free(&name);
    free(header.text);
    return code;
}
