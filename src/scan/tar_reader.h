/* The headers of a tar, one after the other: old, ustar, pax and GNU. What the members hold is skipped. Sources:
 * POSIX.1, pax, "ustar Interchange Format" and "pax Extended Header"; the manual of GNU tar, "Basic Tar Format". */
#ifndef BL_TAR_READER_H
#define BL_TAR_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

#define BL_TAR_BLOCK 512
#define BL_TAR_WINDOW (16 * BL_TAR_BLOCK)

struct bl_tar_member {
    const char *name;     /* without "./" before it; until the next is read */
    int64_t begin, bytes; /* of its content in the file */
    const char *unusable; /* why it cannot be read in place: "a symbolic link"; or NULL: a file */
};

/* Begin with {0} but for the first three; end with bl_tar_reader_free. */
struct bl_tar_reader {
    int fd;
    int64_t bytes;    /* of the file */
    const char *path; /* for messages */
    int64_t at;       /* of the next header */
    int64_t from, to; /* bytes of the file in window */
    bool named;       /* a header before the member gives its name: */
    struct bl_buffer name;
    int64_t size; /* and its size, or -1 */
    bool sparse;
    uint8_t window[BL_TAR_WINDOW];
};

/* Reads up to the next member that is no folder. *found: false at the end. BL_EDATA: damaged, or cut short: what e says
 * begins with where, and what came before is sound; BL_EFAIL: the system fails. */
int bl_tar_reader_next(struct bl_tar_reader *r, struct bl_tar_member *member, bool *found, struct bl_error *e);
void bl_tar_reader_free(struct bl_tar_reader *r);

#endif
