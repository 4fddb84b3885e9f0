/* An input, open for reading: a file, or a member of a tar (base/member.h), which lies within one. */
#ifndef BL_INPUT_FILE_H
#define BL_INPUT_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct bl_input_file {
    int fd;
    int64_t begin;      /* its first byte in fd */
    struct stat status; /* fstat's, but st_size is the member's: what of it is there, if the tar ends before */
};

/* Opens it without waiting for a pipe's writer: 0, or -1 with errno, and fd -1. */
int bl_input_file_open(struct bl_input_file *file, const char *path);

/* Closes it, if it is open. It was read only: nothing can be lost by that. */
void bl_input_file_close(struct bl_input_file *file);

/* As pread, from the input's first byte on and up to its end, whatever comes at once and after signals. */
ssize_t bl_input_file_pread(const struct bl_input_file *file, void *data, size_t size, int64_t offset);

/* As stat: what bl_input_file_open would say. */
int bl_input_file_stat(const char *path, struct stat *status);

#endif
