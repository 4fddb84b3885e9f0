#include "base/checksum.h"
#include "unit.h"

UNIT_TEST(what_differs_is_named)
{
    static const struct {
        const char *there, *wanted, *message;
    } trial[] = {
        {"a: 1\nb: 2\n", "a: 1\nb: 3\n", "b is \"2\" there, not \"3\""},
        {"a: 1\n", "a: 1\nb: 3\n", "b is \"3\" here, and not recorded there"},
        {"a: 1\nb: 2\n", "a: 1\n", "b is \"2\" there, and not recorded here"},
        {"a: 1\n", "a: 1\nb: \n", "b is \"\" here, and not recorded there"},
        {"a: 1\nab: 2\n", "ab: 1\na: 1\n", "ab is \"2\" there, not \"1\""},
        {"a: x y: z\n", "a: x y: w\n", "a is \"x y: z\" there, not \"x y: w\""},
        {"a: 1\nb: 2\n", "b: 2\na: 1\n", "in another order"},
    };
    for (size_t i = 0; i < COUNT(trial); i++)
        FAILS_WITH(bl_identity_compare(trial[i].there, trial[i].wanted, "here is one", &e), BL_EUSAGE,
                   trial[i].message);
    ck_assert_int_eq(bl_identity_compare("a: 1\n", "a: 1\n", "here is one", &e), BL_OK);
}

UNIT_TEST(a_stage_may_know_less)
{
    ck_assert_int_eq(bl_identity_within("a: 1\ntasks: 3\ninputs: 7 abc\n", "T: 4\na: 1\n", "a scan", &e), BL_OK);
    FAILS_WITH(bl_identity_within("a: 1\nb: 2\n", "T: 4\na: 1\n", "a scan", &e), BL_EUSAGE,
               "b is \"2\" there, and not recorded here");
    FAILS_WITH(bl_identity_within("a: 1\n", "a: 2\n", "a scan", &e), BL_EUSAGE, "a is \"1\" there, not \"2\"");
}

UNIT_TEST(a_value_is_that_of_the_whole_name)
{
    size_t size = 0;
    const char *value = bl_identity_value("ab: 1\na: x: y\nb\n", "a", 1, &size);
    ck_assert_ptr_nonnull(value);
    ck_assert_uint_eq(size, 4);
    ck_assert_mem_eq(value, "x: y", 4);
    ck_assert_ptr_null(bl_identity_value("ab: 1\n", "b", 1, &size));
}
