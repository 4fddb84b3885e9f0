/* A member of a tar, named by its place: "data-000.tar@1536+48213/0001.mp4" has 48,213 bytes, from byte 1,536 of
 * data-000.tar on. It is read in place, wherever the path of a file is expected. */
#ifndef BL_MEMBER_H
#define BL_MEMBER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

struct bl_member {
    size_t tar; /* bytes of the path that name the tar */
    int64_t begin, bytes;
    const char *name; /* in the tar: within the path */
};

/* Takes such a path apart. False: it names no member. */
bool bl_member_parse(const char *path, struct bl_member *member);

/* The path of the file to open: the path itself, or that of a member's tar, in buffer. NULL with errno: it is too
 * long. */
const char *bl_member_file(const char *path, char buffer[PATH_MAX]);

/* Appends the path. */
void bl_member_append(struct bl_buffer *out, const char *tar, int64_t begin, int64_t bytes, const char *name);

/* Bytes of a member's name that are its key, which the members of a sample share: up to the first dot after the last
 * slash. What follows the dot says what it is: "seg.npy". 0: it has none, or its name is hidden. Source: the WebDataset
 * format. */
size_t bl_member_key(const char *name);

#endif
