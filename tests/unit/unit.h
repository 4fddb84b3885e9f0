/* What every unit test program shares: one test case per file, run by Check, and the way to tests' scratch files and
 * shared data. */
#ifndef UNIT_H
#define UNIT_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Runs the tests that add puts into the case; the status for main to return. */
static inline int unit_run(const char *name, void (*add)(TCase *))
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    Suite *suite = suite_create(name);
    TCase *tests = tcase_create(name);
    tcase_set_timeout(tests, 300);
    add(tests);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}

/* A test that cannot run says why, on a line that the suite counts, and returns. */
static inline void unit_skip(const char *reason)
{
    printf("skipped: %s\n", reason);
    fflush(stdout);
}

/* How often to repeat a law: an eighth of `times` where tests/valgrind runs it, at a thirtieth of the speed. */
static inline int unit_times(int times)
{
    return getenv("UNIT_BRIEF") ? times / 8 + 1 : times;
}

/* Makes a directory for a test's files, under $TMPDIR or /tmp. */
static inline void unit_mkdir(char directory[64])
{
    const char *parent = getenv("TMPDIR");
    ck_assert_int_lt(snprintf(directory, 64, "%s/bload-unit-XXXXXX", parent ? parent : "/tmp"), 64);
    ck_assert_ptr_nonnull(mkdtemp(directory));
}

/* The same, and goes there; unit_leave removes it. */
static inline void unit_enter(char directory[64])
{
    unit_mkdir(directory);
    ck_assert_int_eq(chdir(directory), 0);
}

static inline void unit_leave(const char *directory)
{
    char command[96];
    ck_assert_int_eq(chdir("/"), 0);
    snprintf(command, sizeof command, "rm -rf %s", directory);
    ck_assert_int_eq(system(command), 0);
}

#endif
