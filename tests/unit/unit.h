/* What every unit test program shares: the headers of the C library that most need, tests that register themselves,
 * main, and the way to tests' scratch files. A test stands where it is defined, and nowhere else:
 *
 *     UNIT_TEST(what_it_states)
 *     {
 *         ck_assert_int_eq(1 + 1, 2);
 *     }
 *
 * The program runs them in the order of the file, each in a process of its own. */
#ifndef UNIT_H
#define UNIT_H

#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* The program's tests; the first call makes the empty list. */
static inline TCase *unit_tests(void)
{
    static TCase *tests;
    if (!tests) {
        tests = tcase_create("unit");
        tcase_set_timeout(tests, 300);
    }
    return tests;
}

/* Runs a function before main. */
#define UNIT_BEFORE_MAIN(name, ...)                                                                                    \
    __attribute__((constructor)) static void name(void)                                                                \
    {                                                                                                                  \
        __VA_ARGS__;                                                                                                   \
    }

/* A test that runs once for each _i from 0 to count - 1; the count is computed when the program starts. It has an empty
 * error e, for what it calls. */
#define UNIT_LOOP(name, count)                                                                                         \
    static void name##_body(int _i, struct bl_error e);                                                                \
    START_TEST(name)                                                                                                   \
    {                                                                                                                  \
        name##_body(_i, (struct bl_error){0});                                                                         \
    }                                                                                                                  \
    UNIT_BEFORE_MAIN(name##_add, tcase_add_loop_test(unit_tests(), name, 0, (int)(count)))                             \
    static void name##_body(int _i CK_ATTRIBUTE_UNUSED, struct bl_error e CK_ATTRIBUTE_UNUSED)

#define UNIT_TEST(name) UNIT_LOOP(name, 1)

/* What is set up before each test, or once before all of them, and what is undone after. */
#define UNIT_EACH(before, after) UNIT_BEFORE_MAIN(before##_add, tcase_add_checked_fixture(unit_tests(), before, after))
#define UNIT_ONCE(before, after)                                                                                       \
    UNIT_BEFORE_MAIN(before##_add, tcase_add_unchecked_fixture(unit_tests(), before, after))

/* The call fails with the code, and its error e has the text, or one with these words in it, which name the case of a
 * table; e is empty afterwards. */
#define FAILS(call, code, whole) UNIT_FAILS(call, code, whole, strcmp(e.text, whole) == 0)
#define FAILS_WITH(call, code, words) UNIT_FAILS(call, code, words, strstr(e.text, words))
#define UNIT_FAILS(call, code, text_, found)                                                                           \
    do {                                                                                                               \
        int unit_code = (call);                                                                                        \
        ck_assert_msg(unit_code == (code), "code %d instead of \"%s\"", unit_code, text_);                             \
        ck_assert_msg(found, "\"%s\" instead of \"%s\"", e.text, text_);                                               \
        bl_error_clear(&e);                                                                                            \
    } while (0)

/* A variable that the function, which takes a pointer to it, frees at the end of its block; FREED: memory of malloc. */
#define OWNED(function) __attribute__((cleanup(function), unused))
#define FREED OWNED(unit_free)

static inline void unit_free(void *variable)
{
    void *memory;
    memcpy(&memory, variable, sizeof memory);
    free(memory);
}

/* A test that cannot run says why, on a line that the suite counts, and returns. */
static inline void unit_skip(const char *reason)
{
    printf("skipped: %s\n", reason);
    fflush(stdout);
}

/* Whether tests/valgrind runs it, at a thirtieth of the speed. */
static inline bool unit_brief(void)
{
    return getenv("UNIT_BRIEF") != NULL;
}

/* How often to repeat a law: an eighth of `times` in brief. */
static inline int unit_times(int times)
{
    return unit_brief() ? times / 8 + 1 : times;
}

/* How often to repeat what takes too long in brief. */
static inline int unit_unless_brief(int times)
{
    return unit_brief() ? 0 : times;
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

static char unit_scratch[64];

static inline void unit_scratch_enter(void)
{
    unit_enter(unit_scratch);
}

static inline void unit_scratch_leave(void)
{
    unit_leave(unit_scratch);
}

/* Every test of the file begins in an empty directory of its own. */
#define UNIT_SCRATCH UNIT_EACH(unit_scratch_enter, unit_scratch_leave)

/* Writes a file, new or instead of what is there. */
static inline void unit_write(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    ck_assert_msg(file && fwrite(data, 1, size, file) == size && fclose(file) == 0, "cannot write %s", path);
}

static inline void unit_write_text(const char *path, const char *text)
{
    unit_write(path, text, strlen(text));
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    Suite *suite = suite_create(program_invocation_short_name);
    suite_add_tcase(suite, unit_tests());
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}

#endif
