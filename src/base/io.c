#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/text.h"

int bl_io_write(int fd, const void *data, size_t size, const char *path, struct bl_error *e)
{
    const char *at = data;
    while (size) {
        ssize_t n = write(fd, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return bl_error_errno(e, BL_EFAIL, "cannot write %s", path);
        at += n;
        size -= (size_t)n;
    }
    return BL_OK;
}

int bl_io_pwrite(int fd, const void *data, size_t size, int64_t offset, const char *path, struct bl_error *e)
{
    const char *at = data;
    while (size) {
        ssize_t n = pwrite(fd, at, size, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return bl_error_errno(e, BL_EFAIL, "cannot write %s", path);
        at += n;
        offset += n;
        size -= (size_t)n;
    }
    return BL_OK;
}

int bl_io_read(int fd, void *data, size_t size, size_t *got, const char *path, struct bl_error *e)
{
    ssize_t n;
    do
        n = read(fd, data, size);
    while (n < 0 && errno == EINTR);
    *got = n < 0 ? 0 : (size_t)n;
    return n < 0 ? bl_error_errno(e, BL_EFAIL, "cannot read %s", path) : BL_OK;
}

int bl_io_pread(int fd, void *data, size_t size, int64_t offset, const char *path, struct bl_error *e)
{
    char *at = data;
    while (size) {
        ssize_t n = pread(fd, at, size, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return bl_error_errno(e, BL_EFAIL, "cannot read %s", path);
        if (n == 0)
            return bl_error_set(e, BL_EFAIL, "%s ends at byte %" PRId64 ", %zu bytes early", path, offset, size);
        at += n;
        offset += n;
        size -= (size_t)n;
    }
    return BL_OK;
}

int bl_io_check_path(const char *path, struct bl_error *e)
{
    struct stat status;
    if (strcmp(path, "-") == 0 || stat(path, &status) == 0 || (errno != ENOENT && errno != ENOTDIR))
        return BL_OK;
    if (bl_path_is_url(path))
        return bl_error_set(e, BL_EUSAGE,
                            "%s is a URL, and bload reads local files: copy it, or mount it (the Python package opens "
                            "datasets by URL)",
                            path);
    return bl_error_errno(e, BL_EUSAGE, "cannot open %s", path);
}

int bl_io_read_file(const char *path, size_t max, struct bl_buffer *out, struct bl_error *e)
{
    bool given = strcmp(path, "-") == 0;
    int fd = given ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return bl_error_errno(e, BL_EFAIL, "cannot open %s", path);
    path = given ? "standard input" : path;
    int code = BL_OK;
    size_t start = out->size, got;
    while (!code) {
        if (!bl_buffer_reserve(out, 1 << 16)) {
            code = bl_error_memory(e);
            break;
        }
        code = bl_io_read(fd, out->data + out->size, 1 << 16, &got, path, e);
        if (code || !got)
            break;
        out->size += got;
        out->data[out->size] = '\0';
        if (out->size - start > max)
            code = bl_error_set(e, BL_EFAIL, "%s is longer than %zu bytes", path, max);
    }
    if (!given)
        close(fd); /* read only: no data to lose */
    return code;
}
