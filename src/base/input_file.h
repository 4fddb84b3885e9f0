/* Reading inputs: opens files and folders, reads a file or a member of a tar, reads numbers at given places, and copies
 * pipes so that they can be read again. */
#ifndef BL_INPUT_FILE_H
#define BL_INPUT_FILE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/error.h"

/* --- opener ------------------------------------------------------------------------------------------------------- */

/* Opens the files and folders of inputs for reading; for a member of a tar (base/archive.h) it opens the tar. A process
 * that may not open files sets an opener that asks another process. */

/* As open(2) with these flags: a descriptor, or -1 with errno. */
typedef int bl_opener(void *context, const char *path, int flags);

/* Sets the opener of this process, once, before it has threads. Without it: open(2). */
void bl_opener_set(bl_opener *opener, void *context);

/* Opens a file in this process. */
int bl_opener_open(const char *path, int flags);

/* Opens a file for reading, without waiting for a pipe's writer. -1 with errno. */
int bl_opener_file(const char *path);

/* As opendir(3). */
DIR *bl_opener_folder(const char *path);

/* --- input files -------------------------------------------------------------------------------------------------- */

/* An input, open for reading: a file, or a member of a tar (base/archive.h), which lies within one. */

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

/* --- window ------------------------------------------------------------------------------------------------------- */

/* Numbers at known places of a file, read through a window that holds the bytes read last. */

#define BL_WINDOW_SIZE 4096

/* Set the first five members; the others begin as {0}. */
struct bl_window {
    int fd;
    int64_t begin; /* the file's first byte in fd */
    const char *path;
    int64_t size; /* of the file */
    struct bl_error *e;
    int code;   /* BL_EFAIL: a read failed, and everything reads as zero */
    bool ended; /* something beyond the end was wanted, which is zero */
    int64_t from, to;
    uint8_t data[BL_WINDOW_SIZE]; /* bytes from `from` to `to` of the file */
};

/* Up to 8 bytes as a number. */
uint64_t bl_window_number(struct bl_window *window, int64_t at, int size, bool big_endian);

/* --- copies of pipes ---------------------------------------------------------------------------------------------- */

/* Copies of inputs that can be read only once, such as standard input or a pipe, so that they can be read repeatedly
 * like a file. */

/* {.fd = -1}: nothing is copied. */
struct bl_pipe_copy {
    int fd;           /* an unnamed file with all that was read, or -1 */
    const char *name; /* of the source, for messages; owned by the caller */
    char path[32];    /* opens the copy */
};

/* Copies path if it is "-" or a pipe; does nothing for a file. BL_EUSAGE: path does not exist. */
int bl_pipe_copy_open(struct bl_pipe_copy *held, const char *path, struct bl_error *e);

/* Returns the path to open in place of path. */
const char *bl_pipe_copy_path(const struct bl_pipe_copy *held, const char *path);

/* Replaces the copy's path at the start of a message with the source's name. */
void bl_pipe_copy_fix_error(const struct bl_pipe_copy *held, struct bl_error *e);
void bl_pipe_copy_close(struct bl_pipe_copy *held);

#endif
