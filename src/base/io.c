/* Complete reads and writes, checksums of files, and the lines of a file or of standard input.
 *
 * A single read(2) may return 3 of 10 bytes, at a pipe or after a signal, so that every loop here repeats the call
 * until all bytes are transferred. Errors name the file, since the caller's message would otherwise say only that
 * "something" could not be read. Functions that take a descriptor leave it open; those that take a path close it. */
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

/* --- reads and writes --------------------------------------------------------------------------------------------- */

/* Writes all bytes at an offset, or at the file's position if offset is -1. The loop continues after a short write, and
 * after a signal that interrupted the call. */
static int write_all(int fd, const char *data, size_t size, int64_t offset, const char *path, struct bl_error *e)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = offset < 0 ? write(fd, data + done, size - done)
                               : pwrite(fd, data + done, size - done, offset + (int64_t)done);
        if (n < 0 && errno != EINTR)
            return bl_error_errno(e, BL_EFAIL, "cannot write %s", path);
        done += n < 0 ? 0 : (size_t)n;
    }
    return BL_OK;
}

int bl_io_write(int fd, const void *data, size_t size, const char *path, struct bl_error *e)
{
    return write_all(fd, data, size, -1, path, e);
}

/* Leaves the file's position alone, so that several threads may write to one descriptor. */
int bl_io_pwrite(int fd, const void *data, size_t size, int64_t offset, const char *path, struct bl_error *e)
{
    return write_all(fd, data, size, offset, path, e);
}

/* EINTR alone is repeated: a short read is a result here, since the caller reads until *got is 0. */
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
    /* The caller knows the size and the offset from a header or a table. */
    while (size) {
        ssize_t n = pread(fd, at, size, offset);
        if (n < 0 && errno == EINTR)
            continue;
        /* The error names the offset at which the file ends and the bytes that remain: the file was truncated
         * meanwhile. */
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

/* Other errors than a name that does not exist, such as EACCES, are left to the open that follows: its message says
 * what was to be done with the file. */
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

/* The size of the file is not used: standard input
 * and files of /proc have none. The NUL behind the text fits, because a buffer always keeps one spare byte. */
int bl_io_read_all(int fd, const char *path, size_t max, struct bl_buffer *out, struct bl_error *e)
{
    size_t start = out->size, got;
    for (;;) {
        if (!bl_buffer_reserve(out, 1 << 16))
            return bl_error_memory(e);
        int code = bl_io_read(fd, out->data + out->size, 1 << 16, &got, path, e);
        if (code || !got)
            return code;
        out->size += got;
        out->data[out->size] = '\0';
        if (out->size - start > max)
            return bl_error_set(e, BL_EFAIL, "%s is longer than %zu bytes", path, max);
    }
}

int bl_io_read_existing(const char *path, size_t max, struct bl_buffer *out, bool *exists, struct bl_error *e)
{
    /* One open() answers both questions, whether the file exists and what it contains. */
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *exists = fd >= 0 || errno != ENOENT;
    if (!*exists)
        return BL_OK;
    if (fd < 0)
        return bl_error_errno(e, BL_EFAIL, "cannot open %s", path);
    int code = bl_io_read_all(fd, path, max, out, e);
    close(fd); /* read only: no data to lose */
    return code;
}

/* Errors name "-" as standard input. */
int bl_io_read_file(const char *path, size_t max, struct bl_buffer *out, struct bl_error *e)
{
    if (strcmp(path, "-") == 0)
        return bl_io_read_all(STDIN_FILENO, "standard input", max, out, e);
    bool exists;
    /* No call has failed here, and the message takes its reason from errno. */
    int code = bl_io_read_existing(path, max, out, &exists, e);
    errno = ENOENT;
    return code || exists ? code : bl_error_errno(e, BL_EFAIL, "cannot open %s", path);
}

/* --- checksums of files ------------------------------------------------------------------------------------------- */

#define CHUNK ((size_t)1 << 20) /* bytes: large enough that the calls cost nothing beside XXH3 */

int bl_checksum_range(int fd, int64_t offset, int64_t size, const char *path, uint64_t *checksum, struct bl_error *e)
{
    char *chunk = malloc(CHUNK);
    if (!chunk)
        return bl_error_memory(e);
    struct bl_checksum_state state;
    bl_checksum_begin(&state);
    int code = BL_OK;
    while (size > 0 && !code) {
        /* The last part is shorter. */
        size_t part = size < (int64_t)CHUNK ? (size_t)size : CHUNK;
        code = bl_io_pread(fd, chunk, part, offset, path, e);
        if (!code)
            bl_checksum_add(&state, chunk, part);
        offset += (int64_t)part;
        size -= (int64_t)part;
    }
    /* After an error this is the checksum of a part, which the caller does not use. */
    *checksum = bl_checksum_end(&state);
    free(chunk);
    return code;
}

int bl_checksum_file(const char *path, int64_t *bytes, uint64_t *checksum, struct bl_error *e)
{
    /* Devices and pipes are refused before they are opened: opening a pipe without a writer would block. */
    int fd = bl_regular_open(path, e);
    if (fd < 0)
        return fd;
    struct stat status;
    int code;
    if (fstat(fd, &status) == 0) {
        *bytes = status.st_size;
        code = bl_checksum_range(fd, 0, status.st_size, path, checksum, e);
    } else {
        code = bl_error_errno(e, BL_EFAIL, "cannot stat %s", path);
    }
    close(fd);
    return code;
}

int bl_sealed_read(const char *path, size_t max, struct bl_buffer *text, struct bl_error *e)
{
    /* The file may lie in a folder where others can write: a pipe there would block the read. */
    BL_TRY(bl_regular_check(path, e));
    BL_TRY(bl_io_read_file(path, max, text, e));
    return bl_sealed_open(text, path, e);
}

/* --- lines -------------------------------------------------------------------------------------------------------- */

#define LINES_CHUNK ((size_t)1 << 20) /* bytes that one read() gets at least, while the file has them */
#define LINES_SLACK 8 /* readable bytes behind the buffer: parsers load words of 8 bytes across the end of the text */

/* Makes room for the lines of an open descriptor, which is closed if that fails. */
static int lines_begin(struct bl_lines *lines, struct bl_error *e)
{
    /* The longest line that is allowed, one chunk behind it, and the NUL that replaces the mark of the last line. */
    lines->capacity = BL_LINE_MAX + LINES_CHUNK + 1;
    lines->data = calloc(1, lines->capacity + LINES_SLACK);
    if (lines->data)
        return BL_OK;
    /* bl_lines_close closes the descriptor, too, and resets the object. */
    bl_lines_close(lines);
    return bl_error_memory(e);
}

int bl_lines_open(struct bl_lines *lines, const char *path, struct bl_error *e)
{
    *lines = (struct bl_lines){.fd = -1, .path = path, .mark = '\n'};
    if (strcmp(path, "-") == 0) {
        lines->path = "standard input";
        lines->fd = STDIN_FILENO;
    } else {
        lines->fd = open(path, O_RDONLY | O_CLOEXEC);
        if (lines->fd < 0)
            return bl_error_errno(e, BL_EFAIL, "cannot open %s", path);
    }
    return lines_begin(lines, e);
}

/* Moves the unused bytes to the front of the buffer and reads more behind them. Pointers to earlier lines become
 * invalid. The checksum covers each byte once, when it arrives. */
static int lines_refill(struct bl_lines *lines, struct bl_error *e)
{
    memmove(lines->data, lines->data + lines->at, lines->end - lines->at);
    lines->end -= lines->at;
    lines->at = 0;
    size_t got;
    /* One byte stays free for the NUL of a last line without a line end. */
    int code = bl_io_read(lines->fd, lines->data + lines->end, lines->capacity - 1 - lines->end, &got, lines->path, e);
    lines->eof = !code && !got;
    if (!code && got && lines->sum)
        bl_checksum_add(lines->sum, lines->data + lines->end, got);
    lines->end += got;
    lines->read_to += (int64_t)got;
    return code;
}

/* Reads more than one line can have before it decides which mark ends the lines: the first name alone may be long. */
static int lines_find_mark(struct bl_lines *lines, struct bl_error *e)
{
    int code = BL_OK;
    while (!code && !lines->eof && lines->end <= BL_LINE_MAX)
        code = lines_refill(lines, e);
    const char *other = code ? NULL : bl_utf8_other_mark(lines->data, lines->end);
    if (other)
        code = bl_error_set(e, BL_EFAIL, "%s: %s", lines->path, other);
    if (!code && memchr(lines->data, '\0', lines->end))
        lines->mark = '\0';
    /* The byte order mark of UTF-8. Some editors write it, and no file has it in its name. */
    if (!code && lines->end >= 3 && memcmp(lines->data, "\xef\xbb\xbf", 3) == 0)
        lines->at = 3;
    if (code)
        bl_lines_close(lines);
    return code;
}

int bl_lines_open_list(struct bl_lines *lines, const char *path, struct bl_error *e)
{
    BL_TRY(bl_lines_open(lines, path, e));
    return lines_find_mark(lines, e);
}

int bl_lines_take(struct bl_lines *lines, int fd, const char *path, struct bl_error *e)
{
    *lines = (struct bl_lines){.fd = fd, .path = path, .mark = '\n'};
    return lines_begin(lines, e);
}

int bl_lines_take_list(struct bl_lines *lines, int fd, const char *path, struct bl_error *e)
{
    BL_TRY(bl_lines_take(lines, fd, path, e));
    return lines_find_mark(lines, e);
}

/* The loop searches only bytes that the previous turn has not searched, so that a long line costs linear time. */
int bl_lines_next(struct bl_lines *lines, char **line, size_t *size, bool *ended, struct bl_error *e)
{
    char *newline = NULL;
    size_t searched = 0;
    *line = NULL;
    for (;;) {
        size_t have = lines->end - lines->at;
        if (have > searched)
            newline = memchr(lines->data + lines->at + searched, lines->mark, have - searched);
        if (newline || lines->eof || have > BL_LINE_MAX)
            break;
        searched = have;
        BL_TRY(lines_refill(lines, e));
    }
    if (!newline && lines->at == lines->end)
        return BL_OK;
    /* The last line of a file may end without a mark. */
    char *begin = lines->data + lines->at;
    *size = newline ? (size_t)(newline - begin) : lines->end - lines->at;
    if (*size > BL_LINE_MAX)
        return bl_error_set(e, BL_EFAIL, "%s:%" PRId64 ": line is longer than %d bytes", lines->path, lines->number + 1,
                            BL_LINE_MAX);
    *ended = newline != NULL;
    /* data + end lies at read_to in the file, and data + at lies (end - at) bytes before it. */
    lines->offset = lines->read_to - (int64_t)(lines->end - lines->at);
    lines->number++;
    lines->at += *size + (newline != NULL);
    begin[*size] = '\0';
    *line = begin;
    return BL_OK;
}

/* The text is what lines_refill has read, so that it may end within a line. */
size_t bl_lines_ahead(const struct bl_lines *lines, const char **text)
{
    *text = lines->data + lines->at;
    return lines->end - lines->at;
}

/* The caller has parsed `count` lines of bl_lines_ahead, which have `bytes` bytes with their line ends. */
void bl_lines_skip(struct bl_lines *lines, size_t bytes, int64_t count)
{
    lines->at += bytes;
    lines->number += count;
}

/* Appends each line that is not empty, with a NUL and without the \r of a Windows line end. A zero byte within a line
 * means that this is another file, such as an image or an archive. */
static int list_append_lines(struct bl_lines *lines, struct bl_buffer *out, struct bl_error *e)
{
    char *line;
    size_t size;
    bool ended;
    int code;
    while (!(code = bl_lines_next(lines, &line, &size, &ended, e)) && line) {
        if (strlen(line) != size)
            return bl_error_set(e, BL_EFAIL, "%s: a zero byte: not a list of ids", lines->path);
        if (size && line[size - 1] == '\r')
            line[--size] = '\0';
        if (size)
            bl_buffer_append(out, line, size + 1);
    }
    return code ? code : bl_buffer_check(out, e);
}

int bl_lines_append_list(const char *path, struct bl_buffer *out, struct bl_error *e)
{
    struct bl_lines lines;
    /* A missing list is the user's error (BL_EUSAGE), other failures are the system's. */
    BL_TRY(bl_io_check_path(path, e));
    BL_TRY(bl_lines_open_list(&lines, path, e));
    int code = list_append_lines(&lines, out, e);
    bl_lines_close(&lines);
    return code;
}

void bl_lines_close(struct bl_lines *lines)
{
    /* Standard input belongs to the process and stays open. */
    if (lines->fd >= 0 && lines->fd != STDIN_FILENO)
        close(lines->fd);
    free(lines->data);
    *lines = (struct bl_lines){.fd = -1};
}
