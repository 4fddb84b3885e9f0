/* The folders of a dataset in the making, and what runs that were killed left in them. */
#ifndef BL_FOLDERS_H
#define BL_FOLDERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "store/format.h"

/* Makes DIR/.bload and DIR/shards where they are missing. */
int bl_folders_prepare(const char *dir, struct bl_error *e);

/* Makes a folder whose parent exists, durably; one that is there is fine. */
int bl_folders_make(const char *path, struct bl_error *e);

/* Opens a folder and closes it again: a network file system that remembers that a name was not there a moment ago then
 * asks its server anew. It may be missing. */
void bl_folders_refresh(const char *path);

/* Reads the folder whose first shard is first, and sets there[i] to 1 where shard first + i bears its name: no file is
 * looked at. A folder that is missing holds none. */
int bl_folders_read_shards(const char *dir, const struct bl_format *format, int64_t first,
                           uint8_t there[BL_SHARDS_PER_FOLDER], struct bl_error *e);

/* Whether runs leave files of this name in DIR/.bload, or in its spool: others are not theirs to remove. */
bool bl_folders_is_work_file(const char *name);

/* Removes what runs left unfinished in DIR/.bload. Only for one who knows that no other run writes there. */
int bl_folders_sweep(const char *dir, struct bl_error *e);

/* The same while other machines may be at work: only what processes of this one left. For one who knows that no other
 * writes there. */
int bl_folders_sweep_host(const char *dir, struct bl_error *e);

#endif
