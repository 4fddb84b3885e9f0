/* Preloaded, it makes the machine a poor one: a server's file system without locks, links and direct writes, without
 * filters of system calls, or without the libraries of HDF5 and curl; as the environment's POOR lists them. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

static int lacks(const char *what)
{
    const char *poor = getenv("POOR");
    return poor && strstr(poor, what) != NULL;
}

int flock(int fd, int how)
{
    if (lacks("twice"))
        return 0;
    if (lacks("locks")) {
        errno = ENOLCK;
        return -1;
    }
    return (int)syscall(SYS_flock, fd, how);
}

int linkat(int from, const char *name, int to, const char *other, int flags)
{
    if (lacks("links")) {
        errno = EPERM;
        return -1;
    }
    return (int)syscall(SYS_linkat, from, name, to, other, flags);
}

void *dlopen(const char *name, int how)
{
    void *(*real)(const char *, int);
    void *found = dlsym(RTLD_NEXT, "dlopen");
    if (name && ((lacks("hdf5") && strstr(name, "hdf5")) || (lacks("curl") && strstr(name, "curl"))))
        return NULL;
    memcpy(&real, &found, sizeof real);
    return real(name, how);
}

int openat(int folder, const char *name, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, int) : 0;
    va_end(more);
    if (flags & O_DIRECT && lacks("direct")) {
        errno = EINVAL;
        return -1;
    }
    return (int)syscall(SYS_openat, folder, name, flags, mode);
}

int fsync(int fd)
{
    if (lacks("sync")) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fsync, fd);
}

int statfs(const char *path, struct statfs *status)
{
    int result = (int)syscall(SYS_statfs, path, status);
    if (lacks("nfs"))
        status->f_type = 0x6969;
    return result;
}

int memfd_create(const char *name, unsigned flags)
{
    if (lacks("memory")) {
        errno = ENOSYS;
        return -1;
    }
    return (int)syscall(SYS_memfd_create, name, flags);
}

pid_t fork(void)
{
    pid_t (*next)(void) = NULL;
    void *found = dlsym(RTLD_NEXT, "fork");
    memcpy(&next, &found, sizeof next);
    if (lacks("processes")) {
        errno = EAGAIN;
        return -1;
    }
    return next();
}
