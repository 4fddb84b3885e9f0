#include "base/regular.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int bl_regular_check(const char *path, struct bl_error *e)
{
    struct stat status;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
        return bl_error_set(e, BL_EDATA, "%s is not a regular file", path);
    return BL_OK;
}

/* It is looked at before it is opened, since opening some devices does something, and again after that. */
int bl_regular_open(const char *path, struct bl_error *e)
{
    struct stat status;
    int code = bl_regular_check(path, e);
    if (code)
        return code;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return bl_error_errno(e, BL_EFAIL, "cannot open %s", path);
    if (fstat(fd, &status) != 0)
        code = bl_error_errno(e, BL_EFAIL, "cannot stat %s", path);
    else if (!S_ISREG(status.st_mode))
        code = bl_error_set(e, BL_EDATA, "%s is not a regular file", path);
    if (!code)
        return fd;
    close(fd);
    return code;
}
