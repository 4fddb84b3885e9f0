#include "store/attribute_values.h"

#include <math.h>

#include "base/output.h"
#include "store/sequences.h"
#include "unit.h"

UNIT_SCRATCH

/* A table with one further column, "v", of these values; the row before them is skipped, and says "none". */
static void open_values(struct bl_sequences *t, const char *const *value)
{
    struct bl_buffer text = {0};
    struct bl_error e = {0};
    const char *path = "table";
    bl_buffer_text(&text, "id\tother\tlength\tstatus\tv\nskipped\t1\t0\tskipped\tnone\n");
    for (int i = 0; value[i]; i++)
        bl_buffer_printf(&text, "s%d\tx\t%d\tok\t%s\n", i, i + 1, value[i]);
    ck_assert_int_eq(bl_output_replace(path, text.data, text.size, &e), BL_OK);
    bl_buffer_free(&text);
    ck_assert_msg(bl_sequences_open(t, &path, 1, false, &e) == BL_OK, "%s", e.text);
}

static const struct {
    const char *value[5];
    bool numeric;
    enum bl_dtype dtype;
    int64_t empty;
    size_t row;
} columns[] = {
    {{"1", "-2", "+3", "007"}, true, BL_I64, 0, SIZE_MAX},
    {{"9223372036854775807", "-9223372036854775808"}, true, BL_I64, 0, SIZE_MAX},
    {{"1", "", "3"}, true, BL_F64, 1, SIZE_MAX},
    {{"1", "2.5", "", ""}, true, BL_F64, 2, SIZE_MAX},
    {{"1e3", ".5", "5.", "-1E-2"}, true, BL_F64, 0, SIZE_MAX},
    {{"nan", "-INF", "+Infinity"}, true, BL_F64, 0, SIZE_MAX},
    {{"9007199254740992", "0.5"}, true, BL_F64, 0, SIZE_MAX},
    {{"0.5", "9007199254740993"}, false, BL_F64, 0, 2}, /* F64 would make 9007199254740992 of it */
    {{"9223372036854775807", ""}, false, BL_F64, 1, 1},
    {{"1", "9223372036854775808"}, false, BL_F64, 0, 2},
    {{"", ""}, false, BL_F64, 2, SIZE_MAX},
    {{"1", "two", "3"}, false, BL_F64, 0, 2},
    {{"1e999"}, false, BL_F64, 0, 1},
    {{"0x10"}, false, BL_F64, 0, 1},
    {{" 1"}, false, BL_F64, 0, 1},
    {{"1 "}, false, BL_F64, 0, 1},
    {{"1,5"}, false, BL_F64, 0, 1},
    {{"."}, false, BL_F64, 0, 1},
    {{"-"}, false, BL_F64, 0, 1},
    {{"1e"}, false, BL_F64, 0, 1},
    {{"1e+"}, false, BL_F64, 0, 1},
    {{"+-1"}, false, BL_F64, 0, 1},
    {{"1.2.3"}, false, BL_F64, 0, 1},
    {{"nano"}, false, BL_F64, 0, 1},
    {{"1\\t"}, false, BL_F64, 0, 1},
};

UNIT_TEST(columns_are_numbers_or_text)
{
    for (size_t i = 0; i < COUNT(columns); i++) {
        const char *name = "v";
        OWNED(bl_sequences_close) struct bl_sequences t;
        struct bl_column_type sort;
        bl_error_clear(&e);
        open_values(&t, columns[i].value);
        ck_assert_int_eq(bl_column_type_detect(&t, &name, 1, &sort, &e), BL_OK);
        ck_assert_msg(sort.numeric == columns[i].numeric, "%zu", i);
        ck_assert_msg(!sort.numeric || sort.dtype == columns[i].dtype, "%zu", i);
        ck_assert_int_eq(sort.empty, columns[i].empty);
        ck_assert_msg(sort.numeric || sort.row == columns[i].row, "%zu: row %zu", i, sort.row);
        name = "w";
        ck_assert_int_eq(bl_column_type_detect(&t, &name, 1, &sort, &e), BL_EUSAGE);
    }
}

static double as_double(int64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

UNIT_TEST(values_are_read)
{
    static const char *const whole[] = {"9223372036854775807", "-5", "+7", NULL};
    static const char *const real[] = {"-0.1", "", "-nan", "9007199254740992", "-Infinity", NULL};
    struct bl_format format = {.attributes = 1, .attribute = {{"v", BL_I64}}};
    OWNED(bl_sequences_close) struct bl_sequences t;
    struct bl_attribute_values v;
    open_values(&t, whole);
    ck_assert_msg(bl_attribute_values_read(&v, &t, &format, &e) == BL_OK, "%s", e.text);
    ck_assert_int_eq(v.value[0], 0); /* of no use */
    ck_assert_int_eq(v.value[1], INT64_MAX);
    ck_assert_int_eq(v.value[2], -5);
    ck_assert_int_eq(v.value[3], 7);
    bl_attribute_values_free(&v);
    bl_sequences_close(&t);
    open_values(&t, real);
    FAILS(bl_attribute_values_read(&v, &t, &format, &e), BL_EDATA, "row 1 (s0): \"-0.1\" in column \"v\" is not I64");
    ck_assert_ptr_null(v.value);
    format.attribute[0].dtype = BL_F64;
    ck_assert_int_eq(bl_attribute_values_read(&v, &t, &format, &e), BL_OK);
    ck_assert_double_eq(as_double(v.value[1]), -0.1);
    ck_assert_int_eq(v.value[2], INT64_C(0x7ff8000000000000)); /* one NaN for all */
    ck_assert_int_eq(v.value[3], v.value[2]);
    ck_assert_double_eq(as_double(v.value[4]), 9007199254740992.0);
    ck_assert_double_eq(as_double(v.value[5]), -(double)INFINITY);
    ck_assert_int_eq(bl_attribute_values_memory(&format, t.count), 48);
    bl_attribute_values_free(&v);
}
