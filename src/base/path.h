/* Paths as text. */
#ifndef BL_PATH_H
#define BL_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* A path to open: a relative one refers to base, if that is not NULL; "-" stays. To be freed; NULL: no memory. */
char *bl_path_join(const char *base, const char *path);

/* The last component: what stands behind the last slash. */
const char *bl_path_name(const char *path);

/* Bytes of the path without the extension of its last component. A name such as ".profile" has none. */
size_t bl_path_stem(const char *path);

/* Whether the path ends in suffix (".gz"), in small or capital letters. */
bool bl_path_has_suffix(const char *path, const char *suffix);

#endif
