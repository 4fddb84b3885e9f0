#include "base/buffer.h"

#include <stdint.h>

#include "unit.h"

UNIT_TEST(it_grows_and_ends_with_a_nul)
{
    struct bl_buffer b = {0};
    for (int i = 0; i < 1000; i++)
        bl_buffer_printf(&b, "%03d ", i);
    bl_buffer_byte(&b, '!');
    bl_buffer_append(&b, "a\0b", 3);
    bl_buffer_text(&b, "");
    bl_buffer_append(&b, NULL, 0);
    ck_assert_int_eq(bl_buffer_check(&b, NULL), BL_OK);
    ck_assert_uint_eq(b.size, 4004);
    ck_assert_int_eq(memcmp(b.data, "000 001 ", 8), 0);
    ck_assert_int_eq(memcmp(b.data + 3992, "998 999 !a\0b", 13), 0);
    bl_buffer_free(&b);
    ck_assert_ptr_null(b.data);
}

UNIT_TEST(integers)
{
    static const int64_t value[] = {0, 7, -7, 1234567890, INT64_MAX, INT64_MIN};
    static const char *const text[] = {"0", "7", "-7", "1234567890", "9223372036854775807", "-9223372036854775808"};
    for (size_t i = 0; i < COUNT(value); i++) {
        OWNED(bl_buffer_free) struct bl_buffer b = {0};
        bl_buffer_int(&b, value[i]);
        ck_assert_str_eq(b.data, text[i]);
    }
}

UNIT_TEST(lost_memory_is_remembered_until_it_is_told)
{
    OWNED(bl_buffer_free) struct bl_buffer b = {0};
    bl_buffer_text(&b, "before");
    ck_assert(!bl_buffer_reserve(&b, SIZE_MAX - 3));
    bl_buffer_text(&b, " after");
    ck_assert_str_eq(b.data, "before");
    FAILS(bl_buffer_check(&b, &e), BL_EFAIL, "out of memory");
    bl_buffer_clear(&b);
    bl_buffer_text(&b, "again");
    ck_assert_int_eq(bl_buffer_check(&b, NULL), BL_OK);
    ck_assert_str_eq(b.data, "again");
}

UNIT_TEST(clearing_keeps_the_memory)
{
    OWNED(bl_buffer_free) struct bl_buffer b = {0};
    bl_buffer_clear(&b);
    bl_buffer_text(&b, "something");
    char *data = b.data;
    bl_buffer_clear(&b);
    ck_assert_uint_eq(b.size, 0);
    ck_assert_str_eq(b.data, "");
    ck_assert_ptr_eq(b.data, data);
}

UNIT_TEST(beyond_the_limit_it_only_counts)
{
    OWNED(bl_buffer_free) struct bl_buffer b = {.limit = 300};
    char text[301] = {0};
    bl_buffer_append(&b, text, 300);
    ck_assert_int_eq(bl_buffer_check(&b, &e), BL_OK);
    ck_assert_uint_eq(b.capacity, 301);
    bl_buffer_append(&b, "", 0);
    ck_assert(!b.is_over);
    bl_buffer_byte(&b, 'x');
    bl_buffer_append(&b, text, 20);
    ck_assert(b.is_over);
    ck_assert_uint_eq(b.size, 300);
    ck_assert_uint_eq(b.missed, 21);
    ck_assert_int_eq(bl_buffer_check(&b, &e), BL_EFAIL);
    bl_buffer_clear(&b);
    ck_assert(!b.is_over);
    ck_assert_uint_eq(b.missed, 0);
    bl_buffer_append(&b, text, 301);
    ck_assert(b.is_over);
    bl_buffer_clear(&b);
    ck_assert(bl_buffer_reserve(&b, 1000)); /* whoever knows the size asks by itself */
}
