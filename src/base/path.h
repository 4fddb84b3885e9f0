/* Paths as text. */
#ifndef BL_PATH_H
#define BL_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* Returns path relative to base; absolute paths, "-", and any path with base NULL stay. The caller frees it. NULL: out
 * of memory. */
char *bl_path_join(const char *base, const char *path);

/* Frees an array of count paths; NULL is accepted. */
void bl_path_free_all(char **paths, size_t count);

/* Returns the last component: the text after the last slash. */
const char *bl_path_name(const char *path);

/* Returns the directory that contains path, without regard to slashes at its end; "." if path names none. The caller
 * frees it. NULL: out of memory. */
char *bl_path_parent(const char *path);

/* Bytes of path without the extension of its last component. A name such as ".profile" has no extension. */
size_t bl_path_stem(const char *path);

/* Whether path looks like a URL: "s3://bucket/name". */
bool bl_path_is_url(const char *path);

/* Whether path ends with suffix (".gz"), in lower or upper case. */
bool bl_path_has_suffix(const char *path, const char *suffix);

#endif
