/* Writing past the page cache. For large pieces of which nothing is read again soon the cache costs a copy of every
 * byte and memory that must first be found, which can take longer than the disk does.
 *
 * Best effort: what cannot go this way goes the ordinary one. */
#ifndef BL_DIRECT_H
#define BL_DIRECT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define BL_DIRECT_PAGE 4096 /* bytes: what any file system is content with */

/* A second descriptor of a file that is open for writing, for bl_direct_pwrite alone; or -1 where the file system has
 * no such way. */
int bl_direct_open(const char *path);

/* As bl_io_pwrite to fd, but whole pages go through direct if there are many of them, and if data lies in its page of
 * memory as offset lies in its page of the file. Other parts of the file may be written at the same time. */
int bl_direct_pwrite(int direct, int fd, const void *data, size_t size, int64_t offset, const char *path,
                     struct bl_error *e);

#endif
