/* Exchanges of sets between two blocks of a draft, which levelling uses: blocks as lists of nodes, two partners with
 * their parcels, and what an exchange does to the costs of both. The search itself is in exchange.c. */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "plan/exchange.h"
#include "plan/random.h"

/* --- blocks of nodes ---------------------------------------------------------------------------------------------- */

#define NONE UINT32_MAX

enum { EXCHANGE_SINGLES = 12 }; /* parcels of one sequence, in blocks with more sequences than parcels */

/* Returns a length in units, as bl_lengths_units_of does for an id. */
static int64_t block_exchange_units(const struct bl_block_exchange *m, uint32_t length)
{
    const struct bl_lengths *l = &m->cost->pieces->lengths;
    int64_t units = l->unit == 1 ? length : (length + l->unit - 1) / l->unit;
    return units < l->cap ? units : l->cap;
}

/* Adds a piece to a block: to its first node, or to an unused node if that is full. bl_block_exchange_make has made
 * enough nodes for any sizes of the blocks. */
static void block_exchange_add(struct bl_block_exchange *m, struct bl_exchange_block *block, uint32_t id,
                               uint32_t length)
{
    struct bl_exchange_node *node = block->node == NONE ? NULL : &m->node[block->node];
    if (!node || node->pieces == BL_NODE_PIECES) {
        uint32_t fresh = m->unused;
        node = &m->node[fresh];
        m->unused = node->next;
        node->next = block->node;
        node->pieces = 0;
        block->node = fresh;
    }
    node->piece[node->pieces].id = id;
    node->piece[node->pieces++].length = length;
    block->size++;
}

/* Reads block b of the draft into nodes, and sums its costs and room. */
static void block_exchange_fill_block(struct bl_block_exchange *m, size_t b)
{
    const struct bl_draft *d = m->draft;
    struct bl_exchange_block *block = &m->block[b];
    *block = (struct bl_exchange_block){.node = NONE, .room = m->limits->T};
    for (int p = 0; p < m->cost->points; p++)
        *bl_block_exchange_at(m, b, p) = (struct bl_exchange_cost){.cost = m->cost->point[p].block};
    for (uint32_t i = d->first[b]; i < d->first[b + 1]; i++) {
        uint32_t id = d->sequence[i], length = (uint32_t)m->cost->pieces->lengths.length[id];
        block_exchange_add(m, block, id, length);
        block->room -= block_exchange_units(m, length);
        for (int p = 0; p < m->cost->points; p++) {
            struct bl_exchange_cost *at = bl_block_exchange_at(m, b, p);
            int64_t cost = bl_cost_piece(m->cost, p, id);
            at->cost += cost;
            at->max_cost = cost > at->max_cost ? cost : at->max_cost;
        }
    }
}

int bl_block_exchange_make(struct bl_block_exchange *m, struct bl_draft *d, const struct bl_cost *cost,
                           const struct bl_limits *limits, const struct bl_needs *needs, uint64_t seed,
                           struct bl_error *e)
{
    size_t nodes = d->pieces / BL_NODE_PIECES + d->blocks + 1; /* a block has at most one node that is not full */
    *m = (struct bl_block_exchange){.draft = d,
                                    .cost = cost,
                                    .limits = limits,
                                    .needs = needs,
                                    .block = malloc((d->blocks + 1) * sizeof *m->block),
                                    .at = malloc((d->blocks + 1) * (size_t)cost->points * sizeof *m->at),
                                    .node = aligned_alloc(sizeof *m->node, nodes * sizeof *m->node)};
    if (!m->block || !m->at || !m->node)
        return bl_error_memory(e);
    m->exchange.points = cost->points;
    bl_random_seed(&m->random, seed, BL_STREAM_LEVEL);
    for (size_t i = 0; i < nodes; i++)
        m->node[i].next = (uint32_t)(i + 1);
    for (size_t b = 0; b < d->blocks; b++)
        block_exchange_fill_block(m, b);
    return BL_OK;
}

/* Sets the pointers to NULL, so that a second call does no harm. */
void bl_block_exchange_free(struct bl_block_exchange *m)
{
    free(m->block);
    free(m->at);
    free(m->node);
    free(m->own.item);
    free(m->other.item);
    m->block = NULL;
    m->at = NULL;
    m->node = NULL;
    m->own.item = m->other.item = NULL;
}

/* --- partners --------------------------------------------------------------------------------------------------- */

/* Exchanges two items of a partner. */
static void partner_swap(struct bl_exchange_partner *partner, size_t a, size_t b)
{
    struct bl_exchange_item item = partner->item[a];
    partner->item[a] = partner->item[b];
    partner->item[b] = item;
}

/* Computes units and costs from the length on the node, without a look into the scattered table of lengths. */
static struct bl_exchange_item partner_item(const struct bl_block_exchange *m, uint32_t id, uint32_t length)
{
    struct bl_exchange_item item = {.id = id, .length = length, .units = block_exchange_units(m, length)};
    for (int p = 0; p < m->cost->points; p++)
        item.cost[p] = bl_cost_of_length(m->cost, p, length, &id);
    return item;
}

/* Brings the most expensive piece at point p to place p of the items, from those that follow. */
static void partner_lead(struct bl_exchange_partner *partner, int p)
{
    int64_t most = -1;
    for (size_t i = (size_t)p; i < partner->size; i++) {
        if (partner->item[i].cost[p] > most) {
            most = partner->item[i].cost[p];
            partner_swap(partner, (size_t)p, i);
        }
    }
}

/* Reads the pieces of block b into a partner and groups them into parcels. BL_EFAIL: out of memory. */
static int partner_fill(struct bl_block_exchange *m, struct bl_exchange_partner *partner, uint32_t b,
                        struct bl_error *e)
{
    const struct bl_exchange_block *block = &m->block[b];
    BL_TRY(BL_ARRAY_RESERVE(partner->item, partner->capacity, block->size, e));
    partner->block = b;
    partner->size = 0;
    for (uint32_t c = block->node; c != NONE; c = m->node[c].next) {
        const struct bl_exchange_node *node = &m->node[c];
        for (uint32_t i = 0; i < node->pieces; i++)
            partner->item[partner->size++] = partner_item(m, node->piece[i].id, node->piece[i].length);
    }
    if (partner->size > BL_PARCELS_MAX) {
        /* A block with many pieces has single parcels for its most expensive piece at each point and random others, 12
         * in all; the remaining pieces make runs of nearly equal size. */
        for (int p = 0; p < m->cost->points; p++)
            partner_lead(partner, p);
        for (size_t i = (size_t)m->cost->points; i < EXCHANGE_SINGLES; i++)
            partner_swap(partner, i, i + bl_random_below(&m->random, partner->size - i));
    }
    struct bl_exchange_side *side = &partner->side;
    size_t runs = BL_PARCELS_MAX - EXCHANGE_SINGLES;
    bool is_many = partner->size > BL_PARCELS_MAX;
    memset(side->parcel, 0, sizeof side->parcel);
    side->parcels = is_many ? BL_PARCELS_MAX : (int)partner->size;
    for (size_t i = 0; i < partner->size; i++) {
        size_t p = is_many && i >= EXCHANGE_SINGLES
                       ? EXCHANGE_SINGLES + (i - EXCHANGE_SINGLES) * runs / (partner->size - EXCHANGE_SINGLES)
                       : i;
        partner->item[i].parcel = (uint32_t)p;
        side->parcel[p].units += (int32_t)partner->item[i].units;
        for (int k = 0; k < m->cost->points; k++)
            side->parcel[p].cost[k] += partner->item[i].cost[k];
        side->parcel[p].sequences++;
    }
    partner->side.room = block->room;
    partner->side.places = (int64_t)m->limits->sequences - block->size;
    /* One sequence stays, so that no block becomes empty. */
    partner->side.spare = (int64_t)block->size - 1;
    m->exchange.work += block->size;
    return BL_OK;
}

/* --- exchanges of sets ------------------------------------------------------------------------------------------ */

/* Reading a block costs its pieces once, for all partners that follow. */
int bl_block_exchange_begin(struct bl_block_exchange *m, uint32_t block, struct bl_error *e)
{
    int code = partner_fill(m, &m->own, block, e);
    if (!code)
        bl_exchange_begin(&m->exchange, &m->own.side, &m->random);
    return code;
}

/* Returns what the pieces of a partner that are in the set need of a column; for ~set, what the others need. */
static int64_t partner_sum_need(const struct bl_exchange_partner *partner, const struct bl_need *need, uint32_t set)
{
    int64_t sum = 0;
    for (size_t i = 0; i < partner->size; i++)
        if (set >> partner->item[i].parcel & 1)
            sum += need->of[partner->item[i].id];
    return sum;
}

/* Returns whether both blocks keep to the maxima of the columns after an exchange. */
static bool block_exchange_fits(const struct bl_block_exchange *m, const uint32_t set[2])
{
    for (int c = 0; c < m->needs->count; c++) {
        const struct bl_need *need = &m->needs->each[c];
        if (partner_sum_need(&m->own, need, ~set[0]) + partner_sum_need(&m->other, need, set[1]) > need->most ||
            partner_sum_need(&m->other, need, ~set[1]) + partner_sum_need(&m->own, need, set[0]) > need->most)
            return false;
    }
    return true;
}

int bl_block_exchange_find(struct bl_block_exchange *m, uint32_t other, int choices, const int64_t *wish,
                           int64_t tolerance, uint32_t set[2], int64_t *moved, bool *found, struct bl_error *e)
{
    /* Both blocks together cannot keep more room than they have; a quarter of the sum each leaves some choice. */
    int64_t half = (m->block[m->own.block].room + m->block[other].room) / 4;
    BL_TRY(partner_fill(m, &m->other, other, e));
    m->own.side.keep = m->other.side.keep = half < m->keep ? half : m->keep;
    *found = bl_exchange_find(&m->exchange, &m->other.side, choices, wish, tolerance, &m->random, set, moved) &&
             block_exchange_fits(m, set);
    return BL_OK;
}

/* Puts the pieces of a partner back into its block, or, if they are in the set, into the other block. */
static void partner_return(struct bl_block_exchange *m, const struct bl_exchange_partner *partner, uint32_t other,
                           uint32_t set)
{
    for (size_t i = 0; i < partner->size; i++) {
        const struct bl_exchange_item *item = &partner->item[i];
        bool goes = set >> item->parcel & 1;
        struct bl_exchange_block *to = &m->block[goes ? other : partner->block];
        block_exchange_add(m, to, item->id, item->length);
        for (int p = 0; p < m->cost->points; p++) {
            int64_t *most = &bl_block_exchange_at(m, goes ? other : partner->block, p)->max_cost;
            *most = item->cost[p] > *most ? item->cost[p] : *most;
        }
        if (goes) {
            m->block[partner->block].room += item->units;
            to->room -= item->units;
        }
    }
}

/* Removes all pieces of a block, and gives its nodes back to the unused ones. */
static void block_exchange_clear(struct bl_block_exchange *m, uint32_t b)
{
    struct bl_exchange_block *block = &m->block[b];
    for (uint32_t c = block->node, next; c != NONE; c = next) {
        next = m->node[c].next;
        m->node[c].next = m->unused;
        m->unused = c;
    }
    block->node = NONE;
    block->size = 0;
    for (int p = 0; p < m->cost->points; p++)
        bl_block_exchange_at(m, b, p)->max_cost = 0;
}

void bl_block_exchange_apply(struct bl_block_exchange *m, const uint32_t set[2], const int64_t *moved)
{
    block_exchange_clear(m, m->own.block);
    block_exchange_clear(m, m->other.block);
    partner_return(m, &m->own, m->other.block, set[0]);
    partner_return(m, &m->other, m->own.block, set[1]);
    /* Rooms and the most expensive pieces were updated piece by piece; the costs move as a sum. */
    for (int p = 0; p < m->cost->points; p++) {
        bl_block_exchange_at(m, m->own.block, p)->cost += moved[p];
        bl_block_exchange_at(m, m->other.block, p)->cost -= moved[p];
    }
}

/* Shuffles each block, since the pieces that an exchange brought lie together. */
void bl_block_exchange_write(struct bl_block_exchange *m)
{
    struct bl_draft *d = m->draft;
    uint32_t to = 0;
    for (size_t b = 0; b < d->blocks; b++) {
        d->first[b] = to;
        for (uint32_t c = m->block[b].node; c != NONE; c = m->node[c].next)
            for (uint32_t i = 0; i < m->node[c].pieces; i++)
                d->sequence[to++] = m->node[c].piece[i].id;
        bl_random_shuffle_u32(&m->random, d->sequence + d->first[b], m->block[b].size);
    }
}
