/* The files and ids that the lines of a list name. The worker finds them itself: it opens only these files for its
 * decoder process, by their numbers, and refuses rows that name others. */
#ifndef BL_ISOLATED_NAMES_H
#define BL_ISOLATED_NAMES_H

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

/* Finds the names of the chunk's lines [first, end). */
int bl_isolated_names_find(struct bl_isolated_names *names, const struct bl_kind_scan *scan,
                           const struct bl_chunk *chunk, int first, int end, struct bl_error *e);
void bl_isolated_names_free(struct bl_isolated_names *names);

/* A path to open, or NULL. */
const char *bl_isolated_names_path(const struct bl_isolated_names *names, int64_t number);

/* Whether the row of a line has only an id and a path that the line names. */
bool bl_isolated_names_allow(const struct bl_isolated_names *names, int line, const struct bl_row *row);

#endif
