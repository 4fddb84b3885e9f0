/* Writes the shards of a plan. One job is one block: workers read its pieces and put it into its shard. Shards are
 * finished in order. */
#ifndef BL_SHARDS_H
#define BL_SHARDS_H

#include "run/pack_params.h"

/* Writes each of the shards that does not exist yet. */
int bl_shards_write(const struct bl_pack_params *pack, struct bl_error *e);

#endif
