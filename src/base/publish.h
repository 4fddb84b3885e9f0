/* Files that several processes may produce: the first one writes, and the others must have the same bytes. */
#ifndef BL_PUBLISH_H
#define BL_PUBLISH_H

#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

/* --- new folder --------------------------------------------------------------------------------------------------- */

/* A folder of files that appears under its name when all of them are in it. */

/* Start from {0}. */
struct bl_new_folder {
    char *path, *temporary;
    struct bl_buffer files; /* the names of those that were written, each with its NUL */
};

/* path: must not exist, or be an empty folder; its parent must exist. BL_EUSAGE. */
int bl_new_folder_open(struct bl_new_folder *folder, const char *path, struct bl_error *e);
/* Writes a file of that name. */
int bl_new_folder_add(struct bl_new_folder *folder, const char *name, const void *data, size_t size,
                      struct bl_error *e);
/* Renames the folder to path. The object is empty after it, and after bl_new_folder_abort. */
int bl_new_folder_commit(struct bl_new_folder *folder, struct bl_error *e);
/* Removes what was written; does nothing with an empty object. */
void bl_new_folder_abort(struct bl_new_folder *folder);

/* --- publish ------------------------------------------------------------------------------------------------------ */

/* Gives the complete, closed file temporary the name path, in the same directory, and makes that durable. Nothing is
 * ever replaced: if another process was first, its file must have the same bytes, else it is BL_EFAIL, and the message
 * says where they differ. temporary may still exist afterwards; the caller removes it. */
int bl_publish_file(const char *temporary, const char *path, struct bl_error *e);

#endif
