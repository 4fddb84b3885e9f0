#include "plan/trade.h"

enum {
    SINGLES = 12,   /* sequences of a block that a trade chooses from */
    ANY = 12,       /* parcels of a block that any trade is looked for among */
    PARCELS = 40,   /* of one or two of them, and nothing */
    OPERATIONS = 4, /* to look at one kind of load of two parcels */
};

struct parcel {
    uint32_t piece[2];
    int size;
    struct bl_load load;
};

struct side {
    struct parcel parcel[PARCELS];
    int count;
};

static void side_add(const struct bl_loads *l, struct side *s, uint32_t a, uint32_t b)
{
    struct parcel *p = &s->parcel[s->count++];
    *p = (struct parcel){.piece = {a, b}, .size = (a != BL_LOADS_NONE) + (b != BL_LOADS_NONE)};
    for (int i = 0; i < p->size; i++)
        for (int k = 0; k < l->kinds; k++)
            p->load.of[k] += bl_loads_piece(l, p->piece[i], k);
}

/* Makes parcels of some sequences of a block: nothing, single ones, and pairs. */
static void side_make(struct bl_loads *l, struct side *s, const struct bl_load_block *b)
{
    uint32_t single[SINGLES];
    uint32_t seen = 0, chosen = b->size < SINGLES ? b->size : SINGLES;
    for (uint32_t p = b->head; p != BL_LOADS_NONE; p = l->next[p], seen++) {
        uint64_t place = seen < SINGLES ? seen : bl_random_below(&l->random, seen + 1);
        if (place < SINGLES)
            single[place] = p;
    }
    bl_random_shuffle_u32(&l->random, single, chosen);
    s->count = 0;
    side_add(l, s, BL_LOADS_NONE, BL_LOADS_NONE);
    for (uint32_t i = 0; i < chosen; i++)
        side_add(l, s, single[i], BL_LOADS_NONE);
    for (uint32_t i = 1; i < chosen; i++)
        for (uint32_t j = 0; j < i && s->count < PARCELS; j++)
            side_add(l, s, single[i], single[j]);
    l->work += b->size;
}

/* What both blocks have too much after a trade; or, if that is no less than `limit`, a number of at least that. */
static int64_t trade_excess(const struct bl_loads *l, const struct bl_load_block *a, const struct bl_load_block *b,
                            const struct parcel *x, const struct parcel *y, int64_t limit)
{
    int64_t excess = 0;
    for (int k = 0; k < l->kinds && excess < limit; k++) {
        int64_t moved = y->load.of[k] - x->load.of[k];
        int64_t own = a->load.of[k] - l->most.of[k] + moved, other = b->load.of[k] - l->most.of[k] - moved;
        excess += ((own > 0 ? own : 0) + (other > 0 ? other : 0)) * l->weight.of[k];
    }
    return excess;
}

static void trade_make(struct bl_loads *l, struct bl_load_block *a, struct bl_load_block *b, const struct parcel *x,
                       const struct parcel *y)
{
    for (int i = 0; i < x->size; i++)
        bl_loads_remove(l, a, x->piece[i]);
    for (int i = 0; i < y->size; i++)
        bl_loads_remove(l, b, y->piece[i]);
    for (int i = 0; i < x->size; i++)
        bl_loads_add(l, b, x->piece[i]);
    for (int i = 0; i < y->size; i++)
        bl_loads_add(l, a, y->piece[i]);
}

/* Whether no block becomes empty. */
static bool trade_is_whole(const struct bl_load_block *a, const struct bl_load_block *b, const struct parcel *x,
                           const struct parcel *y)
{
    int change = y->size - x->size;
    return (int64_t)a->size + change > 0 && (int64_t)b->size - change > 0;
}

void bl_trade_relieve(struct bl_loads *l, struct bl_load_block *a, struct bl_load_block *b)
{
    struct side own, other;
    const struct parcel *x = NULL, *y = NULL;
    int64_t least = bl_loads_excess(l, &a->load, INT64_MAX) + bl_loads_excess(l, &b->load, INT64_MAX) + 1;
    side_make(l, &own, a);
    side_make(l, &other, b);
    for (int i = 0; i < own.count && least > 0; i++)
        for (int j = 0; j < other.count && least > 0; j++) {
            const struct parcel *gone = &own.parcel[i], *come = &other.parcel[j];
            int64_t excess = gone->size + come->size == 0 ? least : trade_excess(l, a, b, gone, come, least);
            if (excess >= least || !trade_is_whole(a, b, gone, come))
                continue;
            least = excess;
            x = gone;
            y = come;
        }
    l->work += (int64_t)own.count * other.count * l->kinds * OPERATIONS;
    if (x)
        trade_make(l, a, b, x, y);
}

bool bl_trade_any(struct bl_loads *l, struct bl_load_block *a, struct bl_load_block *b)
{
    struct side own, other;
    side_make(l, &own, a);
    side_make(l, &other, b);
    if (own.count < 2 || other.count < 2)
        return false;
    int own_first = (int)bl_random_below(&l->random, (uint64_t)own.count - 1);
    int other_first = (int)bl_random_below(&l->random, (uint64_t)other.count - 1);
    for (int i = 0; i < own.count - 1 && i < ANY; i++)
        for (int j = 0; j < other.count - 1 && j < ANY; j++) {
            const struct parcel *x = &own.parcel[1 + (own_first + i) % (own.count - 1)];
            const struct parcel *y = &other.parcel[1 + (other_first + j) % (other.count - 1)];
            if (!trade_is_whole(a, b, x, y) || trade_excess(l, a, b, x, y, 1) > 0)
                continue;
            trade_make(l, a, b, x, y);
            return true;
        }
    return false;
}
