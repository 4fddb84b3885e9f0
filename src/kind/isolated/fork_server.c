/* The fork server and the system call filter of decoder processes.
 *
 * The server is forked before the tool has threads, loads the media module, and then waits for two requests: to fork a
 * process, and to wait for the end of one. Each request brings a socket of its own for the answer, so that workers on
 * many threads need no lock. The socket of a new process is also the channel between it and its worker. */
#include "kind/isolated/fork_server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"

/* --- system call filter ------------------------------------------------------------------------------------------- */

/* The filter is a constant BPF program. libseccomp would compile the filter in each process, and it never returns if
 * memory runs out meanwhile. */

/* Sanitizers make system calls of their own, which the filter would refuse. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif

#if defined(IS_SANITIZED)
#define ARCHITECTURE 0
#elif defined(__x86_64__) && defined(__LP64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define ARCHITECTURE 0
#endif

/* Two instructions each: if the loaded number equals `number`, the call is allowed; otherwise the next one is tried. */
#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))

/* The program allows the calls that decoding needs: on open descriptors, for memory, for the clock, and to end. It also
 * allows stat and access, since names and sizes of files are no secret. Every other call fails with EPERM. */
static struct sock_filter instructions[] = {
    LOAD(arch),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    LOAD(nr),
    /* descriptors */
    ALLOW(__NR_recvmsg),
    ALLOW(__NR_sendmsg),
    ALLOW(__NR_recvfrom),
    ALLOW(__NR_sendto),
    ALLOW(__NR_pread64),
    ALLOW(__NR_read),
    ALLOW(__NR_write),
    ALLOW(__NR_lseek),
    ALLOW(__NR_close),
    ALLOW(__NR_getdents64),
    /* names and sizes */
    ALLOW(__NR_newfstatat),
    ALLOW(__NR_fstat),
    ALLOW(__NR_statx),
    ALLOW(__NR_faccessat),
    ALLOW(__NR_faccessat2),
#if defined(__NR_stat)
    ALLOW(__NR_stat),
    ALLOW(__NR_lstat),
    ALLOW(__NR_access),
#endif
    /* memory */
    ALLOW(__NR_mmap),
    ALLOW(__NR_munmap),
    ALLOW(__NR_brk),
    ALLOW(__NR_mremap),
    ALLOW(__NR_mprotect),
    ALLOW(__NR_madvise),
    /* the process itself */
    ALLOW(__NR_futex),
    ALLOW(__NR_sched_yield),
    ALLOW(__NR_sched_getaffinity),
    ALLOW(__NR_rt_sigaction),
    ALLOW(__NR_rt_sigprocmask),
    ALLOW(__NR_rt_sigreturn),
    ALLOW(__NR_sigaltstack),
    ALLOW(__NR_restart_syscall),
    ALLOW(__NR_getpid),
    ALLOW(__NR_gettid),
    ALLOW(__NR_getrusage),
    ALLOW(__NR_sysinfo),
    ALLOW(__NR_uname),
    ALLOW(__NR_exit),
    ALLOW(__NR_exit_group),
    /* the clock, random numbers */
    ALLOW(__NR_clock_gettime),
    ALLOW(__NR_clock_getres),
    ALLOW(__NR_clock_nanosleep),
    ALLOW(__NR_nanosleep),
    ALLOW(__NR_gettimeofday),
    ALLOW(__NR_getrandom),
    /* fcntl for flags of descriptors only: F_SETOWN and F_SETSIG could make the kernel signal other processes */
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_fcntl, 0, 7),
    LOAD(args[1]),
    ALLOW(F_GETFD),
    ALLOW(F_SETFD),
    ALLOW(F_GETFL),
    /* tgkill to the process itself only, for abort. The number is loaded again, because fcntl has replaced it. */
    LOAD(nr),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_tgkill, 0, 3),
    LOAD(args[0]),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
};

#define OWN (sizeof instructions / sizeof *instructions - 3) /* the comparison with the process's own number */

/* Passes a NULL filter: a kernel that supports filters fails with EFAULT, because it tries to read the filter. */
bool bl_syscall_filter_is_available(void)
{
    return ARCHITECTURE && syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) != 0 && errno == EFAULT;
}

bool bl_syscall_filter_install(void)
{
    instructions[OWN].k = (uint32_t)getpid();
    struct sock_fprog program = {.len = sizeof instructions / sizeof *instructions, .filter = instructions};
    if (!ARCHITECTURE || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return false;
    /* Without this flag, kernels before 5.16 also restrict speculative execution, which costs a tenth of the speed. */
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) == 0 ||
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

/* --- fork server -------------------------------------------------------------------------------------------------- */

#define WAIT_MICROSECONDS 100000 /* a worker looks at the progress of its process after each such time */
#define LOAD_SECONDS 300         /* loading many libraries from a slow file system takes long */

enum wish { WISH_SPAWN, WISH_REAP };

/* A request to the server. With it comes the socket that takes the answer. For WISH_SPAWN this socket also becomes the
 * channel of the new process, and the descriptor of struct bl_spawn comes second. */
struct wish_message {
    int64_t wish;
    int64_t pid; /* WISH_REAP: the process to wait for */
    int64_t number[BL_SPAWN_NUMBERS];
};

/* The answer to a request, on the socket that came with it. */
struct spawn_answer {
    int64_t pid;    /* the new process, or the one that was reaped */
    int64_t status; /* WISH_REAP: the exit status, as waitpid sets it */
    int64_t error;  /* errno, or 0 */
    int64_t code;   /* the code of a failed load, with its text, or BL_OK */
    char text[sizeof((struct bl_error *)0)->text];
};

union control {
    struct cmsghdr header;
    char space[CMSG_SPACE(2 * sizeof(int))];
};

/* --- server ------------------------------------------------------------------------------------------------------- */

/* The state of the server. */
struct serving {
    int socket;
    bl_fork_main *main;
    const void *context;
    int code; /* the result of load, with its error in fault */
    struct bl_error fault;
};

/* Ends this process when its parent ends, even if that is killed. */
static void process_follow_parent(pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(1);
}

/* Sends an answer. An error is ignored: the worker that waits for the answer is gone, or notices that the socket is
 * closed. */
static void server_send(int socket, const struct spawn_answer *answer)
{
    ssize_t sent = send(socket, answer, sizeof *answer, MSG_NOSIGNAL);
    (void)sent;
}

/* Forks a process, or answers with the error of the load if that has failed. */
static void server_spawn(const struct serving *s, const struct wish_message *wish, const int fd[2])
{
    struct bl_spawn spawn = {.fd = fd[1]};
    if (s->code) {
        struct spawn_answer answer = {.code = s->code};
        snprintf(answer.text, sizeof answer.text, "%s", s->fault.text);
        server_send(fd[0], &answer);
        return;
    }
    pid_t self = getpid(), pid = fork();
    memcpy(spawn.number, wish->number, sizeof spawn.number);
    if (pid == 0) {
        process_follow_parent(self);
        close(s->socket);
        s->main(s->context, &spawn, fd[0]);
        _exit(0);
    }
    server_send(fd[0], &(struct spawn_answer){.pid = pid, .error = pid < 0 ? errno : 0});
}

/* Waits for the end of a process, and answers with its exit status. */
static void server_reap(const struct wish_message *wish, int socket)
{
    struct spawn_answer answer = {.pid = wish->pid};
    pid_t pid;
    int status = 0;
    do
        pid = waitpid((pid_t)wish->pid, &status, 0);
    while (pid < 0 && errno == EINTR);
    answer.status = status;
    answer.error = pid < 0 ? errno : 0;
    server_send(socket, &answer);
}

/* Receives a request and its descriptors. *got is false if a signal interrupted it. Returns false when the tool has
 * closed its end. */
static bool server_receive(const struct serving *s, struct wish_message *wish, int fd[2], bool *got)
{
    struct iovec part = {wish, sizeof *wish};
    union control control;
    struct msghdr m = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control.space};
    fd[0] = fd[1] = -1;
    ssize_t size = recvmsg(s->socket, &m, MSG_CMSG_CLOEXEC);
    *got = size == (ssize_t)sizeof *wish;
    if (!*got)
        return size < 0 && errno == EINTR;
    struct cmsghdr *header = CMSG_FIRSTHDR(&m);
    if (header && header->cmsg_type == SCM_RIGHTS)
        memcpy(fd, CMSG_DATA(header), header->cmsg_len - CMSG_LEN(0));
    return true;
}

/* Handles requests until the tool ends, or stops the server. */
static void server_run(const struct serving *s)
{
    struct wish_message wish = {0};
    int fd[2];
    bool got;
    while (server_receive(s, &wish, fd, &got)) {
        if (got && wish.wish == WISH_SPAWN)
            server_spawn(s, &wish, fd);
        else if (got)
            server_reap(&wish, fd[0]);
        for (int i = 0; i < 2; i++) {
            if (fd[i] >= 0)
                close(fd[i]);
        }
    }
}

/* The server's process. It detaches itself from the terminal and from the tool's files. The tool ends its processes by
 * closing their sockets, so a signal to the process group, such as Ctrl-C, must not end them first. All other
 * descriptors are closed: otherwise the reader of a pipe would wait for its end, and a lock would stay locked. */
static _Noreturn void server_main(struct serving *s, bl_fork_load *load)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE, SIGALRM};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], SIG_IGN);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= 2 && null >= 0; fd++)
        (void)dup2(null, fd);
    bl_descriptors_close(3, s->socket - 1);
    bl_descriptors_close(s->socket + 1, INT_MAX);
    if (load) {
        /* If memory runs out, a library's constructor may wait for ever (glib's waits for its own lock). SIGALRM then
         * ends the server, and its callers get an error. */
        signal(SIGALRM, SIG_DFL);
        alarm(LOAD_SECONDS);
        s->code = load(s->context, &s->fault);
        alarm(0);
        signal(SIGALRM, SIG_IGN);
    }
    server_run(s);
    _exit(0);
}

int bl_fork_server_start(struct bl_fork_server *server, bl_fork_load *load, bl_fork_main *main, const void *context,
                         struct bl_error *e)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return bl_error_errno(e, BL_EFAIL, "cannot make a socket");
    pid_t self = getpid(), pid = fork();
    if (pid < 0) {
        bl_error_errno(e, BL_EFAIL, "cannot start a process");
        close(ends[0]);
        close(ends[1]);
        return BL_EFAIL;
    }
    if (pid == 0) {
        process_follow_parent(self);
        struct serving serving = {.socket = ends[1], .main = main, .context = context};
        server_main(&serving, load);
    }
    close(ends[1]);
    *server = (struct bl_fork_server){pid, ends[0]};
    return BL_OK;
}

void bl_fork_server_stop(struct bl_fork_server *server)
{
    if (!server->pid)
        return;
    close(server->socket);
    while (waitpid(server->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    server->pid = 0;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

/* Sends a request with `fds` descriptors to the server. */
static int server_ask(const struct bl_fork_server *server, const struct wish_message *wish, const int *fd, int fds,
                      struct bl_error *e)
{
    struct iovec part = {(void *)(uintptr_t)wish, sizeof *wish};
    union control control = {0};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = CMSG_SPACE((size_t)fds * sizeof(int))};
    ssize_t sent;
    struct cmsghdr *header = CMSG_FIRSTHDR(&m);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN((size_t)fds * sizeof(int));
    memcpy(CMSG_DATA(header), fd, (size_t)fds * sizeof(int));
    do
        sent = sendmsg(server->socket, &m, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? bl_error_errno(e, BL_EFAIL, "the process that starts decoders does not answer") : BL_OK;
}

/* Receives the server's answer from the socket. `what` completes the message "cannot WHAT". Returns load's code if the
 * load has failed, or BL_EFAIL. */
static int answer_receive(int socket, const char *what, struct spawn_answer *answer, struct bl_error *e)
{
    ssize_t got;
    do
        got = recv(socket, answer, sizeof *answer, MSG_WAITALL);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return bl_error_errno(e, BL_EFAIL, "cannot %s", what);
    if (got != (ssize_t)sizeof *answer)
        return bl_error_set(e, BL_EFAIL, "cannot %s: the process that starts decoders has ended", what);
    if (answer->code) {
        answer->text[sizeof answer->text - 1] = '\0';
        return bl_error_set(e, (int)answer->code, "%s", answer->text);
    }
    errno = (int)answer->error;
    return answer->error ? bl_error_errno(e, BL_EFAIL, "cannot %s", what) : BL_OK;
}

int bl_fork_server_spawn(const struct bl_fork_server *server, const struct bl_spawn *spawn, int *channel, pid_t *pid,
                         struct bl_error *e)
{
    static const struct timeval wait = {.tv_usec = WAIT_MICROSECONDS};
    struct wish_message wish = {.wish = WISH_SPAWN};
    struct spawn_answer answer = {0};
    int ends[2];
    memcpy(wish.number, spawn->number, sizeof wish.number);
    *pid = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return bl_error_errno(e, BL_EFAIL, "cannot make a socket");
    int code = server_ask(server, &wish, (int[2]){ends[1], spawn->fd}, 2, e);
    close(ends[1]);
    if (!code)
        code = answer_receive(ends[0], "start a decoder process", &answer, e);
    if (!code && setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) != 0)
        code = bl_error_errno(e, BL_EFAIL, "cannot set up a socket");
    if (code) {
        close(ends[0]);
        *pid = answer.code ? -1 : 0;
        return code;
    }
    *channel = ends[0];
    *pid = (pid_t)answer.pid;
    return BL_OK;
}

int bl_fork_server_reap(const struct bl_fork_server *server, pid_t pid, int *status, struct bl_error *e)
{
    struct wish_message wish = {.wish = WISH_REAP, .pid = pid};
    struct spawn_answer answer = {0};
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return bl_error_errno(e, BL_EFAIL, "cannot make a socket");
    int code = server_ask(server, &wish, &ends[1], 1, e);
    close(ends[1]);
    if (!code)
        code = answer_receive(ends[0], "learn how a decoder process ended", &answer, e);
    close(ends[0]);
    *status = (int)answer.status;
    return code;
}
