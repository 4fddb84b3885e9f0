#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/publish.h"
#include "base/fs.h"

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
    size_t start = out->size;
    while (!code) {
        if (!bl_buffer_reserve(out, 1 << 16)) {
            code = bl_error_memory(e);
            break;
        }
        ssize_t n = read(fd, out->data + out->size, 1 << 16);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            code = bl_error_errno(e, BL_EFAIL, "cannot read %s", path);
        if (n <= 0)
            break;
        out->size += (size_t)n;
        out->data[out->size] = '\0';
        if (out->size - start > max)
            code = bl_error_set(e, BL_EFAIL, "%s is longer than %zu bytes", path, max);
    }
    if (!given)
        close(fd); /* read only: nothing can be lost by it */
    return code;
}

int bl_fs_mkdirs(const char *path, struct bl_error *e)
{
    char *copy = strdup(path);
    if (!copy)
        return bl_error_memory(e);
    int code = BL_OK;
    for (char *at = copy + (*copy == '/'); !code; at++) {
        char c = *at;
        if (c != '/' && c != '\0')
            continue;
        *at = '\0';
        if (mkdir(copy, 0777) != 0 && errno != EEXIST)
            code = bl_error_errno(e, BL_EFAIL, "cannot make the directory %s", copy);
        *at = c;
        if (c == '\0')
            break;
    }
    struct stat status;
    if (code)
        goto out;
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode))
        code = bl_error_set(e, BL_EFAIL, "%s is not a directory", path);
out:
    free(copy);
    return code;
}

int bl_fs_sync_directory(const char *path, struct bl_error *e)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return bl_error_errno(e, BL_EFAIL, "cannot open the directory %s", path);
    int code = BL_OK;
    /* Some file systems cannot sync a directory and say EINVAL: there is nothing to make durable then. */
    if (fsync(fd) != 0 && errno != EINVAL)
        code = bl_error_errno(e, BL_EFAIL, "cannot sync the directory %s", path);
    close(fd);
    return code;
}

/* The directory part of path, to be freed; "." when it has none. */
static char *path_directory(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return strdup(".");
    return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
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

int bl_fs_sync_parent(const char *path, struct bl_error *e)
{
    char *directory = path_directory(path);
    if (!directory)
        return bl_error_memory(e);
    int code = bl_fs_sync_directory(directory, e);
    free(directory);
    return code;
}

int bl_fs_rename_durable(const char *from, const char *to, struct bl_error *e)
{
    int code = bl_fs_rename(from, to, e);
    return code ? code : bl_fs_sync_parent(to, e);
}

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
    /* Containers may have one name and one process each. Where there is no randomness, host and process must do. */
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random)
        random = 0;
    bl_buffer_printf(name, "%s.part-%s-%ld-%08x", path, host, (long)getpid(), random);
    return bl_buffer_check(name, e);
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

#define OUTPUT_CHUNK ((size_t)1 << 18)

/* What path names in the end, to be freed: a link stays a link, and the file that it points to is replaced. (Above all
 * /dev/stdout, which would be replaced itself where stdout is a file.) */
static char *output_resolve(const char *path)
{
    struct stat status;
    if (lstat(path, &status) != 0 || !S_ISLNK(status.st_mode))
        return strdup(path);
    char *real = realpath(path, NULL);
    return real || errno == ENOMEM ? real : strdup(path);
}

/* A file that is there and is no regular file takes the bytes directly: a pipe has no name to rename to. */
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

static int output_flush(struct bl_output *out, struct bl_error *e)
{
    int code = bl_io_write(out->fd, out->buffer.data, out->buffer.size, out->path, e);
    bl_buffer_clear(&out->buffer);
    return code;
}

int bl_output_write(struct bl_output *out, const void *data, size_t size, struct bl_error *e)
{
    if (size >= OUTPUT_CHUNK) {
        int code = output_flush(out, e);
        return code ? code : bl_io_write(out->fd, data, size, out->path, e);
    }
    bl_buffer_append(&out->buffer, data, size);
    if (bl_buffer_check(&out->buffer, e))
        return BL_EFAIL;
    return out->buffer.size >= OUTPUT_CHUNK ? output_flush(out, e) : BL_OK;
}

/* All that was written is in the file, and that is closed. */
static int output_finish(struct bl_output *out, struct bl_error *e)
{
    int code = output_flush(out, e);
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

#define LINES_CHUNK ((size_t)1 << 20)
#define LINES_SLACK 8 /* bytes behind the buffer that may be read */

int bl_lines_open(struct bl_lines *lines, const char *path, struct bl_error *e)
{
    *lines = (struct bl_lines){.fd = -1, .path = path};
    if (strcmp(path, "-") == 0) {
        lines->path = "standard input";
        lines->fd = STDIN_FILENO;
    } else {
        lines->fd = open(path, O_RDONLY | O_CLOEXEC);
        if (lines->fd < 0)
            return bl_error_errno(e, BL_EFAIL, "cannot open %s", path);
    }
    lines->capacity = BL_LINE_MAX + LINES_CHUNK + 1;
    lines->data = calloc(1, lines->capacity + LINES_SLACK);
    if (!lines->data) {
        bl_lines_close(lines);
        return bl_error_memory(e);
    }
    return BL_OK;
}

/* Reads more behind what is left, which moves to the front. */
static int lines_refill(struct bl_lines *lines, struct bl_error *e)
{
    memmove(lines->data, lines->data + lines->at, lines->end - lines->at);
    lines->end -= lines->at;
    lines->at = 0;
    for (;;) {
        ssize_t n = read(lines->fd, lines->data + lines->end, lines->capacity - 1 - lines->end);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return bl_error_errno(e, BL_EFAIL, "cannot read %s", lines->path);
        lines->eof = n == 0;
        lines->end += (size_t)n;
        lines->read_to += n;
        return BL_OK;
    }
}

int bl_lines_next(struct bl_lines *lines, char **line, size_t *size, bool *ended, struct bl_error *e)
{
    char *newline = NULL;
    size_t searched = 0;
    for (;;) {
        size_t have = lines->end - lines->at;
        if (have > searched)
            newline = memchr(lines->data + lines->at + searched, '\n', have - searched);
        if (newline || lines->eof || have > BL_LINE_MAX)
            break;
        searched = have;
        int code = lines_refill(lines, e);
        if (code)
            return code;
    }
    if (!newline && lines->at == lines->end)
        return 0;
    *line = lines->data + lines->at;
    *size = newline ? (size_t)(newline - *line) : lines->end - lines->at;
    if (*size > BL_LINE_MAX)
        return bl_error_set(e, BL_EFAIL, "%s:%" PRId64 ": line is longer than %d bytes", lines->path, lines->number + 1,
                            BL_LINE_MAX);
    *ended = newline != NULL;
    lines->offset = lines->read_to - (int64_t)(lines->end - lines->at);
    lines->number++;
    lines->at += *size + (newline != NULL);
    (*line)[*size] = '\0';
    return 1;
}

size_t bl_lines_ahead(const struct bl_lines *lines, const char **text)
{
    *text = lines->data + lines->at;
    return lines->end - lines->at;
}

void bl_lines_skip(struct bl_lines *lines, size_t bytes, int64_t count)
{
    lines->at += bytes;
    lines->number += count;
}

void bl_lines_close(struct bl_lines *lines)
{
    if (lines->fd >= 0 && lines->fd != STDIN_FILENO)
        close(lines->fd);
    free(lines->data);
    *lines = (struct bl_lines){.fd = -1};
}
