#include "plan/open_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { CHUNK = 512 };

struct bl_open_chunk {
    size_t count; /* 1 .. CHUNK */
    struct bl_open_group group[CHUNK];
};

/* Returns the first place with at least `room`; its chunk is r->chunks if there is none. */
static struct bl_open_place open_blocks_search(const struct bl_open_blocks *r, uint32_t room)
{
    struct bl_open_place place = {0, 0};
    size_t high = r->chunks;
    while (place.chunk < high) {
        size_t middle = place.chunk + (high - place.chunk) / 2;
        const struct bl_open_chunk *c = r->chunk[middle];
        if (c->group[c->count - 1].room < room)
            place.chunk = middle + 1;
        else
            high = middle;
    }
    if (place.chunk == r->chunks)
        return place;
    const struct bl_open_chunk *c = r->chunk[place.chunk];
    for (high = c->count; place.index < high;) {
        size_t middle = place.index + (high - place.index) / 2;
        if (c->group[middle].room < room)
            place.index = middle + 1;
        else
            high = middle;
    }
    return place;
}

struct bl_open_group *bl_open_blocks_find(const struct bl_open_blocks *r, uint32_t room, struct bl_open_place *place)
{
    *place = open_blocks_search(r, room);
    return place->chunk < r->chunks ? &r->chunk[place->chunk]->group[place->index] : NULL;
}

void bl_open_blocks_remove(struct bl_open_blocks *r, struct bl_open_place place)
{
    struct bl_open_chunk *c = r->chunk[place.chunk];
    c->count--;
    memmove(c->group + place.index, c->group + place.index + 1, (c->count - place.index) * sizeof *c->group);
    if (c->count > 0)
        return;
    free(c);
    r->chunks--;
    memmove(r->chunk + place.chunk, r->chunk + place.chunk + 1, (r->chunks - place.chunk) * sizeof *r->chunk);
}

/* Inserts an empty chunk at index. */
static int open_blocks_add_chunk(struct bl_open_blocks *r, size_t index, struct bl_error *e)
{
    if (BL_ARRAY_RESERVE(r->chunk, r->capacity, r->chunks + 1, e))
        return BL_EFAIL;
    struct bl_open_chunk *c = malloc(sizeof *c);
    if (!c)
        return bl_error_memory(e);
    c->count = 0;
    memmove(r->chunk + index + 1, r->chunk + index, (r->chunks - index) * sizeof(*r->chunk));
    r->chunk[index] = c;
    r->chunks++;
    return BL_OK;
}

/* Moves the upper half of a full chunk to a new one after it. The last chunk moves only its last group: the longest
 * lengths come first and leave ever more room, so halving would give a list of half-empty chunks. */
static int open_blocks_split_chunk(struct bl_open_blocks *r, struct bl_open_place *place, struct bl_error *e)
{
    int code = open_blocks_add_chunk(r, place->chunk + 1, e);
    if (code)
        return code;
    struct bl_open_chunk *low = r->chunk[place->chunk], *high = r->chunk[place->chunk + 1];
    size_t keep = place->chunk + 2 == r->chunks ? CHUNK - 1 : CHUNK / 2;
    high->count = CHUNK - keep;
    memcpy(high->group, low->group + keep, high->count * sizeof *high->group);
    low->count = keep;
    if (place->index > keep) {
        place->chunk++;
        place->index -= keep;
    }
    return BL_OK;
}

int bl_open_blocks_insert(struct bl_open_blocks *r, struct bl_open_group group, struct bl_error *e)
{
    struct bl_open_place place = open_blocks_search(r, group.room);
    int code = BL_OK;
    if (r->chunks == 0)
        code = open_blocks_add_chunk(r, 0, e);
    else if (place.chunk == r->chunks)
        place = (struct bl_open_place){r->chunks - 1, r->chunk[r->chunks - 1]->count};
    if (!code && r->chunk[place.chunk]->count == CHUNK)
        code = open_blocks_split_chunk(r, &place, e);
    if (code)
        return code;
    struct bl_open_chunk *c = r->chunk[place.chunk];
    memmove(c->group + place.index + 1, c->group + place.index, (c->count - place.index) * sizeof *c->group);
    c->group[place.index] = group;
    c->count++;
    return BL_OK;
}

void bl_open_blocks_free(struct bl_open_blocks *r)
{
    for (size_t i = 0; i < r->chunks; i++)
        free(r->chunk[i]);
    free(r->chunk);
    *r = (struct bl_open_blocks){0};
}
