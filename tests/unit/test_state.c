#include "run/state.h"

#include <sys/stat.h>

#include "base/output.h"
#include "unit.h"

UNIT_SCRATCH

UNIT_TEST(a_run_goes_on_with_the_same_configuration_only)
{
    struct bl_state s;
    ck_assert_int_eq(bl_state_open(&s, "a/b/set", "T: 94\nseed: 0\n", &e), BL_OK);
    struct bl_state second;
    FAILS_WITH(bl_state_open(&second, "a/b/set", "T: 94\nseed: 0\n", &e), BL_EFAIL, "another bload is running");
    bl_state_close(&s);
    ck_assert_int_eq(bl_state_open(&s, "a/b/set", "T: 94\nseed: 0\n", &e), BL_OK);
    struct bl_buffer value = {0};
    ck_assert_int_eq(bl_state_recorded("a/b/set", "seed", &value, &e), BL_OK);
    ck_assert_str_eq(value.data, "0");
    bl_buffer_free(&value);
    bl_state_close(&s);
    /* As long as no shard is finished, another configuration begins anew. */
    ck_assert_int_eq(bl_state_open(&s, "a/b/set", "T: 94\nseed: 5\n", &e), BL_OK);
    bl_state_close(&s);
    ck_assert_int_eq(bl_state_open(&s, "a/b/set", "T: 94\nseed: 0\n", &e), BL_OK);
    bl_state_close(&s);
    ck_assert_int_eq(bl_output_replace("a/b/set/.bload/shard-00000000.record", "x", 1, &e), BL_OK);
    FAILS_WITH(bl_state_open(&s, "a/b/set", "T: 94\nseed: 7\n", &e), BL_EUSAGE, "seed is \"0\" there, not \"7\"");
    ck_assert_int_eq(bl_state_open(&s, "a/b/set", "T: 94\nseed: 0\n", &e), BL_OK);
    ck_assert_int_eq(bl_state_remove(&s, &e), BL_OK);
    bl_state_close(&s);
    ck_assert_int_ne(access("a/b/set/.bload", F_OK), 0);
}

UNIT_TEST(a_directory_with_other_files_is_left_alone)
{
    struct bl_state s;
    ck_assert_int_eq(mkdir("home", 0777), 0);
    ck_assert_int_eq(bl_output_replace("home/letter.txt", "x", 1, &e), BL_OK);
    FAILS_WITH(bl_state_open(&s, "home", "T: 94\n", &e), BL_EUSAGE, "letter.txt");
    ck_assert_int_ne(access("home/.bload", F_OK), 0);
}

UNIT_TEST(tasks_share_what_a_run_has_for_itself)
{
    struct bl_state first, second, alone;
    ck_assert_int_eq(bl_state_share(&first, "set", &e), BL_OK);
    ck_assert_int_eq(bl_state_share(&second, "set", &e), BL_OK);
    ck_assert_int_eq(bl_state_configure(&first, "T: 94\nseed: 0\n", &e), BL_OK);
    ck_assert_int_eq(bl_state_configure(&second, "T: 94\nseed: 0\n", &e), BL_OK);
    FAILS_WITH(bl_state_configure(&second, "T: 94\nseed: 1\n", &e), BL_EUSAGE, "seed is \"0\" there, not \"1\"");
    ck_assert_int_eq(bl_state_open(&alone, "set", "T: 94\nseed: 0\n", &e), BL_EFAIL);
    bl_error_clear(&e);
    ck_assert_int_eq(bl_state_adopt(&alone, "set", &e), BL_EFAIL);
    bl_error_clear(&e);
    bl_state_close(&first);
    bl_state_close(&second);
    ck_assert_int_eq(bl_state_adopt(&alone, "set", &e), BL_OK);
    ck_assert_int_eq(bl_state_share(&first, "set", &e), BL_EFAIL);
    bl_state_close(&alone);
    bl_error_clear(&e);
    ck_assert_int_eq(bl_state_adopt(&alone, "elsewhere", &e), BL_EUSAGE);
    ck_assert_int_ne(access("elsewhere", F_OK), 0);
}

UNIT_TEST(what_a_stage_was_made_with_holds_for_the_next)
{
    OWNED(bl_state_close) struct bl_state s;
    ck_assert_int_eq(bl_state_share(&s, "set", &e), BL_OK);
    ck_assert_int_eq(bl_state_agree(&s, BL_STATE_SCAN, "fps: 4\ntasks: 3\ninputs: 7 abc\n", &e), BL_OK);
    FAILS_WITH(bl_state_agree(&s, BL_STATE_SCAN, "fps: 4\ntasks: 4\ninputs: 7 abc\n", &e), BL_EUSAGE,
               "tasks is \"3\" there, not \"4\"");
    FAILS_WITH(bl_state_configure(&s, "T: 9\nfps: 5\n", &e), BL_EUSAGE, "fps is \"4\" there, not \"5\"");
    ck_assert_int_eq(bl_state_configure(&s, "T: 9\nfps: 4\n", &e), BL_OK);
    bl_state_close(&s);
    /* A run of its own with another configuration begins anew, the scan's parts go. */
    ck_assert_int_eq(bl_state_open(&s, "set", "T: 9\nfps: 5\n", &e), BL_OK);
    ck_assert_int_ne(access("set/.bload/" BL_STATE_SCAN, F_OK), 0);
}
