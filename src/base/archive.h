/* Archives: files that hold other files, or rows, and are no sequence themselves. They are known by how they begin,
 * whatever their names say. */
#ifndef BL_ARCHIVE_H
#define BL_ARCHIVE_H

#include <stddef.h>

#define BL_ARCHIVE_HEAD 512 /* bytes that tell */

/* What a file is that begins with head (its first BL_ARCHIVE_HEAD bytes, or all of it), and what to do, as a reason: "a
 * tar archive: unpack it first". NULL: no archive. */
const char *bl_archive_detect(const void *head, size_t size);

#endif
