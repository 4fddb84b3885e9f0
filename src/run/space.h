/* Checks once, before the first shard, that the disk has room for all data still to be written. */
#ifndef BL_SPACE_H
#define BL_SPACE_H

#include "run/pack_params.h"

/* BL_EFAIL: the file system of the dataset has less space than the missing shards take, including those of other tasks.
 * Compressed shards are not counted, since their size is unknown, and of JPEG data only what accompanies it; for shards
 * that are made again, the size is known. Files of other programs are not considered. */
int bl_space_check(const struct bl_pack_params *pack, struct bl_error *e);

#endif
