/* Archives: recognizes files that hold other files or rows, names a member of a tar by its place in the tar, finds
 * members by their names, and names an array of a file that holds several.
 *
 * The path of a member contains its place, as "data-000.tar@1536+48213/0001.mp4" does. Tables, requests, messages to
 * decoder processes, companions and clips have paths already, so none of them needs more columns for tars. */
#ifndef BL_ARCHIVE_H
#define BL_ARCHIVE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

/* --- recognizing archives ----------------------------------------------------------------------------------------- */

/* Archives are files that hold other files, or rows, and are not sequences themselves. bload refuses them by their
 * first bytes, whatever their names are, and tells the user how to get at the content. */

#define BL_ARCHIVE_HEAD 512 /* bytes that identify an archive */

/* Returns what kind of archive begins with head (the first BL_ARCHIVE_HEAD bytes of a file, or all of it), and what to
 * do, as a reason: "a tar archive: unpack it first". NULL: no archive. */
const char *bl_archive_detect(const void *head, size_t size);

/* --- members of a tar --------------------------------------------------------------------------------------------- */

/* A member of a tar, named by its place: "data-000.tar@1536+48213/0001.mp4" has 48,213 bytes, from byte 1,536 of
 * data-000.tar on. It is read in place, wherever the path of a file is expected. */

struct bl_member {
    size_t tar; /* bytes of the path that name the tar */
    int64_t begin, bytes;
    const char *name; /* in the tar: within the path */
};

/* Parses the path of a member. Returns false if it names none. */
bool bl_member_parse(const char *path, struct bl_member *member);

/* Returns the path of the file to open: the path itself, or in buffer the path of a member's tar, or of the file that
 * has an array (bl_container_array). NULL with errno: the path is too long. */
const char *bl_member_file(const char *path, char buffer[PATH_MAX]);

/* Appends the path of a member. */
void bl_member_append(struct bl_buffer *out, const char *tar, int64_t begin, int64_t bytes, const char *name);

/* Bytes of a member's name that are its key, which the members of a sample share: up to the first dot after the last
 * slash. What follows the dot says what it is: "seg.npy". 0: it has none, or its name is hidden. Source: the WebDataset
 * format. */
size_t bl_member_key(const char *name);

/* --- arrays of a file --------------------------------------------------------------------------------------------- */

/* An array of a file that holds several: "c3d.h5#/v_abc/c3d" is the array v_abc/c3d of c3d.h5. Such a path stands
 * wherever the path of a file is expected; size and content are those of the whole file. */

/* Returns whether the name is that of a file that may hold several arrays: .safetensors, .h5, .hdf5, .mat. */
bool bl_container_has_name(const char *path);

/* Returns the name of the array, within the path, and sets *file to the bytes of the path that name the file. NULL: the
 * path names no array. */
const char *bl_container_array(const char *path, size_t *file);

/* --- index of members --------------------------------------------------------------------------------------------- */

/* Members of tars by their names: for samples, where the members beside the sequence lie. */

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

/* Adds a tar. The members that are added next belong to it. */
int bl_member_index_add_tar(struct bl_member_index *index, const char *path, struct bl_error *e);

/* Adds a member of the tar that was added last. Its name has a key. */
int bl_member_index_add(struct bl_member_index *index, const char *name, int64_t begin, int64_t bytes,
                        struct bl_error *e);

/* Finds the member beside another one: in the same tar, with the same key (bl_member_key) and this extension. path:
 * that of the other member. NULL: there is none, or path names no member. */
const struct bl_member_entry *bl_member_index_beside(const struct bl_member_index *index, const char *path,
                                                     const char *extension);

/* Appends the path of a member of the index. */
void bl_member_index_append(const struct bl_member_index *index, const struct bl_member_entry *member,
                            struct bl_buffer *out);
void bl_member_index_free(struct bl_member_index *index);

#endif
