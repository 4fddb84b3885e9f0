/* Temporary files and their names. */
#ifndef BL_TEMPORARY_H
#define BL_TEMPORARY_H

#include "base/buffer.h"
#include "base/error.h"

/* The name of the machine, "" if it has none that can be part of a file name. */
void bl_temporary_host(char host[65]);

/* Appends a temporary name for path, "PATH.part-HOST-PID-RANDOM", to name. Processes that write the same file, on any
 * machines, get different names. */
int bl_temporary_name(const char *path, struct bl_buffer *name, struct bl_error *e);

/* Opens an unnamed file for writing and reading in dir (NULL: $TMPDIR or /tmp); closing the descriptor removes it.
 * Returns the descriptor, or a code. */
int bl_temporary_open(const char *dir, struct bl_error *e);

#endif
