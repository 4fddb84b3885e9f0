/* Starts and restricts decoder processes: a fork server forks them, and a system call filter (seccomp) keeps them from
 * opening files. */
#ifndef BL_FORK_SERVER_H
#define BL_FORK_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* --- system call filter ------------------------------------------------------------------------------------------- */

/* Installs the filter in this process, which must have one thread, until its end. The process can then use its memory
 * and its open descriptors only: a call that opens a file, makes a socket, or starts a program, a process or a thread
 * fails with EPERM. Returns false if the kernel has no such filters, if bload does not know the system calls of this
 * architecture, or if a sanitizer is built in, which needs these calls. */
bool bl_syscall_filter_install(void);

/* Returns whether bl_syscall_filter_install will succeed if memory suffices. */
bool bl_syscall_filter_is_available(void);

/* --- fork server -------------------------------------------------------------------------------------------------- */

/* The fork server is a process with one thread. The tool forks it before it starts threads, and the server then forks
 * all decoder processes. A process with threads must not fork them itself: the child would inherit locks that no thread
 * of the child releases. */

#define BL_SPAWN_NUMBERS 3

/* The arguments of a new process: numbers, and a descriptor that the process gets a copy of. */
struct bl_spawn {
    int64_t number[BL_SPAWN_NUMBERS];
    int fd;
};

/* The main function of a new process. channel is its end of the socket to the worker that requested it. The process
 * ends when the function returns. */
typedef void bl_fork_main(const void *context, const struct bl_spawn *spawn, int channel);

struct bl_fork_server {
    pid_t pid; /* 0: not started */
    int socket;
};

/* Loads libraries in the server, in the background of the tool, so that all its processes have them. */
typedef int bl_fork_load(const void *context, struct bl_error *e);

/* Starts the server, which first calls load(context, ...) unless it is NULL. The processes get a copy of the tool's
 * memory as it is now, and run main(context, ...). If load fails, bl_fork_server_spawn returns load's error. The server
 * and its processes ignore signals such as SIGINT and SIGTERM, have /dev/null as standard input, output and error, and
 * end when the tool ends. BL_EFAIL: the server cannot be started. */
int bl_fork_server_start(struct bl_fork_server *server, bl_fork_load *load, bl_fork_main *main, const void *context,
                         struct bl_error *e);
void bl_fork_server_stop(struct bl_fork_server *server);

/* Starts a process. *channel is a stream socket to the process, with a receive timeout of a tenth of a second; the
 * caller closes it. Any thread may call this function and the next. Returns BL_EFAIL with *pid 0, or load's code with
 * *pid -1. */
int bl_fork_server_spawn(const struct bl_fork_server *server, const struct bl_spawn *spawn, int *channel, pid_t *pid,
                         struct bl_error *e);

/* Waits for the end of a process, and sets *status as waitpid does. Call it once for each process, and only for one
 * that is about to end: the server serves no other request meanwhile. */
int bl_fork_server_reap(const struct bl_fork_server *server, pid_t pid, int *status, struct bl_error *e);

#endif
