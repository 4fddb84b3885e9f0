/* Files that must be regular ones: whoever can write to a dataset could put a pipe, a socket or a device into the place
 * of one, of which opening or reading waits, or does something. */
#ifndef BL_REGULAR_H
#define BL_REGULAR_H

#include "base/error.h"

/* Opens a regular file for reading, without waiting. The descriptor; BL_EFAIL; BL_EDATA: it is something else. */
int bl_regular_open(const char *path, struct bl_error *e);

/* BL_EDATA: there is something, which is no regular file. What opens it next reports all else. */
int bl_regular_check(const char *path, struct bl_error *e);

#endif
