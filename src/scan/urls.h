/* Names of objects: patterns that they match, and names in a list that is an object itself. */
#ifndef BL_URLS_H
#define BL_URLS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"
#include "remote/files.h"
#include "scan/files.h"

/* --- patterns ----------------------------------------------------------------------------------------------------- */

/* A pattern of URLs, as patterns of files are: *, ? and [...] within a name, ** for any number of folders. Begin with
 * {0}, end with bl_url_glob_free. */
struct bl_url_glob {
    char *text;
    const char **part; /* between slashes; they point into the text */
    size_t parts;
};

/* Bytes of the pattern before the first character that has a meaning, with which all objects begin that match. */
size_t bl_url_glob_fixed(const char *pattern);

int bl_url_glob_open(struct bl_url_glob *glob, const char *pattern, struct bl_error *e);
void bl_url_glob_free(struct bl_url_glob *glob);

/* Sets *size to the bytes of the URL that the pattern matches: all of them; or those of a folder above it, without the
 * slash behind them, as a pattern of files takes all that is in a folder that it matches; or 0. */
int bl_url_glob_match(const struct bl_url_glob *glob, const char *url, size_t *size, struct bl_error *e);

/* Gets the URL of an object that a pattern matches. */
typedef int bl_url_take(void *context, const char *url, struct bl_error *e);

/* Adds all objects below a URL, which ends with a slash or is a bucket, as bl_walk_folder adds files. Errors as those
 * of bl_remote_list. */
int bl_urls_add_below(const struct bl_walk *walk, struct bl_remote_files *remote, const char *url, struct bl_error *e);

/* Gives the objects that a pattern matches to take, and adds those in folders that it matches. BL_EUSAGE: it matches
 * none, or has no bucket. */
int bl_urls_add_matches(const struct bl_walk *walk, struct bl_remote_files *remote, const char *pattern,
                        bl_url_take *take, void *context, struct bl_error *e);

/* --- lists -------------------------------------------------------------------------------------------------------- */

/* Appends the URL that a name in the list with this URL means: a URL, or a name in the folder of the list. BL_EUSAGE:
 * another name, such as that of a local file, which a list from afar may not name. */
int bl_url_resolve(struct bl_buffer *out, const char *list, const char *name, struct bl_error *e);

#endif
