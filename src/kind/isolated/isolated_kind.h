/* The files and ids that the lines of a list name. An isolated kind (isolation.h) finds them itself, and allows its
 * decoder process no others. */
#ifndef BL_ISOLATED_KIND_H
#define BL_ISOLATED_KIND_H

#include "base/buffer.h"
#include "kind/kind.h"

/* A name in one line. A line of a manifest may name one of two paths, and has two such entries. The members are offsets
 * in text; 0: none. */
struct bl_isolated_name {
    int line; /* of the chunk */
    size_t id, path, open_path;
};

/* Start from {0}. */
struct bl_isolated_names {
    struct bl_buffer text;
    struct bl_isolated_name *name;
    int count;
    size_t capacity;
    int line; /* of the names that are being added */
};

/* A path to open, or NULL. */
const char *bl_isolated_names_path(const struct bl_isolated_names *names, int64_t number);

#endif
