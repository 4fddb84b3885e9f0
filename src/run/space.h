/* Room on the disk for all that is still to be written, looked at once, before the first shard. */
#ifndef BL_SPACE_H
#define BL_SPACE_H

#include "run/pack_job.h"

/* BL_EFAIL: the file system of the dataset has less left than the shards take that are not there yet, those of other
 * tasks, too. Of compressed shards, whose size is not known, nothing is asked, and of JPEG files only what lies beside
 * them; of shards that are made again the size is known. What other files are written meanwhile is not counted. */
int bl_space_check(const struct bl_pack *pack, struct bl_error *e);

#endif
