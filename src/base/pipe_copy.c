#include "base/pipe_copy.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/temporary.h"

static int pipe_copy_fill(int from, int to, const char *name, struct bl_error *e)
{
    char chunk[1 << 16];
    for (;;) {
        size_t got;
        int code = bl_io_read(from, chunk, sizeof chunk, &got, name, e);
        if (code || !got)
            return code;
        code = bl_io_write(to, chunk, got, "a temporary file", e);
        if (code)
            return code;
    }
}

int bl_pipe_copy_open(struct bl_pipe_copy *held, const char *path, struct bl_error *e)
{
    struct stat status;
    bool given = strcmp(path, "-") == 0;
    *held = (struct bl_pipe_copy){.fd = -1, .name = given ? "standard input" : path};
    int code = given ? BL_OK : bl_io_check_path(path, e);
    if (code || (!given && (stat(path, &status) != 0 || !S_ISFIFO(status.st_mode))))
        return code;
    int from = given ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return bl_error_errno(e, BL_EFAIL, "cannot open %s", path);
    held->fd = bl_temporary_open(NULL, e);
    code = held->fd < 0 ? held->fd : pipe_copy_fill(from, held->fd, held->name, e);
    if (!given)
        close(from); /* read only: no data to lose */
    snprintf(held->path, sizeof held->path, "/dev/fd/%d", held->fd);
    return code;
}

const char *bl_pipe_copy_path(const struct bl_pipe_copy *held, const char *path)
{
    return held->fd >= 0 ? held->path : path;
}

void bl_pipe_copy_fix_error(const struct bl_pipe_copy *held, struct bl_error *e)
{
    size_t size = strlen(held->path);
    char rest[sizeof e->text];
    if (held->fd < 0 || strncmp(e->text, held->path, size) != 0)
        return;
    memcpy(rest, e->text + size, strlen(e->text + size) + 1);
    snprintf(e->text, sizeof e->text, "%s%.*s", held->name, (int)(sizeof rest - 1 - strlen(held->name)), rest);
}

void bl_pipe_copy_close(struct bl_pipe_copy *held)
{
    if (held->fd >= 0)
        close(held->fd);
    held->fd = -1;
}
