#include "base/direct.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/io.h"
#include "base/fs.h"

/* Smaller writes go through the cache: each direct write waits for the disk. */
#define DIRECT_MIN ((size_t)1 << 20)

int bl_direct_open(const char *path)
{
    const char *name;
    int folder = bl_fs_open_parent(path, &name, NULL);
    int fd = folder < 0 ? -1 : openat(folder, name, O_WRONLY | O_DIRECT | O_NOFOLLOW | O_CLOEXEC);
    if (folder >= 0)
        close(folder);
    return fd;
}

/* Some file systems accept the flag and then demand more than page alignment, and a short write leaves an unaligned
 * rest. In both cases an ordinary write takes over. */
static int direct_write_pages(int direct, int fd, const char *data, size_t size, int64_t offset, const char *path,
                              struct bl_error *e)
{
    while (size) {
        ssize_t n = pwrite(direct, data, size, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EINVAL)
            return bl_io_pwrite(fd, data, size, offset, path, e);
        if (n < 0)
            return bl_error_errno(e, BL_EFAIL, "cannot write %s", path);
        data += n;
        offset += n;
        size -= (size_t)n;
    }
    return BL_OK;
}

/* Starts writing to the disk early, so that the final sync has little left. This is only a hint: errors appear at the
 * sync. */
static int direct_write_cached(int fd, const void *data, size_t size, int64_t offset, const char *path,
                               struct bl_error *e)
{
    int code = bl_io_pwrite(fd, data, size, offset, path, e);
    if (code)
        return code;
    if (size >= DIRECT_MIN)
        (void)sync_file_range(fd, offset, (off_t)size, SYNC_FILE_RANGE_WRITE);
    return BL_OK;
}

int bl_direct_pwrite(int direct, int fd, const void *data, size_t size, int64_t offset, const char *path,
                     struct bl_error *e)
{
    const char *at = data;
    bool aligned = (uintptr_t)data % BL_DIRECT_PAGE == (uint64_t)offset % BL_DIRECT_PAGE;
    if (direct < 0 || !aligned || size < DIRECT_MIN)
        return direct_write_cached(fd, data, size, offset, path, e);
    size_t head = (size_t)(-(uint64_t)offset % BL_DIRECT_PAGE);
    size_t pages = (size - head) / BL_DIRECT_PAGE * BL_DIRECT_PAGE, tail = size - head - pages;
    int code = bl_io_pwrite(fd, at, head, offset, path, e);
    if (code)
        return code;
    code = direct_write_pages(direct, fd, at + head, pages, offset + (int64_t)head, path, e);
    if (code)
        return code;
    return bl_io_pwrite(fd, at + head + pages, tail, offset + (int64_t)(head + pages), path, e);
}
