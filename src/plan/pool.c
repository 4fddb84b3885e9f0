#include "plan/pool.h"

#include <stdlib.h>

enum { NEAR = 64 }; /* how many sequences ahead are tried before none is said to fit */

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
    size_t below = bl_histogram_below(p->h, room);
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
