/* Best fit decreasing on counts. Blocks with equal contents form one group, and as many of a length as go into the
 * whole group move at once. So the time depends on the number of distinct lengths, not of sequences.
 *
 * Equal lengths fill a block completely before the next one (a block just added to is fuller than before, and so it is
 * the best fit again). The contents of a group's blocks are a chain of nodes, shared with the groups that it split
 * from. */
#include <stdlib.h>

#include "base/array.h"
#include "plan/search.h"
#include "plan/open_blocks.h"

#define NO_NODE UINT32_MAX

/* The last length added, and the node of the earlier ones. */
struct node {
    uint32_t before;
    uint32_t bucket;
};

struct bestfit {
    const struct bl_histogram *h;
    const struct bl_limits *limits;
    struct bl_patterns *patterns; /* or NULL: only count the blocks */
    size_t blocks;
    struct bl_open_blocks open;
    struct node *node;
    size_t nodes, capacity;
};

static int bestfit_add_node(struct bestfit *f, uint32_t before, uint32_t bucket, struct bl_error *e)
{
    if (!f->patterns)
        return BL_OK;
    if (BL_ARRAY_RESERVE(f->node, f->capacity, f->nodes + 1, e))
        return BL_EFAIL;
    f->node[f->nodes++] = (struct node){before, bucket};
    return BL_OK;
}

static int bestfit_close_group(struct bestfit *f, struct bl_open_group group, struct bl_error *e)
{
    int code = BL_OK;
    f->blocks += group.blocks;
    if (!f->patterns)
        return BL_OK;
    for (uint32_t n = group.node; !code && n != NO_NODE; n = f->node[n].before)
        code = bl_patterns_push(f->patterns, f->node[n].bucket, e);
    if (code)
        return code;
    return bl_patterns_close(f->patterns, group.blocks, e);
}

/* Adds `times` of a bucket to each block of a group. The group stays open while the shortest length fits, and the
 * number of sequences allows it. */
static int bestfit_extend_group(struct bestfit *f, struct bl_open_group group, uint32_t bucket, uint32_t times,
                                struct bl_error *e)
{
    int code = BL_OK;
    for (uint32_t i = 0; !code && i < times; i++) {
        code = bestfit_add_node(f, group.node, bucket, e);
        group.node = (uint32_t)(f->nodes - 1);
    }
    if (code)
        return code;
    group.room -= times * f->h->length[bucket];
    group.places -= times;
    return group.places > 0 && group.room >= f->h->length[0] ? bl_open_blocks_insert(&f->open, group, e)
                                                             : bestfit_close_group(f, group, e);
}

/* Puts up to n of a bucket into the blocks of a group, as best fit does one by one. group->blocks becomes the number of
 * untouched blocks, *n what remains of n. */
static int bestfit_fill_group(struct bestfit *f, struct bl_open_group *group, uint32_t bucket, uint32_t *n,
                              struct bl_error *e)
{
    uint32_t fit = group->room / f->h->length[bucket];
    if (fit > group->places)
        fit = group->places;
    uint32_t full = *n / fit < group->blocks ? *n / fit : group->blocks;
    uint32_t rest = full < group->blocks ? *n % fit : 0;
    int code = BL_OK;
    if (full > 0)
        code = bestfit_extend_group(f, (struct bl_open_group){group->room, full, group->node, group->places}, bucket,
                                    fit, e);
    if (!code && rest > 0)
        code = bestfit_extend_group(f, (struct bl_open_group){group->room, 1, group->node, group->places}, bucket, rest,
                                    e);
    group->blocks -= full + (rest > 0);
    *n -= full * fit + rest;
    return code;
}

static int bestfit_place_bucket(struct bestfit *f, uint32_t bucket, struct bl_error *e)
{
    uint32_t n = bl_histogram_count(f->h, bucket);
    int code = BL_OK;
    while (!code && n > 0) {
        struct bl_open_place place;
        struct bl_open_group fresh = {(uint32_t)f->limits->T, n, NO_NODE, f->limits->sequences};
        struct bl_open_group *found = bl_open_blocks_find(&f->open, f->h->length[bucket], &place);
        if (!found) {
            code = bestfit_fill_group(f, &fresh, bucket, &n, e);
            continue;
        }
        /* Removed while it changes, since extending inserts groups; untouched blocks go back afterwards. */
        struct bl_open_group group = *found;
        bl_open_blocks_remove(&f->open, place);
        code = bestfit_fill_group(f, &group, bucket, &n, e);
        if (!code && group.blocks > 0)
            code = bl_open_blocks_insert(&f->open, group, e);
    }
    return code;
}

static int bestfit_run(struct bestfit *f, struct bl_error *e)
{
    int code = BL_OK;
    for (size_t b = f->h->distinct; !code && b-- > 0;)
        code = bestfit_place_bucket(f, (uint32_t)b, e);
    struct bl_open_place place;
    for (struct bl_open_group *g; !code && (g = bl_open_blocks_find(&f->open, 0, &place));) {
        struct bl_open_group group = *g;
        bl_open_blocks_remove(&f->open, place);
        code = bestfit_close_group(f, group, e);
    }
    bl_open_blocks_free(&f->open);
    free(f->node);
    return code;
}

int bl_search_bestfit(struct bl_patterns *patterns, const struct bl_histogram *h, const struct bl_limits *limits,
                      struct bl_error *e)
{
    *patterns = (struct bl_patterns){0};
    struct bestfit f = {.h = h, .limits = limits, .patterns = patterns};
    int code = bestfit_run(&f, e);
    if (code)
        bl_patterns_free(patterns);
    return code;
}

int bl_search_bestfit_count(size_t *blocks, const struct bl_histogram *h, const struct bl_limits *limits,
                            struct bl_error *e)
{
    struct bestfit f = {.h = h, .limits = limits};
    int code = bestfit_run(&f, e);
    *blocks = f.blocks;
    return code;
}
