/* Held: what can be read but once - standard input, a pipe - and is to be read as often as a file. */
#ifndef BL_PIPE_COPY_H
#define BL_PIPE_COPY_H

#include "base/error.h"

/* {.fd = -1} while nothing is held. */
struct bl_pipe_copy {
    int fd;           /* of a file without a name, with all that was read; or -1 */
    const char *name; /* of what it was read from, for messages; the caller's */
    char path[32];    /* by which it is opened */
};

/* Holds what path leads to, "-" or a pipe; nothing is done with a file. BL_EUSAGE: there is no such thing. */
int bl_pipe_copy_open(struct bl_pipe_copy *held, const char *path, struct bl_error *e);

/* The path to be opened in place of the one that was given. */
const char *bl_pipe_copy_path(const struct bl_pipe_copy *held, const char *path);

/* Calls what is held by its own name, where a message begins with its path. */
void bl_pipe_copy_fix_error(const struct bl_pipe_copy *held, struct bl_error *e);
void bl_pipe_copy_close(struct bl_pipe_copy *held);

#endif
