/* Temporary files and their names. */
#ifndef BL_TEMPORARY_H
#define BL_TEMPORARY_H

#include "base/buffer.h"
#include "base/error.h"

/* The machine's name, "" where it has none that can be part of a file's. */
void bl_temporary_host(char host[65]);

/* A name for what shall be path when it is whole, "PATH.part-HOST-PID-RANDOM": of two who are at the same file, on
 * whatever machine, each has its own. Appended to name. */
int bl_temporary_name(const char *path, struct bl_buffer *name, struct bl_error *e);

/* A file without a name, to be written and read, in dir (NULL: $TMPDIR or /tmp): it goes with its descriptor. The
 * descriptor, or a code. */
int bl_temporary_open(const char *dir, struct bl_error *e);

#endif
