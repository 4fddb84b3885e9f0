/* Places: where files are made, renamed and removed.
 *
 * A dataset may lie where others can write, on a scratch disk that many share. So what a run makes and removes by
 * itself in it, in the folder .bload and in shards/00000, is never reached through a link: each folder from there on is
 * opened in the one before, and files are made under names that nothing had. Links before that are the user's. */
#ifndef BL_FS_H
#define BL_FS_H

#include <dirent.h>

#include "base/error.h"

#define BL_WORK_FOLDER ".bload" /* what runs keep for themselves in a dataset's directory; goes with the finish */

/* Opens the folder that path lies in, for calls that take one: *name is what path is called there. The descriptor, or
 * BL_EFAIL. */
int bl_fs_open_parent(const char *path, const char **name, struct bl_error *e);

/* Makes a file that was not there, O_WRONLY or O_RDWR. The descriptor, or BL_EFAIL. */
int bl_fs_create(const char *path, int access, struct bl_error *e);

/* Opens a file that is made when it is not there, to be locked. */
int bl_fs_open_lock(const char *path, struct bl_error *e);

/* Both wherever they are; what bears the name is replaced, if it is a link that itself. */
int bl_fs_rename(const char *from, const char *to, struct bl_error *e);

/* 0, or -1 with errno: for files that may be gone, and where a failure is told otherwise. */
int bl_fs_unlink(const char *path);

/* Makes a folder in one that is there: 1, or 0 when it was there already. A link in its place is BL_EFAIL. */
int bl_fs_mkdir(const char *path, struct bl_error *e);

/* Opens a folder to go through its names: 1 and *folder, 0 when it is not there, or BL_EFAIL. */
int bl_fs_opendir(const char *path, DIR **folder, struct bl_error *e);

/* Removes a folder, which is empty. */
int bl_fs_rmdir(const char *path, struct bl_error *e);

/* What follows is for directories that a user named: links are followed. */

/* Makes a directory and those above it; one that exists is fine. */
int bl_fs_mkdirs(const char *path, struct bl_error *e);

/* Makes the names in a directory durable; path names the directory. */
int bl_fs_sync_directory(const char *path, struct bl_error *e);

/* The same for the directory that path lies in. */
int bl_fs_sync_parent(const char *path, struct bl_error *e);

/* Renames from to to and makes that durable. Both in one directory. */
int bl_fs_rename_durable(const char *from, const char *to, struct bl_error *e);

#endif
