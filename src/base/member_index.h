/* Members of tars by their names: for samples, where the members beside the sequence lie. */
#ifndef BL_MEMBER_INDEX_H
#define BL_MEMBER_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/hash.h"

struct bl_member_entry {
    uint32_t tar; /* its number */
    size_t name;  /* offset in text */
    int64_t begin, bytes;
};

/* Begin with {0}, end with bl_member_index_free. Once it is made, many threads may use it. */
struct bl_member_index {
    struct bl_buffer text; /* of each tar its path, of each member its name, with a NUL */
    size_t *tar;           /* [tars] offsets of their paths in text */
    size_t tars, tar_capacity;
    struct bl_member_entry *member;
    size_t members, capacity;
    struct bl_hash by_name;
};

/* Adds a tar; its members follow. */
int bl_member_index_add_tar(struct bl_member_index *index, const char *path, struct bl_error *e);

/* Adds a member of the tar that was added last. Its name has a key. */
int bl_member_index_add(struct bl_member_index *index, const char *name, int64_t begin, int64_t bytes,
                        struct bl_error *e);

/* Finds the member that is beside another one, whose path is given: of the same tar, with its key (bl_member_key), and
 * what follows that. NULL: there is none, or path is no member's. */
const struct bl_member_entry *bl_member_index_beside(const struct bl_member_index *index, const char *path,
                                                     const char *extension);

/* Appends the path of a member, by its place. */
void bl_member_index_append(const struct bl_member_index *index, const struct bl_member_entry *member,
                            struct bl_buffer *out);
void bl_member_index_free(struct bl_member_index *index);

#endif
