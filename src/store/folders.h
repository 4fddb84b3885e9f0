/* The folders of a dataset that is being written, and what killed runs left in them. */
#ifndef BL_FOLDERS_H
#define BL_FOLDERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "store/format.h"

/* Makes DIR/.bload and DIR/shards unless they exist. */
int bl_folders_prepare(const char *dir, struct bl_error *e);

/* Makes a folder in an existing one, durably, unless it exists. */
int bl_folders_make(const char *path, struct bl_error *e);

/* Opens and closes a folder, which may be missing. A network file system that caches missing names then asks its server
 * again. */
void bl_folders_refresh(const char *path);

/* Lists the folder whose first shard is first: sets there[i] to 1 if shard first + i has a file of its name. No file is
 * opened. A folder that does not exist holds none. */
int bl_folders_read_shards(const char *dir, const struct bl_format *format, int64_t first,
                           uint8_t there[BL_SHARDS_PER_FOLDER], struct bl_error *e);

/* Whether runs write files of this name to DIR/.bload or its spool. Other files are not ours to remove. */
bool bl_folders_is_work_file(const char *name);

/* Removes unfinished files from DIR/.bload. The caller knows that no other run writes there. */
int bl_folders_sweep(const char *dir, struct bl_error *e);

/* The same, but only files of processes of this machine, while other machines may be writing. The caller knows that no
 * other process of this machine writes there. */
int bl_folders_sweep_host(const char *dir, struct bl_error *e);

#endif
