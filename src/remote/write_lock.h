/* A lock for writers to a store that compares no conditions: a file in a folder that all of them share.
 *
 * Whoever writes on a condition holds the lock, looks at the object, and writes. All writers must use the same folder,
 * whose file system must have locks (flock), and no others may write there. */
#ifndef BL_WRITE_LOCK_H
#define BL_WRITE_LOCK_H

#include "base/cancel.h"
#include "base/error.h"

#define BL_WRITE_LOCK_FILE "bload.lock"

/* Waits for the lock of the folder, and sets *fd. BL_EUSAGE: the folder is not there; BL_EFAIL: it has no locks;
 * BL_ECANCEL. */
int bl_write_lock_take(const char *folder, const struct bl_cancel *cancel, int *fd, struct bl_error *e);

/* Releases the lock; -1 is accepted. */
void bl_write_lock_release(int fd);

#endif
