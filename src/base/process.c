#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

bool bl_process_found(const char *name)
{
    const char *path = getenv("PATH");
    struct bl_buffer file = {0};
    bool found = false;
    while (path && *path && !found) {
        size_t size = strcspn(path, ":");
        bl_buffer_clear(&file);
        bl_buffer_printf(&file, "%.*s/%s", (int)size, path, name);
        found = size && !file.failed && access(file.data, X_OK) == 0;
        path += size + (path[size] == ':');
    }
    bl_buffer_free(&file);
    return found;
}

/* Reads the pipe to its end. */
static int process_read(int fd, const char *name, struct bl_buffer *out, struct bl_error *e)
{
    char chunk[4096];
    for (;;) {
        ssize_t got = read(fd, chunk, sizeof chunk);
        if (got > 0)
            bl_buffer_append(out, chunk, (size_t)got);
        else if (got == 0)
            return bl_buffer_check(out, e);
        else if (errno != EINTR)
            return bl_error_errno(e, BL_EFAIL, "cannot read the output of %s", name);
    }
}

static int process_start(const char *const argv[], const int *out, pid_t *pid, struct bl_error *e)
{
    posix_spawn_file_actions_t actions;
    /* Not every system reports at the start that the program is missing. */
    if (!strchr(argv[0], '/') && !bl_process_found(argv[0])) {
        errno = ENOENT;
        return bl_error_errno(e, BL_EFAIL, "cannot run %s", argv[0]);
    }
    if (posix_spawn_file_actions_init(&actions) != 0)
        return bl_error_memory(e);
    int wrong = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    for (int fd = STDOUT_FILENO; out && fd <= STDERR_FILENO && !wrong; fd++)
        wrong = posix_spawn_file_actions_adddup2(&actions, *out, fd);
    /* posix_spawn does not write to the arguments. */
    if (!wrong)
        wrong = posix_spawnp(pid, argv[0], &actions, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    errno = wrong;
    return wrong ? bl_error_errno(e, BL_EFAIL, "cannot run %s", argv[0]) : BL_OK;
}

static int process_wait(pid_t pid, const char *name, int *status, struct bl_error *e)
{
    int how;
    while (waitpid(pid, &how, 0) < 0) {
        if (errno != EINTR)
            return bl_error_errno(e, BL_EFAIL, "cannot wait for %s", name);
    }
    *status = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
    return BL_OK;
}

int bl_process_run(const char *const argv[], struct bl_buffer *out, int *status, struct bl_error *e)
{
    int ends[2] = {-1, -1};
    pid_t pid;
    if (out && pipe2(ends, O_CLOEXEC) != 0)
        return bl_error_errno(e, BL_EFAIL, "cannot make a pipe");
    int code = process_start(argv, out ? &ends[1] : NULL, &pid, e);
    if (out)
        close(ends[1]);
    if (code)
        goto out;
    int taken = out ? process_read(ends[0], argv[0], out, e) : BL_OK;
    int ended = process_wait(pid, argv[0], status, e);
    code = taken ? taken : ended;
out:
    if (out)
        close(ends[0]);
    return code;
}

const char *bl_process_signal(int signal)
{
    static const char *const names[] = {
        [SIGHUP] = "SIGHUP",   [SIGINT] = "SIGINT",   [SIGQUIT] = "SIGQUIT", [SIGILL] = "SIGILL",
        [SIGTRAP] = "SIGTRAP", [SIGABRT] = "SIGABRT", [SIGBUS] = "SIGBUS",   [SIGFPE] = "SIGFPE",
        [SIGKILL] = "SIGKILL", [SIGUSR1] = "SIGUSR1", [SIGSEGV] = "SIGSEGV", [SIGUSR2] = "SIGUSR2",
        [SIGPIPE] = "SIGPIPE", [SIGALRM] = "SIGALRM", [SIGTERM] = "SIGTERM", [SIGXCPU] = "SIGXCPU",
        [SIGXFSZ] = "SIGXFSZ", [SIGSYS] = "SIGSYS"};
    return signal > 0 && (size_t)signal < sizeof names / sizeof *names ? names[signal] : NULL;
}
