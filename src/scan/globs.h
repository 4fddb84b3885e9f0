/* Patterns of file names: braces, which expand to names, and globs, which match existing files. */
#ifndef BL_GLOBS_H
#define BL_GLOBS_H

#include <stdbool.h>

#include "base/error.h"
#include "scan/files.h"

/* --- braces ------------------------------------------------------------------------------------------------------- */

/* Patterns with braces, as shells expand them: "data-{000..099}.tar", "{train,val}.tar". A shell does so before the
 * tool is called, but not in quotes, or in a file. */

#define BL_BRACES_MAX 1000000 /* names */

/* Whether the text has something to expand. */
bool bl_braces_are_in(const char *text);

/* Calls emit with each name, in order, until it fails. BL_EUSAGE: more than BL_BRACES_MAX names. */
int bl_braces_expand(const char *text, int (*emit)(void *context, const char *name, struct bl_error *e), void *context,
                     struct bl_error *e);

/* --- globs -------------------------------------------------------------------------------------------------------- */

/* Globs: patterns of file names, as glob(3) has them, with ** for any number of folders. */

/* Whether a part of the pattern is "**". */
bool bl_globs_descend(const char *pattern);

/* Appends the names that match the pattern, each with a zero byte behind it, in no order. "**" matches no folder,
 * one or more in each other; hidden ones are left out, and links are followed. At the end it matches all files
 * below, or folders where a kind's inputs are such. What lies in a folder that matches such a pattern, too, is left
 * out. A folder that cannot be read is added to the walk's files, and skipped by the scan. Errors as bl_walk_folder's.
 */
int bl_globs_expand(const struct bl_walk *walk, const char *pattern, struct bl_buffer *names, struct bl_error *e);

#endif
