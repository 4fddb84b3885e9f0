#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/publish.h"

/* --- temporary ---------------------------------------------------------------------------------------------------- */

/* Temporary files and their names. */

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

/* --- direct ------------------------------------------------------------------------------------------------------- */

/* Writing past the page cache. For large data that is not read again soon, the cache costs a copy of every byte and the
 * search for free memory, which can take longer than the disk.
 *
 * Best effort: data that cannot be written this way is written as usual. */

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

/* --- output ------------------------------------------------------------------------------------------------------- */

#define OUTPUT_CHUNK ((size_t)1 << 18)

/* Resolves links in path; the caller frees the result. A link remains, and the file it points to is replaced. Without
 * this, /dev/stdout itself would be replaced where stdout is a file. */
static char *output_resolve(const char *path)
{
    struct stat status;
    if (lstat(path, &status) != 0 || !S_ISLNK(status.st_mode))
        return strdup(path);
    char *real = realpath(path, NULL);
    return real || errno == ENOMEM ? real : strdup(path);
}

/* An existing file that is not regular, such as a pipe, is written directly: it has no name to rename to. */
static bool output_is_direct(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

static int output_open_temporary(struct bl_output *out, struct bl_error *e)
{
    struct bl_buffer name = {0};
    if (bl_temporary_name(out->path, &name, e)) {
        bl_buffer_free(&name);
        return BL_EFAIL;
    }
    out->temporary = name.data;
    out->fd = bl_fs_create(out->temporary, O_WRONLY, e);
    if (out->fd < 0) {
        free(out->temporary);
        out->temporary = NULL;
        return BL_EFAIL;
    }
    return BL_OK;
}

int bl_output_own(struct bl_output *out, const char *path, struct bl_error *e)
{
    *out = (struct bl_output){.fd = -1, .path = strdup(path)};
    int code = out->path ? output_open_temporary(out, e) : bl_error_memory(e);
    if (code)
        bl_output_abort(out);
    return code;
}

int bl_output_open(struct bl_output *out, const char *path, struct bl_error *e)
{
    bool is_stdout = !path || strcmp(path, "-") == 0;
    *out = (struct bl_output){.fd = -1};
    out->path = is_stdout ? strdup("standard output") : output_resolve(path);
    if (!out->path)
        return bl_error_memory(e);
    int code = BL_OK;
    if (is_stdout) {
        out->fd = STDOUT_FILENO;
    } else if (output_is_direct(out->path)) {
        out->fd = open(out->path, O_WRONLY | O_CLOEXEC);
        if (out->fd < 0)
            code = bl_error_errno(e, BL_EFAIL, "cannot open %s", out->path);
    } else {
        code = output_open_temporary(out, e);
    }
    if (code)
        bl_output_abort(out);
    return code;
}

int bl_output_unnamed(struct bl_output *out, const char *dir, struct bl_error *e)
{
    char path[32];
    *out = (struct bl_output){.fd = bl_temporary_open(dir, e)};
    if (out->fd < 0)
        return BL_EFAIL;
    snprintf(path, sizeof path, "/dev/fd/%d", out->fd);
    out->path = strdup(path);
    if (out->path)
        return BL_OK;
    close(out->fd);
    *out = (struct bl_output){.fd = -1};
    return bl_error_memory(e);
}

void bl_output_mind_terminal(struct bl_output *out)
{
    out->escapes = isatty(out->fd) == 1;
}

/* Those of ASCII, and U+0080 to U+009F. A character may be cut where a buffer ends; such a half is no command. */
static int output_put_escaped(const struct bl_output *out, const unsigned char *text, size_t size, struct bl_error *e)
{
    struct bl_buffer plain = {0};
    for (size_t i = 0; i < size; i++) {
        bool of_two = text[i] == 0xc2 && i + 1 < size && text[i + 1] >= 0x80 && text[i + 1] < 0xa0;
        bool is_control = (text[i] < ' ' && text[i] != '\t' && text[i] != '\n') || text[i] == 0x7f;
        if (of_two)
            bl_buffer_printf(&plain, "\\x%02X\\x%02X", text[i], text[i + 1]);
        else if (is_control)
            bl_buffer_printf(&plain, "\\x%02X", text[i]);
        else
            bl_buffer_byte(&plain, (char)text[i]);
        i += of_two;
    }
    int code = bl_buffer_check(&plain, e);
    if (!code)
        code = bl_io_write(out->fd, plain.data, plain.size, out->path, e);
    bl_buffer_free(&plain);
    return code;
}

static int output_put(struct bl_output *out, const void *data, size_t size, struct bl_error *e)
{
    if (out->escapes && size)
        return output_put_escaped(out, data, size, e);
    if (out->sum && size)
        bl_checksum_add(out->sum, data, size);
    return bl_io_write(out->fd, data, size, out->path, e);
}

int bl_output_flush(struct bl_output *out, struct bl_error *e)
{
    int code = output_put(out, out->buffer.data, out->buffer.size, e);
    bl_buffer_clear(&out->buffer);
    return code;
}

int bl_output_write(struct bl_output *out, const void *data, size_t size, struct bl_error *e)
{
    if (size >= OUTPUT_CHUNK) {
        int code = bl_output_flush(out, e);
        return code ? code : output_put(out, data, size, e);
    }
    bl_buffer_append(&out->buffer, data, size);
    if (bl_buffer_check(&out->buffer, e))
        return BL_EFAIL;
    return out->buffer.size >= OUTPUT_CHUNK ? bl_output_flush(out, e) : BL_OK;
}

/* Flushes, syncs and closes the file. */
static int output_finish(struct bl_output *out, struct bl_error *e)
{
    int code = bl_output_flush(out, e);
    if (code)
        return code;
    if (out->temporary && fsync(out->fd) != 0)
        code = bl_error_errno(e, BL_EFAIL, "cannot sync %s", out->temporary);
    if (code)
        return code;
    if (out->fd != STDOUT_FILENO) {
        if (close(out->fd) != 0)
            code = bl_error_errno(e, BL_EFAIL, "cannot close %s", out->path);
        out->fd = -1;
    }
    return code;
}

int bl_output_commit(struct bl_output *out, struct bl_error *e)
{
    int code = output_finish(out, e);
    if (code)
        goto out;
    if (out->temporary) {
        code = bl_fs_rename_durable(out->temporary, out->path, e);
        if (!code) {
            free(out->temporary);
            out->temporary = NULL;
        }
    }
out:
    bl_output_abort(out);
    return code;
}

int bl_output_publish(struct bl_output *out, struct bl_error *e)
{
    int code = output_finish(out, e);
    if (code)
        goto out;
    if (out->temporary)
        code = bl_publish_file(out->temporary, out->path, e);
out:
    bl_output_abort(out);
    return code;
}

void bl_output_abort(struct bl_output *out)
{
    if (!out->path)
        return;
    if (out->fd >= 0 && out->fd != STDOUT_FILENO)
        close(out->fd);
    if (out->temporary)
        (void)bl_fs_unlink(out->temporary);
    free(out->temporary);
    free(out->path);
    bl_buffer_free(&out->buffer);
    *out = (struct bl_output){.fd = -1};
}

int bl_output_replace(const char *path, const void *data, size_t size, struct bl_error *e)
{
    struct bl_output out = {0};
    int code = bl_output_own(&out, path, e);
    if (code)
        goto out;
    code = bl_output_write(&out, data, size, e);
    if (code)
        goto out;
    code = bl_output_commit(&out, e);
out:
    bl_output_abort(&out);
    return code;
}
