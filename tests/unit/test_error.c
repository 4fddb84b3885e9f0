#include "base/error.h"
#include "unit.h"

UNIT_TEST(the_first_cause_is_kept)
{
    ck_assert_int_eq(bl_error_set(&e, BL_EDATA, "frame %d of %s", 7, "a.mp4"), BL_EDATA);
    ck_assert_int_eq(bl_error_set(&e, BL_EFAIL, "later"), BL_EFAIL);
    errno = EIO;
    ck_assert_int_eq(bl_error_errno(&e, BL_EFAIL, "later still"), BL_EFAIL);
    ck_assert_int_eq(e.code, BL_EDATA);
    ck_assert_str_eq(e.text, "frame 7 of a.mp4");
}

UNIT_TEST(without_an_object_the_code_is_all)
{
    ck_assert_int_eq(bl_error_set(NULL, BL_EUSAGE, "nobody reads this"), BL_EUSAGE);
    ck_assert_int_eq(bl_error_errno(NULL, BL_EFAIL, "nor this"), BL_EFAIL);
    ck_assert_int_eq(bl_error_memory(NULL), BL_EFAIL);
    bl_error_prefix(NULL, "nothing");
}

UNIT_TEST(errno_is_spelled_out)
{
    errno = ENOSPC;
    bl_error_errno(&e, BL_EFAIL, "cannot write %s", "x");
    ck_assert_str_eq(e.text, "cannot write x: No space left on device");
}

UNIT_TEST(prefixes_stack_up_in_front)
{
    bl_error_prefix(&e, "nothing to say yet");
    ck_assert_str_eq(e.text, "");
    bl_error_set(&e, BL_EFAIL, "c");
    bl_error_prefix(&e, "b%d", 1);
    bl_error_prefix(&e, "a");
    ck_assert_str_eq(e.text, "a: b1: c");
    bl_error_clear(&e);
    ck_assert_int_eq(e.code, BL_OK);
    ck_assert_int_eq(bl_error_set(&e, BL_EUSAGE, "anew"), BL_EUSAGE);
    ck_assert_str_eq(e.text, "anew");
}

UNIT_TEST(it_stays_one_line)
{
    bl_error_set(&e, BL_EFAIL, "a\nb\tc\033[1m\x7f\xc3\xa9");
    ck_assert_str_eq(e.text, "a?b?c?[1m?\xc3\xa9");
    bl_error_prefix(&e, "x\ny");
    ck_assert_str_eq(e.text, "x?y: a?b?c?[1m?\xc3\xa9");
}

UNIT_TEST(long_texts_are_cut_in_the_middle)
{
    char path[4001];
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    errno = EIO;
    bl_error_errno(&e, BL_EFAIL, "cannot rename %s to %s", path, path);
    ck_assert_uint_eq(strlen(e.text), sizeof e.text - 1);
    ck_assert_int_eq(strncmp(e.text, "cannot rename xxx", 17), 0);
    ck_assert_ptr_nonnull(strstr(e.text, "xxx...xxx"));
    ck_assert_ptr_nonnull(strstr(e.text, "xxx: Input/output error"));
    bl_error_prefix(&e, "%s", path);
    ck_assert_uint_eq(strlen(e.text), sizeof e.text - 1);
    ck_assert_ptr_nonnull(strstr(e.text, "xxx: Input/output error"));
    /* Characters stay whole, wherever the cut falls. */
    for (int shift = 0; shift < 6; shift++) {
        for (size_t i = 0; i < sizeof path - 1; i++)
            path[i] = "\xe2\x82\xac"[i % 3];
        bl_error_clear(&e);
        bl_error_set(&e, BL_EFAIL, "%.*s%.3999s: gone", shift, "------", path);
        ck_assert_ptr_null(strchr(e.text, '?'));
        ck_assert_ptr_nonnull(strstr(e.text, "\xe2\x82\xac...\xe2\x82\xac"));
        ck_assert_ptr_nonnull(strstr(e.text, "\xe2\x82\xac: gone"));
    }
}

UNIT_TEST(lacking_memory_is_seen_in_errno)
{
    bl_error_memory_watch();
    ck_assert(!bl_error_memory_seen());
    errno = EINVAL;
    ck_assert(!bl_error_memory_seen());
    errno = ENOMEM;
    const char *settings = getenv("GLIBC_TUNABLES");
    if (!settings || !strstr(settings, "hugetlb"))
        ck_assert(bl_error_memory_seen() && bl_error_memory_seen());
}

UNIT_TEST(a_failing_system_is_told_from_bad_content)
{
    static const int system_errors[] = {EIO, ESTALE, ENOMEM, ENOSPC, EDQUOT, EMFILE, ENFILE};
    for (size_t i = 0; i < COUNT(system_errors); i++)
        ck_assert_int_ne(bl_errno_is_system(system_errors[i]), 0);
    ck_assert_int_eq(bl_errno_is_system(EINVAL), 0);
    ck_assert_int_eq(bl_errno_is_system(0), 0);
}
