/* Globs: patterns of file names, as glob(3) has them, with ** for any number of folders. */
#ifndef BL_GLOBS_H
#define BL_GLOBS_H

#include "scan/walk.h"

/* Whether a part of the pattern is "**". */
bool bl_globs_descend(const char *pattern);

/* Appends the names that match the pattern, each with a zero byte behind it, in no order. "**" stands for no folder,
 * one or more in each other; hidden ones are left out, and links are followed. At the end it stands for all files
 * below, or folders where a kind's inputs are such. What lies in a folder that matches such a pattern, too, is left
 * out. A folder that cannot be read is added to the walk's files, and skipped by the scan. Errors as bl_walk_folder's.
 */
int bl_globs_expand(const struct bl_walk *walk, const char *pattern, struct bl_buffer *names, struct bl_error *e);

#endif
