#include "base/temporary.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/fs.h"

void bl_temporary_host(char host[65])
{
    memset(host, 0, 65);
    if (gethostname(host, 64) != 0 || strchr(host, '/'))
        host[0] = '\0';
}

int bl_temporary_name(const char *path, struct bl_buffer *name, struct bl_error *e)
{
    char host[65];
    unsigned random = 0;
    bl_temporary_host(host);
    /* Containers may share a host name and process number. Without random bytes, host and process must suffice. */
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random)
        random = 0;
    bl_buffer_printf(name, "%s.part-%s-%ld-%08x", path, host, (long)getpid(), random);
    return bl_buffer_check(name, e);
}

int bl_temporary_open(const char *dir, struct bl_error *e)
{
    struct bl_buffer path = {0}, name = {0};
    dir = dir ? dir : getenv("TMPDIR");
    bl_buffer_printf(&path, "%s/bload", dir && *dir ? dir : "/tmp");
    int fd = bl_buffer_check(&path, e);
    if (!fd)
        fd = bl_temporary_name(path.data, &name, e);
    if (!fd)
        fd = bl_fs_create(name.data, O_RDWR, e);
    if (fd >= 0)
        (void)bl_fs_unlink(name.data);
    bl_buffer_free(&path);
    bl_buffer_free(&name);
    return fd;
}
