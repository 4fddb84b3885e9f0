/* The walk through a source folder: every file below it that is an input. Links are followed. */
#ifndef BL_WALK_H
#define BL_WALK_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "scan/files.h"

struct bl_walk {
    struct bl_files *files;            /* inputs are added, ignored files counted */
    const char *base;                  /* directory that relative paths count from, or NULL */
    const struct bl_kind *kind;        /* --kind, or NULL: by extension */
    const struct bl_kind_names *names; /* in place of the kind's extensions, or NULL */
    bool whole_ids;                    /* ids are whole paths, not what is below the folder */
};

/* Walks through the folder. A folder below it that cannot be read, or whose path is too long, is added as an input,
 * which the scan will skip. BL_EUSAGE: links that lead in circles, or to the same folders over and over. */
int bl_walk_folder(const struct bl_walk *walk, const char *path, struct bl_error *e);

/* Appends the path of the folder, as it was given, and those of all below it that are not hidden, each with a zero byte
 * behind it. Errors, and folders that cannot be read, as above. */
int bl_walk_list_folders(const struct bl_walk *walk, const char *path, struct bl_buffer *folders, struct bl_error *e);

/* Reads the names in a folder: appends the type of each (DT_DIR and so on), then the name and a zero byte, and counts
 * them. *opened: if not, errno says why. */
int bl_walk_read_names(const struct bl_walk *walk, const char *path, struct bl_buffer *names, int64_t *count,
                       bool *opened, struct bl_error *e);

/* stat. *there: whether that succeeded; if not, errno says why. Errors: BL_EFAIL, a failing system (memory, disk). */
int bl_walk_stat(const struct bl_walk *walk, const char *path, struct stat *status, bool *there, struct bl_error *e);

#endif
