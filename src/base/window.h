/* Numbers at known places of a file, read through a window that holds the bytes read last. */
#ifndef BL_WINDOW_H
#define BL_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

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

#endif
