/* Writing past the page cache. For large data that is not read again soon, the cache costs a copy of every byte and the
 * search for free memory, which can take longer than the disk.
 *
 * Best effort: data that cannot be written this way is written as usual. */
#ifndef BL_DIRECT_H
#define BL_DIRECT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define BL_DIRECT_PAGE 4096 /* bytes; an alignment that every file system accepts */

/* Opens a second descriptor of a file that is open for writing, for bl_direct_pwrite only. -1: the file system does not
 * support it. */
int bl_direct_open(const char *path);

/* As bl_io_pwrite to fd, but whole pages go through direct if there are many of them and if data has the same offset
 * within a memory page as offset has within a file page. Other threads may write other parts of the file at the same
 * time. */
int bl_direct_pwrite(int direct, int fd, const void *data, size_t size, int64_t offset, const char *path,
                     struct bl_error *e);

#endif
