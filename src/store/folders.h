/* The folders of a dataset in the making, and what runs that were killed left in them. */
#ifndef BL_FOLDERS_H
#define BL_FOLDERS_H

#include "base/error.h"

/* Makes DIR/.bload and DIR/shards where they are missing. */
int bl_folders_prepare(const char *dir, struct bl_error *e);

/* Makes a folder whose parent exists, durably; one that is there is fine. */
int bl_folders_make(const char *path, struct bl_error *e);

/* Opens a folder and closes it again: a network file system that remembers that a name was not there a moment ago then
 * asks its server anew. It may be missing. */
void bl_folders_look(const char *path);

/* Removes what runs left unfinished in DIR/.bload. Only for one who knows that no other run writes there. */
int bl_folders_sweep(const char *dir, struct bl_error *e);

/* The same while other machines may be at work: only what processes of this one left. For one who knows that no other
 * writes there. */
int bl_folders_sweep_own(const char *dir, struct bl_error *e);

#endif
