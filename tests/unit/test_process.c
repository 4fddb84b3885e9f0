#include "base/process.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/wait.h>

#include "unit.h"

static int run(const char *script, struct bl_buffer *out, int *status)
{
    const char *argv[] = {"sh", "-c", script, NULL};
    return bl_process_run(argv, out, status, NULL);
}

UNIT_TEST(what_it_says_and_how_it_ends)
{
    OWNED(bl_buffer_free) struct bl_buffer out = {0};
    int status = -1;
    ck_assert_int_eq(run("echo one; echo two >&2; read x || echo nothing; exit 5", &out, &status), BL_OK);
    ck_assert_str_eq(out.data, "one\ntwo\nnothing\n");
    ck_assert_int_eq(status, 5);
    ck_assert_int_eq(run("kill -TERM $$", &out, &status), BL_OK);
    ck_assert_int_eq(status, 143);
    ck_assert_int_eq(run("exit 0", NULL, &status), BL_OK);
    ck_assert_int_eq(status, 0);
}

UNIT_TEST(more_than_a_pipe_holds)
{
    OWNED(bl_buffer_free) struct bl_buffer out = {0};
    int status = -1;
    ck_assert_int_eq(run("head -c 300000 /dev/zero", &out, &status), BL_OK);
    ck_assert_int_eq(status, 0);
    ck_assert_uint_eq(out.size, 300000);
}

UNIT_TEST(programs_are_found_in_path)
{
    int status = -1;
    const char *argv[] = {"bload-no-such-program", NULL};
    ck_assert(bl_process_found("sh"));
    ck_assert(!bl_process_found("bload-no-such-program"));
    FAILS(bl_process_run(argv, NULL, &status, &e), BL_EFAIL,
          "cannot run bload-no-such-program: No such file or directory");
}

UNIT_TEST(signals_have_their_names)
{
    ck_assert_str_eq(bl_process_signal(SIGSEGV), "SIGSEGV");
    ck_assert_str_eq(bl_process_signal(SIGSYS), "SIGSYS");
    ck_assert_ptr_null(bl_process_signal(SIGCHLD));
    ck_assert_ptr_null(bl_process_signal(0));
    ck_assert_ptr_null(bl_process_signal(SIGRTMAX));
}

static void close_in_child(void close_all(int first, int last), int lowest)
{
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        close_all(lowest + 1, lowest + 2);
        bool right = fcntl(lowest, F_GETFD) >= 0 && fcntl(lowest + 1, F_GETFD) < 0 && fcntl(lowest + 2, F_GETFD) < 0 &&
                     fcntl(lowest + 3, F_GETFD) >= 0;
        close_all(lowest + 2, lowest + 1); /* none */
        close_all(lowest, INT_MAX);
        right = right && fcntl(lowest, F_GETFD) < 0 && fcntl(lowest + 3, F_GETFD) < 0 && fcntl(2, F_GETFD) >= 0;
        _exit(right ? 0 : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}

UNIT_TEST(descriptors_are_closed)
{
    int lowest = 500;
    for (int fd = lowest; fd < lowest + 4; fd++)
        ck_assert_int_eq(dup2(2, fd), fd);
    close_in_child(bl_descriptors_close, lowest);
    close_in_child(bl_descriptors_close_each, lowest);
    for (int fd = lowest; fd < lowest + 4; fd++)
        close(fd);
}
