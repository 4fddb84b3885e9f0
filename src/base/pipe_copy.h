/* Copies of inputs that can be read only once, such as standard input or a pipe, so that they can be read repeatedly
 * like a file. */
#ifndef BL_PIPE_COPY_H
#define BL_PIPE_COPY_H

#include "base/error.h"

/* {.fd = -1}: nothing is copied. */
struct bl_pipe_copy {
    int fd;           /* an unnamed file with all that was read, or -1 */
    const char *name; /* of the source, for messages; owned by the caller */
    char path[32];    /* opens the copy */
};

/* Copies path if it is "-" or a pipe; does nothing for a file. BL_EUSAGE: path does not exist. */
int bl_pipe_copy_open(struct bl_pipe_copy *held, const char *path, struct bl_error *e);

/* Returns the path to open in place of path. */
const char *bl_pipe_copy_path(const struct bl_pipe_copy *held, const char *path);

/* Replaces the copy's path at the start of a message with the source's name. */
void bl_pipe_copy_fix_error(const struct bl_pipe_copy *held, struct bl_error *e);
void bl_pipe_copy_close(struct bl_pipe_copy *held);

#endif
