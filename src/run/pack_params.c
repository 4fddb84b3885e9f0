#include "run/pack_params.h"

#include "store/folders.h"

void bl_pack_params_block_range(const struct bl_pack_params *pack, int64_t *begin, int64_t *end)
{
    *begin = bl_format_first_block(pack->format, pack->shard_begin);
    *end = bl_format_first_block(pack->format, pack->shard_end);
    *end = *end < pack->format->blocks ? *end : pack->format->blocks;
    *begin = *begin < *end ? *begin : *end;
}

int bl_pack_params_find_shard(const struct bl_pack_params *pack, int64_t shard, struct bl_shard_record *record,
                              bool *found, struct bl_error *e)
{
    if (!pack->missing || !pack->missing->is_missing)
        return bl_shard_find(pack->format, pack->dir, shard, record, found, e);
    *record = (struct bl_shard_record){.shard = shard,
                                       .first_block = bl_format_first_block(pack->format, shard),
                                       .blocks = bl_format_blocks_of(pack->format, shard)};
    *found = !pack->missing->is_missing[shard];
    return BL_OK;
}
