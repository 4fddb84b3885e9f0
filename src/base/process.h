/* Other programs: run to their end, with nothing on standard input. */
#ifndef BL_PROCESS_H
#define BL_PROCESS_H

#include "base/buffer.h"
#include "base/error.h"

/* Whether a program of that name is found in PATH. */
bool bl_process_found(const char *name);

/* Runs argv[0], found by PATH, with argv, which NULL ends. What it writes, to standard output and error alike, is
 * appended to out, or goes where ours goes when that is NULL. *status: its exit status, or 128 + the signal that ended
 * it. BL_EFAIL: it could not be run. */
int bl_process_run(const char *const argv[], struct bl_buffer *out, int *status, struct bl_error *e);

#endif
