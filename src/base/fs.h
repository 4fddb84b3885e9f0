/* File names and the file system: paths as text, checks for regular files, and making, renaming and removing files.
 *
 * Two kinds of paths have different functions. Paths within a dataset are bload's own: they are opened folder by
 * folder, without following links. Directories that a user named are opened by one call, and links in them are
 * followed. */
#ifndef BL_FS_H
#define BL_FS_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* --- paths -------------------------------------------------------------------------------------------------------- */

/* Returns path relative to base; absolute paths, URLs, "-", and any path with base NULL stay. If base is a URL, "../"
 * at the beginning of path means what is above it. The caller frees it. NULL: out of memory. */
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

/* Whether the path ends with one of these extensions (lower case, without the dot, ended by NULL), in any case:
 * "a.jsonl.gz" has "gz" and "jsonl.gz". */
bool bl_path_has_extension(const char *path, const char *const *extensions);

/* --- regular files ------------------------------------------------------------------------------------------------ */

/* Files that must be regular. Anyone who can write to a dataset could replace one of its files with a pipe, a socket or
 * a device; opening or reading that could block or have side effects. */

/* Opens a regular file for reading, without waiting. Returns the descriptor, BL_EFAIL, or BL_EDATA for another kind of
 * file. */
int bl_regular_open(const char *path, struct bl_error *e);

/* Returns BL_EDATA if the path exists and is no regular file. Other faults are left to the open that follows. */
int bl_regular_check(const char *path, struct bl_error *e);

/* --- file system -------------------------------------------------------------------------------------------------- */

/* Making, renaming and removing files.
 *
 * A dataset may lie where others can write, on a shared scratch disk. So bload follows no link to the files that it
 * makes and removes by itself, in the folder .bload and in shards/00000: it opens each folder from there on relative to
 * the one above, and creates files only under unused names. Links before that part belong to the user and are
 * followed. */

#define BL_WORK_FOLDER ".bload" /* the runs' own files in a dataset's directory; bload finish removes it */

/* Opens the folder of path, for the *at calls; *name becomes the last component of path. Returns the descriptor, or
 * BL_EFAIL. */
int bl_fs_open_parent(const char *path, const char **name, struct bl_error *e);

/* Creates a file that must not exist, with access O_WRONLY or O_RDWR. Returns the descriptor, or BL_EFAIL. */
int bl_fs_create(const char *path, int access, struct bl_error *e);

/* Opens a lock file and creates it if needed. Returns the descriptor, or BL_EFAIL. */
int bl_fs_open_lock(const char *path, struct bl_error *e);

/* Renames a file or folder. from and to may lie in different folders. A file or link at to is replaced. */
int bl_fs_rename(const char *from, const char *to, struct bl_error *e);

/* Returns 0, or -1 with errno: for files that may be gone, and where the caller reports the failure. */
int bl_fs_unlink(const char *path);

/* Removes a file, unless it is gone. */
int bl_fs_remove(const char *path, struct bl_error *e);

/* Makes a folder in an existing one. *made: it did not exist. A link at that name is BL_EFAIL. */
int bl_fs_mkdir(const char *path, bool *made, struct bl_error *e);

/* Opens a folder to list its names. *folder: NULL if it does not exist. */
int bl_fs_opendir(const char *path, DIR **folder, struct bl_error *e);

/* Removes an empty folder. BL_EFAIL: it is not empty, does not exist, or lies behind a link. */
int bl_fs_rmdir(const char *path, struct bl_error *e);

/* The functions below are for directories that a user named; they follow links. */

/* Sets whether the name exists. Only a definite answer of the file system counts: EIO and similar errors are failures.
 */
int bl_fs_exists(const char *path, bool *exists, struct bl_error *e);

/* Sets whether dir/name exists. The errors are those of bl_fs_exists, and BL_EFAIL if memory ran out. */
int bl_fs_find(const char *dir, const char *name, bool *found, struct bl_error *e);

/* Makes a directory and its parents; an existing one is no error. */
int bl_fs_mkdirs(const char *path, struct bl_error *e);

/* Locks a directory that a process works on. *fd: to be closed, which ends the lock. BL_EFAIL: another process has it;
 * the message says that `what` is running there. On a file system without locks the protection is missing. */
int bl_fs_lock_directory(const char *path, const char *what, int *fd, struct bl_error *e);

/* Syncs a directory, so that the names in it are durable. */
int bl_fs_sync_directory(const char *path, struct bl_error *e);

/* Syncs the directory that contains path, after a file was made, renamed or removed there. */
int bl_fs_sync_parent(const char *path, struct bl_error *e);

/* Renames from to to, in the same directory, and makes that durable. */
int bl_fs_rename_durable(const char *from, const char *to, struct bl_error *e);

#endif
