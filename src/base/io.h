/* Reads and writes: complete, also after signals, or with an error that names the file. */
#ifndef BL_IO_H
#define BL_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

/* Writes all size bytes, or returns BL_EFAIL naming path. */
int bl_io_write(int fd, const void *data, size_t size, const char *path, struct bl_error *e);
int bl_io_pwrite(int fd, const void *data, size_t size, int64_t offset, const char *path, struct bl_error *e);

/* Reads up to size bytes; *got is 0 only at the end. */
int bl_io_read(int fd, void *data, size_t size, size_t *got, const char *path, struct bl_error *e);

/* Reads exactly size bytes at offset. BL_EFAIL also if the file ends before ("ends at ..."). */
int bl_io_pread(int fd, void *data, size_t size, int64_t offset, const char *path, struct bl_error *e);

/* BL_EUSAGE if path does not exist. "-" always exists. */
int bl_io_check_path(const char *path, struct bl_error *e);

/* Appends a whole file, or stdin ("-"), of at most max bytes to out. */
int bl_io_read_file(const char *path, size_t max, struct bl_buffer *out, struct bl_error *e);

#endif
