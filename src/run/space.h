/* Space on the disk: what the shards take, and whether there is room for those still to be written. */
#ifndef BL_SPACE_H
#define BL_SPACE_H

#include "run/options.h"

/* BL_EFAIL: the file system of the dataset has less space than the missing shards take, including those of other tasks.
 * Compressed shards are not counted, since their size is unknown, and of JPEG data only what accompanies it; for shards
 * that are made again, the size is known. Files of other programs are not considered. */
int bl_space_check(const struct bl_pack_params *pack, struct bl_error *e);

/* The bytes of all shards, before compression; of JPEG data only what accompanies it. */
int bl_space_of_shards(const struct bl_format *format, int64_t *bytes, struct bl_error *e);

/* The bytes on the disk that an unfinished dataset has: of its shards, those in progress too, and of what else its run
 * keeps in DIR/.bload. What vanishes meanwhile counts for nothing. BL_EFAIL: a folder cannot be read. */
int bl_space_of_begun(const char *dir, int64_t *shards, int64_t *work, struct bl_error *e);

/* The directory, or its nearest parent that exists; to be freed. NULL: out of memory. */
char *bl_space_folder(const char *dir);

/* The bytes that are free there. -1: the file system does not tell. */
int bl_space_free(const char *dir, int64_t *bytes, struct bl_error *e);

#endif
