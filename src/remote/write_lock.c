/* A file of its own, since a lock of a folder is another subject than requests to a store. A thread waits by looking
 * again and again, since flock(2) waits without noticing that the run was cancelled. */
#include "remote/write_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fs.h"

#define PAUSE_MICROSECONDS 10000

int bl_write_lock_take(const char *folder, const struct bl_cancel *cancel, int *fd, struct bl_error *e)
{
    char *path = bl_path_join(folder, BL_WRITE_LOCK_FILE);
    *fd = -1;
    if (!path)
        return bl_error_memory(e);
    int code = BL_OK, file = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file < 0)
        code = bl_error_errno(e, errno == ENOENT || errno == ENOTDIR ? BL_EUSAGE : BL_EFAIL, "cannot open %s", path);
    /* Threads have descriptors of their own, so that they keep each other away, too. */
    while (!code && flock(file, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            code = bl_error_errno(e, BL_EFAIL, "cannot lock %s", path);
        else if (cancel && bl_cancelled(cancel))
            code = BL_ECANCEL;
        else
            usleep(PAUSE_MICROSECONDS);
    }
    if (code && file >= 0)
        close(file);
    *fd = code ? -1 : file;
    free(path);
    return code;
}

void bl_write_lock_release(int fd)
{
    if (fd >= 0)
        close(fd);
}
