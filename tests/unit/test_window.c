/* A window over a file: the numbers are those of the file, wherever the window was. */
#include "base/input_file.h"

#include <sys/mman.h>

#include "unit.h"

/* So many bytes: 0 1 2 ... */
static struct bl_input_file file_make(int size)
{
    int fd = memfd_create("it", 0);
    ck_assert_int_ge(fd, 0);
    for (int i = 0; i < size; i++) {
        uint8_t byte = (uint8_t)i;
        ck_assert_int_eq(write(fd, &byte, 1), 1);
    }
    return (struct bl_input_file){.fd = fd};
}

UNIT_TEST(numbers_anywhere)
{
    struct bl_input_file file = file_make(10000);
    struct bl_window w = {.file = &file, .path = "it", .size = 10000, .e = &e};
    /* also where one begins before the window, and where one ends behind it */
    static const int places[] = {0, 4092, 4093, 4096, 0, 9996, 5000, 4998, 9094};
    for (size_t i = 0; i < COUNT(places); i++) {
        uint64_t a = (uint8_t)places[i], b = (uint8_t)(places[i] + 1), c = (uint8_t)(places[i] + 2);
        ck_assert_uint_eq(bl_window_number(&w, places[i], 3, true), a << 16 | b << 8 | c);
        ck_assert_uint_eq(bl_window_number(&w, places[i], 3, false), c << 16 | b << 8 | a);
    }
    ck_assert_uint_eq(bl_window_number(&w, 1, 8, true), 0x0102030405060708);
    ck_assert(!w.ended && !w.code);
    bl_input_file_close(&file);
}

UNIT_TEST(beyond_the_end_is_zero)
{
    struct bl_input_file file = file_make(6);
    struct bl_window w = {.file = &file, .path = "it", .size = 6, .e = &e};
    ck_assert_uint_eq(bl_window_number(&w, 2, 4, true), 0x02030405);
    ck_assert(!w.ended);
    static const int64_t places[] = {3, 6, -1, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < COUNT(places); i++) {
        w.ended = false;
        ck_assert_uint_eq(bl_window_number(&w, places[i], 4, true), 0);
        ck_assert(w.ended);
    }
    ck_assert_uint_eq(bl_window_number(&w, 2, 4, true), 0x02030405); /* what is there is read all the same */
    ck_assert_int_eq(w.code, BL_OK);
    bl_input_file_close(&file);
}

UNIT_TEST(a_file_that_became_shorter_fails)
{
    struct bl_input_file file = file_make(6);
    struct bl_window w = {.file = &file, .path = "it", .size = 6, .e = &e};
    ck_assert_int_eq(ftruncate(file.fd, 3), 0);
    ck_assert_uint_eq(bl_window_number(&w, 0, 2, true), 0);
    ck_assert_int_eq(w.code, BL_EFAIL);
    ck_assert_ptr_nonnull(strstr(e.text, "it ends at byte 3"));
    bl_input_file_close(&file);
}
