/* The open blocks, which still have room, ordered by room.
 *
 * A sorted list in chunks: room can reach 2^31-1, which rules out an array or bitmap over it; and there may be as many
 * groups as sequences, which rules out pointers per group. A lookup takes two binary searches, a change moves one
 * chunk. */
#ifndef BL_OPEN_BLOCKS_H
#define BL_OPEN_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Blocks with equal contents. */
struct bl_open_group {
    uint32_t room;   /* steps left in each */
    uint32_t blocks; /* number of blocks */
    uint32_t node;   /* the caller's key to their contents */
    uint32_t places; /* sequences that may still be added to each */
};

struct bl_open_blocks {
    struct bl_open_chunk **chunk; /* [chunks] none empty, ascending by room */
    size_t chunks, capacity;
};

/* The position of a group; valid until the next insertion or removal. */
struct bl_open_place {
    size_t chunk, index;
};

/* Returns the group with the least room >= `room`, or NULL. */
struct bl_open_group *bl_open_blocks_find(const struct bl_open_blocks *r, uint32_t room, struct bl_open_place *place);
void bl_open_blocks_remove(struct bl_open_blocks *r, struct bl_open_place place);
/* Inserts a group before those with equal room. BL_EFAIL: out of memory. */
int bl_open_blocks_insert(struct bl_open_blocks *r, struct bl_open_group group, struct bl_error *e);
void bl_open_blocks_free(struct bl_open_blocks *r);

#endif
