/* Reading and writing files: complete reads and writes, checksums of files, and the lines of a file.
 *
 * read(2) and write(2) may transfer fewer bytes than requested, and signals interrupt them. The functions here repeat
 * them until all bytes are transferred, or fail with an error that names the file. */
#ifndef BL_IO_H
#define BL_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/checksum.h"
#include "base/error.h"

/* --- reads and writes --------------------------------------------------------------------------------------------- */

/* Writes all size bytes at the file's position, or returns BL_EFAIL naming path. */
int bl_io_write(int fd, const void *data, size_t size, const char *path, struct bl_error *e);

/* Writes all size bytes at an offset, at least 0, and leaves the file's position as it is. */
int bl_io_pwrite(int fd, const void *data, size_t size, int64_t offset, const char *path, struct bl_error *e);

/* Reads up to size bytes; *got is 0 only at the end. */
int bl_io_read(int fd, void *data, size_t size, size_t *got, const char *path, struct bl_error *e);

/* Reads exactly size bytes at offset. BL_EFAIL also if the file ends before ("ends at ..."). */
int bl_io_pread(int fd, void *data, size_t size, int64_t offset, const char *path, struct bl_error *e);

/* BL_EUSAGE if path does not exist. "-" always exists. */
int bl_io_check_path(const char *path, struct bl_error *e);

/* Appends the content of a file, or of stdin ("-"), to out. BL_EFAIL also if it has more than max bytes. */
int bl_io_read_file(const char *path, size_t max, struct bl_buffer *out, struct bl_error *e);

/* Appends the content of a file as bl_io_read_file does, or sets *exists to false if nothing has that name. Prefer it
 * to a test of existence before the read: another process may replace the file in between, and some file systems have
 * no file of that name at all for a moment. */
int bl_io_read_existing(const char *path, size_t max, struct bl_buffer *out, bool *exists, struct bl_error *e);

/* Appends everything from the position of a descriptor on. BL_EFAIL also if it has more than max bytes. */
int bl_io_read_all(int fd, const char *path, size_t max, struct bl_buffer *out, struct bl_error *e);

/* --- checksums of files ------------------------------------------------------------------------------------------- */

/* The checksum of size bytes of an open file from offset on, read in chunks. path is for messages. */
int bl_checksum_range(int fd, int64_t offset, int64_t size, const char *path, uint64_t *checksum, struct bl_error *e);

/* Computes the checksum of a regular file, and sets its size. */
int bl_checksum_file(const char *path, int64_t *bytes, uint64_t *checksum, struct bl_error *e);

/* Reads a file of at most max bytes, and checks and removes the line with its checksum (bl_sealed_open). */
int bl_sealed_read(const char *path, size_t max, struct bl_buffer *text, struct bl_error *e);

/* --- lines -------------------------------------------------------------------------------------------------------- */

/* The lines of a file or of stdin ("-"), read in chunks of 1 MiB. Example:
 *
 *     while (!(code = bl_lines_next(&lines, &line, &size, &ended, e)) && line)
 *         ...
 *
 * The first two members of the buffer's state, at and end, bound the bytes that have been read and not returned. */
struct bl_lines {
    int fd;
    const char *path; /* for messages; owned by the caller */
    char mark;        /* that ends a line */
    int64_t number;   /* of the last returned line, from 1 */
    int64_t offset;   /* of that line's first byte */
    char *data;
    size_t capacity, at, end;
    int64_t read_to; /* offset in the file of data + end */
    bool eof;
    struct bl_checksum_state *sum; /* of what was read; the caller's, NULL: not wanted */
};

#define BL_LINE_MAX (1 << 20) /* bytes of a line */

/* Opens a file. path must outlive the object. BL_EFAIL; then there is nothing to close. */
int bl_lines_open(struct bl_lines *lines, const char *path, struct bl_error *e);
/* Reads from the position of a descriptor on, which belongs to the object, and is closed if this fails. */
int bl_lines_take(struct bl_lines *lines, int fd, const char *path, struct bl_error *e);
/* Opens a list of names. If the first bytes (more than a line can have) contain a zero byte, zero bytes end the lines,
 * as find -print0 writes them. A byte order mark is skipped. BL_EFAIL also for UTF-16. */
int bl_lines_open_list(struct bl_lines *lines, const char *path, struct bl_error *e);
/* bl_lines_take for a list. */
int bl_lines_take_list(struct bl_lines *lines, int fd, const char *path, struct bl_error *e);
/* *line: the next line, without its newline, NUL-terminated in place, valid until the next call; NULL at the end.
 * *ended: whether it had a newline. A line over BL_LINE_MAX is BL_EFAIL. */
int bl_lines_next(struct bl_lines *lines, char **line, size_t *size, bool *ended, struct bl_error *e);
/* Text that has been read beyond the last returned line, perhaps none, for callers that parse most lines themselves.
 * Such a caller then reports how many bytes and lines it took. At least 8 bytes past the text can be read. */
size_t bl_lines_ahead(const struct bl_lines *lines, const char **text);
void bl_lines_skip(struct bl_lines *lines, size_t bytes, int64_t count);
/* Appends the lines of a list of names, each with a NUL after it, without \r at their ends and empty ones. BL_EUSAGE:
 * no such file. */
int bl_lines_append_list(const char *path, struct bl_buffer *out, struct bl_error *e);
void bl_lines_close(struct bl_lines *lines);

#endif
