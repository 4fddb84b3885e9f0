/* --fill random: sum of squares (Csirik, Johnson, Kenyon, Orlin, Shor, Weber, JACM 2006). In random order, each length
 * goes into a block so that the numbers of blocks with equal room become as equal as possible, which in the end fills
 * nearly all blocks. The others are dissolved and filled again by patterns.
 *
 * On a grid: room is counted in at most GRID_MAX classes, with lengths rounded up. levels[g] is the number of open
 * blocks with room for g classes; a length s goes where levels[g - s] - levels[g] is least. Each length takes one pass
 * over the classes, four at a time. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "plan/fill.h"
#include "plan/random.h"

enum { GRID_MIN = 2048, GRID_MAX = 8192 };

#define GRID_WORK (INT64_C(1) << 34) /* lengths times classes: more would take more than a few seconds */
#define NONE UINT32_MAX
#define NOWHERE (1 << 30)

typedef int32_t lanes __attribute__((vector_size(16)));

struct packer {
    const struct bl_lengths *lengths;
    int64_t T;
    uint32_t grid;
    uint32_t sequences; /* limit per block */
    int32_t *levels;    /* [grid+1] blocks by room */
    int32_t *open;      /* [grid+1] the same, but -NOWHERE if there are none */
    uint32_t *top;      /* [grid+1] a block with that room; `below` links the others */
    /* [blocks] */
    uint32_t *below, *room, *last, *size;
    size_t blocks, capacity;
    /* By position in the random order: */
    uint32_t *item;   /* index in lengths */
    uint32_t *before; /* position of the previous length in the same block */
    size_t items;
};

static int packer_make(struct packer *p, struct bl_error *e)
{
    for (size_t i = 0; i < p->lengths->count; i++)
        p->items += (size_t)bl_lengths_has(p->lengths, i);
    int64_t grid = GRID_WORK / (int64_t)(p->items + 1);
    grid = grid < GRID_MIN ? GRID_MIN : grid > GRID_MAX ? GRID_MAX : grid;
    p->grid = (uint32_t)(grid < p->T ? grid : p->T);
    p->levels = calloc(p->grid + 8, sizeof *p->levels);
    p->open = malloc((p->grid + 8) * sizeof *p->open);
    p->top = malloc((p->grid + 1) * sizeof *p->top);
    p->item = malloc((p->items + 1) * sizeof *p->item);
    p->before = malloc((p->items + 1) * sizeof *p->before);
    if (!p->levels || !p->open || !p->top || !p->item || !p->before)
        return bl_error_memory(e);
    for (uint32_t g = 0; g < p->grid + 8; g++)
        p->open[g] = -NOWHERE;
    for (uint32_t g = 0; g <= p->grid; g++)
        p->top[g] = NONE;
    size_t n = 0;
    for (size_t i = 0; i < p->lengths->count; i++)
        if (bl_lengths_has(p->lengths, i))
            p->item[n++] = (uint32_t)i;
    return BL_OK;
}

static void packer_free(struct packer *p)
{
    free(p->levels);
    free(p->open);
    free(p->top);
    free(p->below);
    free(p->room);
    free(p->last);
    free(p->size);
    free(p->item);
    free(p->before);
}

static int packer_add_block(struct packer *p, struct bl_error *e)
{
    if (p->blocks == p->capacity) {
        size_t capacity = bl_array_capacity(p->capacity, p->blocks + 1);
        uint32_t **const arrays[] = {&p->below, &p->room, &p->last, &p->size};
        for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
            int code = BL_ARRAY_RESIZE(*arrays[i], capacity, e);
            if (code)
                return code;
        }
        p->capacity = capacity;
    }
    p->room[p->blocks] = p->grid;
    p->last[p->blocks] = NONE;
    p->size[p->blocks++] = 0;
    return BL_OK;
}

static uint32_t packer_take_block(struct packer *p, uint32_t g)
{
    uint32_t block = p->top[g];
    p->top[g] = p->below[block];
    p->levels[g]--;
    p->open[g] = p->levels[g] ? p->levels[g] : -NOWHERE;
    return block;
}

static lanes lanes_load(const int32_t *from)
{
    lanes v;
    memcpy(&v, from, sizeof v);
    return v;
}

/* Returns the least levels[g - s] - open[g] for g from s + 1 to grid - 1; open is -NOWHERE beyond. */
static int32_t packer_min_change(const struct packer *p, uint32_t s)
{
    lanes least = {NOWHERE, NOWHERE, NOWHERE, NOWHERE};
    for (uint32_t g = s + 1; g < p->grid; g += 4) {
        lanes change = lanes_load(p->levels + g - s) - lanes_load(p->open + g);
        lanes lower = change < least;
        least = (change & lower) | (least & ~lower);
    }
    int32_t best = least[0];
    for (int i = 1; i < 4; i++)
        best = least[i] < best ? least[i] : best;
    return best;
}

/* Returns where a length of s classes goes: the room of a block, or `grid` for a new one. The sum of squares grows by
 * twice the change, plus one if the length fills or begins a block, or two if it moves one. */
static uint32_t packer_choose_room(const struct packer *p, uint32_t s)
{
    int32_t change = packer_min_change(p, s);
    int64_t moved = change < NOWHERE ? 2 * (int64_t)change + 2 : INT64_MAX;
    int64_t filled = s < p->grid && p->levels[s] ? -2 * (int64_t)p->levels[s] + 1 : INT64_MAX;
    int64_t begun = s < p->grid ? 2 * (int64_t)p->levels[p->grid - s] + 1 : 0;
    if (filled <= moved && filled <= begun)
        return s;
    if (begun <= moved)
        return p->grid;
    uint32_t g = s + 1;
    while (p->levels[g - s] - p->open[g] != change)
        g++;
    return g;
}

static int packer_place(struct packer *p, uint32_t place, struct bl_error *e)
{
    int64_t units = bl_lengths_units(p->lengths, p->item[place]);
    uint32_t s = (uint32_t)((units * p->grid + p->T - 1) / p->T), g = packer_choose_room(p, s), block;
    if (g == p->grid) {
        int code = packer_add_block(p, e);
        if (code)
            return code;
        block = (uint32_t)(p->blocks - 1);
    } else {
        block = packer_take_block(p, g);
    }
    p->before[place] = p->last[block];
    p->last[block] = place;
    p->room[block] -= s;
    if (++p->size[block] == p->sequences || p->room[block] == 0)
        return BL_OK;
    g = p->room[block];
    p->below[block] = p->top[g];
    p->top[g] = block;
    p->open[g] = ++p->levels[g];
    return BL_OK;
}

/* Adds full blocks to the draft; moves the members of the others to the front of p->item, as ids. */
static int packer_collect(struct packer *p, struct bl_draft *d, size_t *left, struct bl_random *inside,
                          struct bl_error *e)
{
    uint32_t *rest = malloc((p->items + 1) * sizeof *rest);
    int code = rest ? BL_OK : bl_error_memory(e);
    *left = 0;
    for (size_t b = 0; !code && b < p->blocks; b++) {
        uint32_t *to = p->room[b] == 0 ? d->sequence + d->pieces : rest + *left;
        size_t n = 0;
        for (uint32_t place = p->last[b]; place != NONE; place = p->before[place])
            to[n++] = (uint32_t)bl_lengths_id(p->lengths, p->item[place]);
        if (p->room[b] > 0) {
            *left += n;
            continue;
        }
        bl_random_shuffle_u32(inside, to, n);
        code = bl_draft_close(d, n, e);
    }
    if (!code)
        memcpy(p->item, rest, *left * sizeof *rest);
    free(rest);
    return code;
}

static int random_prepare(struct bl_subproblem *s, int64_t *bound, const struct bl_limits *limits, struct bl_error *e)
{
    int code = bl_fill_prepare_bound(s, bound, limits, e);
    bl_histogram_free(&s->h);
    return code;
}

static int random_draft(struct bl_draft *d, const struct bl_subproblem *s, const struct bl_limits *limits,
                        uint64_t seed, struct bl_error *e)
{
    struct packer p = {.lengths = &s->lengths, .T = limits->T, .sequences = limits->sequences};
    struct bl_lengths rest = s->lengths;
    struct bl_random order, inside;
    bl_random_seed(&order, seed, BL_STREAM_FILL);
    bl_random_seed(&inside, seed, BL_STREAM_INSIDE);
    int code = packer_make(&p, e);
    if (code)
        goto out;
    bl_random_shuffle_u32(&order, p.item, p.items);
    for (size_t i = 0; i < p.items; i++) {
        code = packer_place(&p, (uint32_t)i, e);
        if (code)
            goto out;
    }
    code = packer_collect(&p, d, &rest.count, &inside, e);
    if (code || rest.count == 0)
        goto out;
    rest.index = p.item;
    code = bl_fill_rest(d, &rest, limits, seed, e);
out:
    packer_free(&p);
    return code;
}

const struct bl_fill_ops bl_fill_ops_random = {.is_random = true, .prepare = random_prepare, .draft = random_draft};
