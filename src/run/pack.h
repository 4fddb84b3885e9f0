/* Pack: blocks in, shards out. One job is one block; workers read its pieces and put it into its shard; shards are
 * finished in order. */
#ifndef BL_PACK_H
#define BL_PACK_H

#include "run/pack_job.h"

/* Writes every one of these shards that is not there yet. */
int bl_pack_run(const struct bl_pack *pack, struct bl_error *e);

#endif
