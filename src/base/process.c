/* Processes and time: descriptors, the stack, programs that bload runs, and what the processor did.
 *
 * A run reports why it was not faster. For that it needs the time that threads ran, and the time that they were ready
 * and had no processor, which Linux counts in /proc/PID/schedstat: "81233 2042 17" are nanoseconds of running, of
 * queueing, and the number of turns. */
#include "base/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"

/* --- descriptors -------------------------------------------------------------------------------------------------- */

#define USUAL 1024      /* descriptors that Linux allows a process by default */
#define BLIND_MAX 65536 /* descriptors that are closed one by one where /proc does not show the open ones */

/* Raises the soft limit to the hard one, which needs no rights. Returns the limit that holds then. */
int64_t bl_descriptors_raise(void)
{
    struct rlimit limit, most;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return USUAL;
    /* RLIM_INFINITY exceeds INT32_MAX, too. */
    most = (struct rlimit){limit.rlim_max, limit.rlim_max};
    if (limit.rlim_cur < limit.rlim_max && setrlimit(RLIMIT_NOFILE, &most) == 0)
        limit = most;
    return limit.rlim_cur < INT32_MAX ? (int64_t)limit.rlim_cur : INT32_MAX;
}

/* The descriptor of the listing itself stays open until its end. */
void bl_descriptors_close_each(int first, int last)
{
    DIR *folder = opendir("/proc/self/fd");
    if (!folder) {
        for (int fd = first; fd <= last && fd < BLIND_MAX; fd++)
            close(fd);
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(folder))) {
        int64_t fd;
        if (bl_text_to_int(entry->d_name, strlen(entry->d_name), first, last, &fd) && fd != dirfd(folder))
            close((int)fd);
    }
    closedir(folder);
}

/* close_range(2) exists from Linux 5.9 on, and a sandbox may refuse it. */
void bl_descriptors_close(int first, int last)
{
    if (first > last)
        return;
#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, last, 0) == 0)
        return;
#endif
    bl_descriptors_close_each(first, last);
}

/* --- size of the stack -------------------------------------------------------------------------------------------- */

#define NEEDED ((rlim_t)1 << 20)      /* bytes that the threads need */
#define STACK_USUAL ((rlim_t)8 << 20) /* bytes: the default of Linux */

bool bl_stack_ensure(char **argv, int64_t *limit)
{
    struct rlimit stack;
    *limit = 0;
    if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= NEEDED)
        return true;
    *limit = (int64_t)stack.rlim_max;
    if (stack.rlim_max < NEEDED)
        return false;
    stack.rlim_cur = stack.rlim_max < STACK_USUAL ? stack.rlim_max : STACK_USUAL;
    /* The C library reads the limit once, when a process begins, and gives it to all threads: the program must start
     * again. If that fails, the run goes on with the small stack. */
    if (setrlimit(RLIMIT_STACK, &stack) == 0)
        (void)execv("/proc/self/exe", argv);
    return true;
}

/* --- running programs --------------------------------------------------------------------------------------------- */

/* Searches PATH as a shell does, except for empty entries, which would mean the current directory. */
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

/* Appends what the pipe delivers until its end, which comes when the program and its children have closed it. */
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

/* Starts the program with an empty standard input, so that it cannot wait for a terminal. out: the descriptor for its
 * standard output, and for its descriptors up to `last`; or NULL. The other descriptors are closed in it (O_CLOEXEC).
 */
static int process_start(const char *const argv[], const int *out, int last, pid_t *pid, struct bl_error *e)
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
    for (int fd = STDOUT_FILENO; out && fd <= last && !wrong; fd++)
        wrong = posix_spawn_file_actions_adddup2(&actions, *out, fd);
    /* posix_spawn does not write to the arguments. */
    if (!wrong)
        wrong = posix_spawnp(pid, argv[0], &actions, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    errno = wrong;
    return wrong ? bl_error_errno(e, BL_EFAIL, "cannot run %s", argv[0]) : BL_OK;
}

/* Waits for the end of the program. *status is what a shell reports: its exit status, or 128 + the signal that ended
 * it. */
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

/* Runs the program to its end. last: STDOUT_FILENO, or STDERR_FILENO for both. */
static int process_run_to_end(const char *const argv[], struct bl_buffer *out, int last, int *status,
                              struct bl_error *e)
{
    int ends[2] = {-1, -1};
    pid_t pid;
    if (out && pipe2(ends, O_CLOEXEC) != 0)
        return bl_error_errno(e, BL_EFAIL, "cannot make a pipe");
    int code = process_start(argv, out ? &ends[1] : NULL, last, &pid, e);
    /* This end must be closed before the read: the pipe ends only when no process can write to it. */
    if (out)
        close(ends[1]);
    if (code)
        goto out;
    /* The program is waited for even if its output could not be read; otherwise it would stay as a zombie. */
    int taken = out ? process_read(ends[0], argv[0], out, e) : BL_OK;
    int ended = process_wait(pid, argv[0], status, e);
    code = taken ? taken : ended;
out:
    if (out)
        close(ends[0]);
    return code;
}

int bl_process_run(const char *const argv[], struct bl_buffer *out, int *status, struct bl_error *e)
{
    return process_run_to_end(argv, out, STDERR_FILENO, status, e);
}

int bl_process_read(const char *const argv[], struct bl_buffer *out, int *status, struct bl_error *e)
{
    return process_run_to_end(argv, out, STDOUT_FILENO, status, e);
}

/* strsignal() depends on the locale and says "Killed"; users search for SIGKILL. NULL: an unknown signal. */
const char *bl_process_signal(int signal)
{
    static const char *const names[] = {
        [SIGHUP] = "SIGHUP",   [SIGINT] = "SIGINT",   [SIGQUIT] = "SIGQUIT", [SIGILL] = "SIGILL",
        [SIGTRAP] = "SIGTRAP", [SIGABRT] = "SIGABRT", [SIGBUS] = "SIGBUS",   [SIGFPE] = "SIGFPE",
        [SIGKILL] = "SIGKILL", [SIGUSR1] = "SIGUSR1", [SIGSEGV] = "SIGSEGV", [SIGUSR2] = "SIGUSR2",
        [SIGPIPE] = "SIGPIPE", [SIGALRM] = "SIGALRM", [SIGTERM] = "SIGTERM", [SIGXCPU] = "SIGXCPU",
        [SIGXFSZ] = "SIGXFSZ", [SIGSYS] = "SIGSYS"};
    /* Real-time signals have no names here. */
    return signal > 0 && (size_t)signal < sizeof names / sizeof *names ? names[signal] : NULL;
}

/* --- processor time ----------------------------------------------------------------------------------------------- */

#define PATH_SIZE 64  /* bytes: "/proc/2147483647/schedstat" fits */
#define TEXT_SIZE 128 /* bytes of three numbers of up to 20 digits */
#define BLIND 0.01    /* seconds: if a thread has run for longer and the file says 0, the file counts nothing */

/* Returns the seconds of a clock, or 0 if the system does not have it. */
static double clock_seconds(clockid_t clock)
{
    struct timespec t;
    if (clock_gettime(clock, &t) != 0)
        return 0;
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double bl_seconds_now(void)
{
    return clock_seconds(CLOCK_MONOTONIC);
}

/* Reads the time in the queue from a file "RUN QUEUED SLICES", whose times are in nanoseconds. Kernels without
 * CONFIG_SCHED_INFO have no such file, and in some sandboxes its numbers are zero: then the time is not known, and
 * is_partly is set. */
static void time_read_queued(struct bl_processor_time *t, const char *path)
{
    char text[TEXT_SIZE];
    uint64_t run, queued;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    t->is_partly = true;
    if (size <= 0)
        return;
    text[size] = '\0';
    if (sscanf(text, "%" SCNu64 " %" SCNu64, &run, &queued) != 2 || (!run && t->run > BLIND))
        return;
    t->queued = (double)queued * 1e-9;
    t->is_partly = false;
}

/* The times of the calling thread. */
struct bl_processor_time bl_processor_time_self(void)
{
    struct bl_processor_time t = {.run = clock_seconds(CLOCK_THREAD_CPUTIME_ID)};
    time_read_queued(&t, "/proc/thread-self/schedstat");
    return t;
}

/* The times of another process, a decoder. A process that has ended has none. */
struct bl_processor_time bl_processor_time_of(pid_t pid)
{
    struct bl_processor_time t = {0};
    char path[PATH_SIZE];
    clockid_t clock;
    if (clock_getcpuclockid(pid, &clock) != 0)
        return t;
    t.run = clock_seconds(clock);
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)pid);
    time_read_queued(&t, path);
    return t;
}

void bl_processor_time_add(struct bl_processor_time *sum, const struct bl_processor_time *some)
{
    sum->run += some->run;
    sum->queued += some->queued;
    sum->is_partly |= some->is_partly;
}

/* --- time of a parallel stage ------------------------------------------------------------------------------------- */

/* A job holds the stage up if later jobs are ready and have to wait for it. A file explains that only if it took at
 * least half of this time. */
int bl_work_note_file(struct bl_work *work, const char *file, double seconds, struct bl_error *e)
{
    if (work->held <= work->slowest_held || 2 * seconds < work->held)
        return BL_OK;
    char *copy = strdup(file);
    if (!copy)
        return bl_error_memory(e);
    free(work->slowest);
    work->slowest = copy;
    work->slowest_held = work->held;
    work->slowest_seconds = seconds;
    return BL_OK;
}

/* Decoders live longer than a stage, so that only the difference counts. */
void bl_work_add_decoders(struct bl_work *work, const struct bl_processor_time *before, struct bl_processor_time now)
{
    now.run -= before->run;
    now.queued -= before->queued;
    bl_processor_time_add(&work->processor, &now);
}

void bl_work_free(struct bl_work *work)
{
    free(work->slowest);
    *work = (struct bl_work){0};
}
