/* The walk through a folder that the user named: every file below it that is an input, links followed. */
#ifndef BL_WALK_H
#define BL_WALK_H

#include <stdbool.h>
#include <sys/stat.h>

#include "scan/files.h"

struct bl_walk {
    struct bl_files *files;     /* to which inputs are added, and counted what is ignored */
    const char *base;           /* directory that relative paths count from, or NULL */
    const struct bl_kind *kind; /* what it is about, or NULL: each file is what its extension says */
};

/* Walks through the folder. A folder below it that cannot be read, or whose path is too long, is added as an input: of
 * no use, as the scan will find. BL_EUSAGE: links that lead in circles, or to the same folders over and over. */
int bl_walk_folder(const struct bl_walk *walk, const char *path, struct bl_error *e);

/* stat of a path as given. *there: whether it leads to something; errno says why not. A failing system is an error. */
int bl_walk_stat(const struct bl_walk *walk, const char *path, struct stat *status, bool *there, struct bl_error *e);

#endif
