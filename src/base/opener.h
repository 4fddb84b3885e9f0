/* Opens the files and folders of inputs for reading; for a member of a tar (base/member.h), the tar. A process that may
 * open nothing has its opener ask another one. */
#ifndef BL_OPENER_H
#define BL_OPENER_H

#include <dirent.h>

/* As open(2) with these flags: a descriptor, or -1 with errno. */
typedef int bl_opener(void *context, const char *path, int flags);

/* Sets the opener of this process, before it has threads. NULL: open(2). */
void bl_opener_set(bl_opener *opener, void *context);

/* Opens a file in this process. */
int bl_opener_open(const char *path, int flags);

/* Opens a file for reading, without waiting for a pipe's writer. -1 with errno. */
int bl_opener_file(const char *path);

/* As opendir(3). */
DIR *bl_opener_folder(const char *path);

#endif
