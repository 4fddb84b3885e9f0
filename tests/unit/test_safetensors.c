#include "store/safetensors.h"
#include "unit.h"

/* A file's head from JSON text, as long as that is; the data would follow. */
static void make_head(struct bl_buffer *head, const char *json)
{
    uint64_t n = strlen(json);
    bl_buffer_append(head, &n, sizeof n);
    bl_buffer_text(head, json);
}

/* Parses JSON as the header of a file with data_bytes of data. */
static int parse(const char *json, int64_t data_bytes, struct bl_safetensors *out, struct bl_error *e)
{
    OWNED(bl_buffer_free) struct bl_buffer head = {0};
    make_head(&head, json);
    int code = bl_safetensors_parse(head.data, head.size, (int64_t)head.size + data_bytes, out, e);
    return code;
}

UNIT_TEST(what_is_written_is_read_back)
{
    struct bl_tensor a = {.name = "a", .dtype = BL_I64, .rank = 2, .shape = {3, 5}};
    struct bl_tensor b = {.name = "b \"quoted\"", .dtype = BL_U8, .rank = 4, .shape = {2, 7, 1, 3}};
    struct bl_tensor scalar = {.name = "c", .dtype = BL_U8, .rank = 0};
    struct bl_tensor *all[] = {&a, &b, &scalar};
    const struct bl_metadata metadata[] = {{"one", "1"}, {"two", "\\ \""}};
    OWNED(bl_buffer_free) struct bl_buffer head = {0};
    struct bl_safetensors file;
    ck_assert_int_eq(bl_safetensors_place(all, 3, &e), 0);
    ck_assert_int_eq(bl_safetensors_header((const struct bl_tensor *const *)all, 3, metadata, 2, &head, &e), 0);
    ck_assert_uint_eq(head.size, BL_SAFETENSORS_ALIGN);
    ck_assert_int_eq(head.data[8], '{');
    ck_assert_int_eq(head.data[head.size - 1], ' ');
    int64_t size = (int64_t)head.size + 120 + 42 + 1, data;
    ck_assert_int_eq(bl_safetensors_prefix(head.data, size, &data, &e), 0);
    ck_assert_int_eq(data, (int64_t)head.size);
    ck_assert_msg(bl_safetensors_parse(head.data, head.size, size, &file, &e) == 0, "%s", e.text);
    ck_assert_int_eq(file.count, 3);
    ck_assert_int_eq(file.data, (int64_t)head.size);
    const struct bl_tensor *found = bl_safetensors_find(&file, b.name);
    ck_assert_ptr_nonnull(found);
    ck_assert_int_eq(found->dtype, BL_U8);
    ck_assert_int_eq(found->rank, 4);
    ck_assert_int_eq(found->shape[1], 7);
    ck_assert_int_eq(found->begin, 120);
    ck_assert_int_eq(found->end, 162);
    ck_assert_ptr_null(bl_safetensors_find(&file, "__metadata__"));
    bl_safetensors_free(&file);
}

UNIT_TEST(tensors_come_in_file_order)
{
    struct bl_safetensors file;
    ck_assert_msg(parse("{\"z\":{\"dtype\":\"I16\",\"shape\":[2],\"data_offsets\":[3,7]},"
                        "\"empty\":{\"dtype\":\"F64\",\"shape\":[0,9],\"data_offsets\":[3,3]},"
                        "\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]}}   ",
                        7, &file, &e) == BL_OK,
                  "%s", e.text);
    ck_assert_str_eq(file.tensor[0].name, "a");
    ck_assert_str_eq(file.tensor[1].name, "empty");
    ck_assert_str_eq(file.tensor[2].name, "z");
    bl_safetensors_free(&file);
}

/* Headers that must be refused, and a word of the reason. */
static const struct {
    const char *json;
    int64_t data_bytes;
    const char *reason;
} refused[] = {
    {"", 0, "not a JSON"},
    {"[]", 0, "not a JSON object"},
    {"{", 0, "not a JSON"},
    {"{\"a\":1}", 0, "dtype"},
    {"{\"a\":{\"dtype\":\"X9\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1, "dtype"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":1,\"data_offsets\":[0,1]}}", 1, "shape"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1],\"data_offsets\":[0,1]}}", 1, "shape"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[-1],\"data_offsets\":[0,1]}}", 1, "dimension"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1.0],\"data_offsets\":[0,1]}}", 1, "dimension"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", 1, "data_offsets"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1,2]}}", 1, "data_offsets"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,1]}}", 1, "do not fit"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,0]}}", 1, "do not fit"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[-1,0]}}", 1, "do not fit"},
    /* 2^62 * 4 * 4 elements overflow to 0 */
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4611686018427387904,4,4],\"data_offsets\":[0,0]}}", 0, "do not fit"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[99999999999999999999],\"data_offsets\":[0,0]}}", 0, "not a JSON"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}", 2, "begins at 1, not at 0"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
     "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}",
     3, "begins at 1, not at 2"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 2, "the file has 2"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}", 1, "the file has 1"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
     "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
     1, "not a JSON"},
    {"{\"a name that is longer than sixty-three bytes, which is the most that one has\":"
     "{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
     1, "name"},
};

UNIT_LOOP(a_header_that_breaks_a_rule_is_refused, COUNT(refused))
{
    struct bl_safetensors file;
    FAILS_WITH(parse(refused[_i].json, refused[_i].data_bytes, &file, &e), BL_EDATA, refused[_i].reason);
    ck_assert_ptr_null(file.tensor);
}

UNIT_TEST(sizes_are_checked_before_they_are_used)
{
    int64_t data;
    uint64_t n = UINT64_MAX - 7; /* 8 + n overflows to 0 */
    ck_assert_int_eq(bl_safetensors_prefix(&n, INT64_MAX, &data, &e), BL_EDATA);
    bl_error_clear(&e);
    n = (uint64_t)BL_SAFETENSORS_HEADER_MAX + 1;
    ck_assert_int_eq(bl_safetensors_prefix(&n, INT64_MAX, &data, &e), BL_EDATA);
    bl_error_clear(&e);
    n = 100;
    ck_assert_int_eq(bl_safetensors_prefix(&n, 107, &data, &e), BL_EDATA);
    bl_error_clear(&e);
    ck_assert_int_eq(bl_safetensors_prefix(&n, 108, &data, &e), 0);
    ck_assert_int_eq(data, 108);
    struct bl_safetensors file;
    ck_assert_int_eq(bl_safetensors_parse("1234567", 7, 7, &file, &e), BL_EDATA);
}

UNIT_TEST(a_file_too_large_for_offsets_is_refused)
{
    struct bl_tensor a = {.name = "a", .dtype = BL_U8, .rank = 1, .shape = {INT64_MAX / 2 - 1}};
    struct bl_tensor b = {.name = "b", .dtype = BL_U8, .rank = 1, .shape = {2}};
    struct bl_tensor *all[] = {&a, &b};
    ck_assert_int_eq(bl_safetensors_place(all, 1, &e), 0);
    ck_assert_int_eq(bl_safetensors_place(all, 2, &e), BL_EUSAGE);
}
