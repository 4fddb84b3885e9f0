/* Archives: files that hold other files, or rows, and are not sequences themselves. Their first bytes identify them,
 * whatever their names. */
#ifndef BL_ARCHIVE_H
#define BL_ARCHIVE_H

#include <stddef.h>

#define BL_ARCHIVE_HEAD 512 /* bytes that identify an archive */

/* Returns what kind of archive begins with head (the first BL_ARCHIVE_HEAD bytes of a file, or all of it), and what to
 * do, as a reason: "a tar archive: unpack it first". NULL: no archive. */
const char *bl_archive_detect(const void *head, size_t size);

#endif
