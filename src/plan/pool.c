#include "plan/pool.h"

#include <stdlib.h>

enum {
    NEAR = 64,   /* how many sequences ahead are tried before none is said to fit */
    ROOMS = 4096 /* ranges of rooms for which the buckets are known, at most */
};

/* Makes the table by which pool_below finds buckets. */
static int pool_set_rooms(struct bl_pool *p, struct bl_error *e)
{
    const struct bl_histogram *h = p->h;
    int64_t longest = h->distinct ? h->length[h->distinct - 1] : 0;
    while (longest >> p->shift >= ROOMS)
        p->shift++;
    size_t rooms = (size_t)(longest >> p->shift) + 2, below = 0;
    p->below = malloc(rooms * sizeof *p->below);
    if (!p->below)
        return bl_error_memory(e);
    for (size_t r = 0; r < rooms; r++) {
        while (below < h->distinct && h->length[below] <= (int64_t)r << p->shift)
            below++;
        p->below[r] = (uint32_t)below;
    }
    return BL_OK;
}

/* As bl_histogram_below: it is asked for with every candidate of every block, and a search of the whole histogram took
 * half of the time. room: from 0. */
static size_t pool_below(const struct bl_pool *p, int64_t room)
{
    const struct bl_histogram *h = p->h;
    if (h->distinct == 0 || room >= h->length[h->distinct - 1])
        return h->distinct;
    const uint32_t *below = &p->below[room >> p->shift];
    return bl_histogram_below_between(h, room, below[0], below[1]);
}

int bl_pool_make(struct bl_pool *p, const struct bl_histogram *h, uint64_t seed, struct bl_error *e)
{
    size_t all = h->start[h->distinct];
    *p = (struct bl_pool){.h = h,
                          .all = all,
                          .order = malloc((all + 1) * sizeof *p->order),
                          .left = malloc((h->distinct + 1) * sizeof *p->left),
                          .early = calloc(h->distinct + 1, sizeof *p->early)};
    if (!p->order || !p->left || !p->early)
        return bl_error_memory(e);
    int code = bl_bitset_make(&p->nonempty, h->distinct, e);
    if (!code)
        code = pool_set_rooms(p, e);
    if (code)
        return code;
    for (size_t b = 0; b < h->distinct; b++) {
        p->left[b] = bl_histogram_count(h, b);
        if (p->left[b])
            bl_bitset_add(&p->nonempty, b);
        for (uint32_t i = h->start[b]; i < h->start[b + 1]; i++)
            p->order[i] = (uint32_t)b;
    }
    bl_random_seed(&p->random, seed, BL_STREAM_DRAW);
    bl_random_shuffle_u32(&p->random, p->order, all);
    return BL_OK;
}

void bl_pool_free(struct bl_pool *p)
{
    bl_bitset_free(&p->nonempty);
    free(p->order);
    free(p->left);
    free(p->early);
    free(p->below);
    *p = (struct bl_pool){0};
}

size_t bl_pool_draw(struct bl_pool *p, int64_t room)
{
    for (int tries = 0; tries < NEAR && p->next < p->all;) {
        uint32_t bucket = p->order[p->next];
        if (p->early[bucket] > 0) {
            p->early[bucket]--;
            p->next++;
            continue;
        }
        if (p->h->length[bucket] <= room)
            return bucket;
        size_t ahead = p->all - p->next, other = p->next + bl_random_below(&p->random, ahead < NEAR ? ahead : NEAR);
        p->order[p->next] = p->order[other];
        p->order[other] = bucket;
        tries++;
    }
    return BL_BITSET_NONE;
}

size_t bl_pool_fitting(const struct bl_pool *p, int64_t room, size_t without)
{
    size_t below = pool_below(p, room);
    size_t bucket = below ? bl_bitset_previous(&p->nonempty, below - 1) : BL_BITSET_NONE;
    if (bucket == BL_BITSET_NONE || bucket != without || p->left[bucket] > 1)
        return bucket;
    return bucket ? bl_bitset_previous(&p->nonempty, bucket - 1) : BL_BITSET_NONE;
}

uint32_t bl_pool_take(struct bl_pool *p, size_t bucket)
{
    p->early[bucket]++;
    if (--p->left[bucket] == 0)
        bl_bitset_remove(&p->nonempty, bucket);
    return p->h->start[bucket] + p->left[bucket];
}
