/* Pack: turns blocks into shards. One job is one block. Workers read its pieces and put it into its shard. Shards are
 * finished in order. */
#ifndef BL_PACK_H
#define BL_PACK_H

#include "run/pack_job.h"

/* Writes each of these shards that does not exist yet. */
int bl_pack_run(const struct bl_pack *pack, struct bl_error *e);

#endif
