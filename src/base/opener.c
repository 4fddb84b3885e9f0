#include "base/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/member.h"

/* A role of the process, like its standard input: set once, when it has one thread. */
static bl_opener *opener;
static void *opener_context;

void bl_opener_set(bl_opener *function, void *context)
{
    opener = function;
    opener_context = context;
}

int bl_opener_open(const char *path, int flags)
{
    char tar[PATH_MAX];
    const char *file = bl_member_file(path, tar);
    return file ? open(file, flags) : -1;
}

static int opener_open(const char *path, int flags)
{
    return opener ? opener(opener_context, path, flags) : bl_opener_open(path, flags);
}

int bl_opener_file(const char *path)
{
    return opener_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

DIR *bl_opener_folder(const char *path)
{
    int fd = opener_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_DIRECTORY);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (fd >= 0 && !folder) {
        int error = errno;
        close(fd);
        errno = error;
    }
    return folder;
}
