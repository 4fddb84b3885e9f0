/* The open blocks, which still have room, in order of that room.
 *
 * A sorted list in chunks: room may be anything up to 2^31-1, so no array or bitmap over it; and there may be as
 * many groups as sequences, so no pointers per group. Finding is two binary searches, changing moves one chunk. */
#ifndef BL_OPEN_BLOCKS_H
#define BL_OPEN_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Blocks filled alike. */
struct bl_open_group {
    uint32_t room;   /* steps left in each */
    uint32_t blocks; /* how many */
    uint32_t node;   /* the caller's key to what is in them */
    uint32_t places; /* sequences that may still go into each */
};

struct bl_open_blocks {
    struct bl_open_chunk **chunk; /* [chunks] none empty, ascending by room */
    size_t chunks, capacity;
};

/* Where a group lies; good until the next insertion or removal. */
struct bl_open_place {
    size_t chunk, index;
};

/* The group with the least room of at least `room`, or NULL. */
struct bl_open_group *bl_open_blocks_find(const struct bl_open_blocks *r, uint32_t room, struct bl_open_place *place);
void bl_open_blocks_remove(struct bl_open_blocks *r, struct bl_open_place place);
/* Before those of equal room. Errors: BL_EFAIL, no memory. */
int bl_open_blocks_insert(struct bl_open_blocks *r, struct bl_open_group group, struct bl_error *e);
void bl_open_blocks_free(struct bl_open_blocks *r);

#endif
