/* Whole reads and writes: all bytes, or an error that names the file. */
#ifndef BL_IO_H
#define BL_IO_H

#include <stddef.h>
#include <stdint.h>

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

#endif
