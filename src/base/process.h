/* Runs other programs to their end, with an empty standard input. */
#ifndef BL_PROCESS_H
#define BL_PROCESS_H

#include "base/buffer.h"
#include "base/error.h"

/* Whether PATH contains a program of that name. */
bool bl_process_found(const char *name);

/* Runs argv[0], found through PATH, with argv, which ends with NULL. Its standard output and error are appended to out,
 * or inherited if out is NULL. *status: its exit status, or 128 + the signal that ended it. BL_EFAIL: it did not
 * start. */
int bl_process_run(const char *const argv[], struct bl_buffer *out, int *status, struct bl_error *e);

/* "SIGSEGV", or NULL for a signal that hardly ends a process. */
const char *bl_process_signal(int signal);

#endif
