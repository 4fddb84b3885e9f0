/* Checked input and output: whole reads and writes, files that appear under their name only when complete, lines. */
#ifndef BL_IO_H
#define BL_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/error.h"

/* Write all of size bytes, or fail with BL_EFAIL naming path. */
int bl_io_write(int fd, const void *data, size_t size, const char *path, struct bl_error *e);
int bl_io_pwrite(int fd, const void *data, size_t size, int64_t offset, const char *path, struct bl_error *e);

/* Reads exactly size bytes at offset; a file that ends before is BL_EFAIL too ("ends at ..."). */
int bl_io_pread(int fd, void *data, size_t size, int64_t offset, const char *path, struct bl_error *e);

/* BL_EUSAGE where there is nothing of a name that was given; "-" is there. */
int bl_io_check_path(const char *path, struct bl_error *e);

/* The whole of a file, or of stdin ("-"), of at most max bytes, appended to out. */
int bl_io_read_file(const char *path, size_t max, struct bl_buffer *out, struct bl_error *e);

/* Makes a directory and those above it; one that exists is fine. */
int bl_fs_mkdirs(const char *path, struct bl_error *e);

/* Makes the names in a directory durable; path names the directory. */
int bl_fs_sync_directory(const char *path, struct bl_error *e);

/* The same for the directory that path lies in. */
int bl_fs_sync_parent(const char *path, struct bl_error *e);

/* A file without a name, to be written and read, in dir (NULL: $TMPDIR or /tmp): it goes with its descriptor. The
 * descriptor, or a code. */
int bl_temporary_open(const char *dir, struct bl_error *e);

/* Renames from to to and makes that durable. Both in one directory. */
int bl_fs_rename_durable(const char *from, const char *to, struct bl_error *e);

/* The machine's name, "" where it has none that can be part of a file's. */
void bl_temporary_host(char host[65]);

/* A name for what shall be path when it is whole, "PATH.part-HOST-PID-RANDOM": of two who are at the same file, on
 * whatever machine, each has its own. Appended to name. */
int bl_temporary_name(const char *path, struct bl_buffer *name, struct bl_error *e);

/* Writes data to path by way of a temporary name, fsync and rename. */
int bl_output_replace(const char *path, const void *data, size_t size, struct bl_error *e);

/* An output that a user named: "-" or NULL is stdout; a pipe or device is written to directly; a file is written beside
 * its name and renamed by bl_output_commit, so that nothing half-written bears it. Buffered. */
struct bl_output {
    int fd;
    char *path;      /* for messages */
    char *temporary; /* NULL when written to directly */
    struct bl_buffer buffer;
};

int bl_output_open(struct bl_output *out, const char *path, struct bl_error *e);
/* The same for a file of the tool's own, which is no link and no pipe: what bears its name is replaced. */
int bl_output_own(struct bl_output *out, const char *path, struct bl_error *e);
int bl_output_write(struct bl_output *out, const void *data, size_t size, struct bl_error *e);
/* Flushes, syncs and renames. After it, or after bl_output_abort, the object is empty. */
int bl_output_commit(struct bl_output *out, struct bl_error *e);
/* The same for a file that is written once, by whoever comes first: nothing is ever replaced. 1: somebody else was
 * first, with the same bytes. BL_EFAIL: with other ones; it says where they differ. */
int bl_output_publish(struct bl_output *out, struct bl_error *e);
/* Removes what was written; does nothing to an empty object, so that a cleanup label can always call it. */
void bl_output_abort(struct bl_output *out);

/* Lines of a file or of stdin ("-"), read in large chunks. */
struct bl_lines {
    int fd;
    const char *path; /* for messages; the caller's */
    int64_t number;   /* of the line returned last, from 1 */
    int64_t offset;   /* of that line's first byte */
    char *data;
    size_t capacity, at, end;
    int64_t read_to; /* offset in the file of data + end */
    bool eof;
};

#define BL_LINE_MAX (1 << 20)

int bl_lines_open(struct bl_lines *lines, const char *path, struct bl_error *e);
/* 1 and a line (without its newline; NUL-terminated in place; valid until the next call), 0 at the end, or a code.
 * *ended tells whether the line had its newline. A line over BL_LINE_MAX is BL_EFAIL. */
int bl_lines_next(struct bl_lines *lines, char **line, size_t *size, bool *ended, struct bl_error *e);
/* What was read already behind the line returned last, perhaps nothing: for callers that know most lines at a glance.
 * They say how many bytes and lines they took from it; at least 8 bytes behind it can be read. */
size_t bl_lines_ahead(const struct bl_lines *lines, const char **text);
void bl_lines_skip(struct bl_lines *lines, size_t bytes, int64_t count);
void bl_lines_close(struct bl_lines *lines);

#endif
