/* How decoder processes are started and restricted: a filter of system calls, and the server that forks the
 * processes.
 *
 * The filter of system calls is written out: libseccomp would compile it in every process, and never returns where
 * memory runs out. */
#ifndef BL_FORK_SERVER_H
#define BL_FORK_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* --- system call filter ------------------------------------------------------------------------------------------- */

/* A filter of system calls (seccomp): a process that has it can use what it has open, and its memory, and nothing else.
 */

/* Lets this process, which has one thread, for the rest of its life open no file, make no socket, start no program,
 * process or thread: such calls fail with EPERM. False: the kernel has no such filters, or the processor's system calls
 * are not known here; or a sanitizer, which needs these calls, is built in. */
bool bl_syscall_filter_install(void);

/* Whether that will succeed. */
bool bl_syscall_filter_is_available(void);

/* --- fork server -------------------------------------------------------------------------------------------------- */

/* A fork server: a process with one thread, which this process forks before it has other threads, and which forks all
 * processes from then on. A process with threads must not fork them: the child would inherit locks that nobody
 * releases. */

#define BL_SPAWN_NUMBERS 3

/* What a new process is told: numbers and a descriptor. */
struct bl_spawn {
    int64_t number[BL_SPAWN_NUMBERS];
    int fd;
};

/* The work of a process, in it: channel is its end of the socket to whoever spawned it. The process ends when it
 * returns. */
typedef void bl_fork_main(const void *context, const struct bl_spawn *spawn, int channel);

struct bl_fork_server {
    pid_t pid; /* 0: not started */
    int socket;
};

/* Loads in the server what its processes need, while whoever started it goes on. */
typedef int bl_fork_load(struct bl_error *e);

/* Starts the server. Its processes see the memory of this one as it is now, and what load (or NULL) loads, and run main
 * with context; where load fails, no process starts, for the reason that load gave. All of them ignore the signals that
 * end this process, have /dev/null as standard input, output and error, and end when this one has. */
int bl_fork_server_start(struct bl_fork_server *server, bl_fork_load *load, bl_fork_main *main, const void *context,
                         struct bl_error *e);
void bl_fork_server_stop(struct bl_fork_server *server);

/* Starts a process. *channel: a stream socket to it, which the caller closes; whoever waits for a message gives up
 * after a tenth of a second. Many threads may call these. BL_EFAIL, or the code of what could not be loaded: then *pid
 * is -1, else 0. */
int bl_fork_server_spawn(const struct bl_fork_server *server, const struct bl_spawn *spawn, int *channel, pid_t *pid,
                         struct bl_error *e);

/* Waits for the end of a process, which must be near, and sets *status as waitpid does. Call it once for each. */
int bl_fork_server_reap(const struct bl_fork_server *server, pid_t pid, int *status, struct bl_error *e);

#endif
