#include "plan/meeting.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define NONE UINT32_MAX

enum { SINGLES = 12 }; /* parcels of one sequence, in blocks with more sequences than parcels */

static int64_t meeting_units(const struct bl_meeting *m, uint32_t length)
{
    const struct bl_lengths *l = &m->cost->pieces->lengths;
    int64_t units = l->unit == 1 ? length : (length + l->unit - 1) / l->unit;
    return units < l->cap ? units : l->cap;
}

/* Adds a piece to a block. There are cards enough for any sizes of the blocks. */
static void meeting_add(struct bl_meeting *m, struct bl_meeting_block *block, uint32_t id, uint32_t length)
{
    struct bl_meeting_card *card = block->card == NONE ? NULL : &m->card[block->card];
    if (!card || card->pieces == BL_CARD_PIECES) {
        uint32_t fresh = m->unused;
        card = &m->card[fresh];
        m->unused = card->next;
        card->next = block->card;
        card->pieces = 0;
        block->card = fresh;
    }
    card->piece[card->pieces].id = id;
    card->piece[card->pieces++].length = length;
    block->size++;
}

static void meeting_fill_block(struct bl_meeting *m, size_t b)
{
    const struct bl_draft *d = m->draft;
    struct bl_meeting_block *block = &m->block[b];
    *block = (struct bl_meeting_block){.card = NONE, .cost = m->cost->block, .room = m->limits->T};
    for (uint32_t p = d->first[b]; p < d->first[b + 1]; p++) {
        uint32_t id = d->sequence[p], length = (uint32_t)m->cost->pieces->lengths.length[id];
        int64_t cost = bl_cost_piece(m->cost, id);
        meeting_add(m, block, id, length);
        block->cost += cost;
        block->room -= meeting_units(m, length);
        block->dearest = cost > block->dearest ? cost : block->dearest;
    }
}

int bl_meeting_make(struct bl_meeting *m, struct bl_draft *d, const struct bl_cost *cost,
                    const struct bl_limits *limits, const struct bl_needs *needs, uint64_t seed, struct bl_error *e)
{
    size_t cards = d->pieces / BL_CARD_PIECES + d->blocks + 1; /* a block has at most one that is not full */
    *m = (struct bl_meeting){.draft = d,
                             .cost = cost,
                             .limits = limits,
                             .needs = needs,
                             .block = malloc((d->blocks + 1) * sizeof *m->block),
                             .card = aligned_alloc(sizeof *m->card, cards * sizeof *m->card)};
    if (!m->block || !m->card)
        return bl_error_memory(e);
    bl_random_seed(&m->random, seed, BL_STREAM_LEVEL);
    for (size_t i = 0; i < cards; i++)
        m->card[i].next = (uint32_t)(i + 1);
    for (size_t b = 0; b < d->blocks; b++)
        meeting_fill_block(m, b);
    return BL_OK;
}

void bl_meeting_free(struct bl_meeting *m)
{
    free(m->block);
    free(m->card);
    free(m->own.item);
    free(m->other.item);
    m->block = NULL;
    m->card = NULL;
    m->own.item = m->other.item = NULL;
}

/* --- hands ------------------------------------------------------------------------------------------------------ */

static void hand_swap(struct bl_meeting_hand *hand, size_t a, size_t b)
{
    struct bl_meeting_item item = hand->item[a];
    hand->item[a] = hand->item[b];
    hand->item[b] = item;
}

/* The dearest piece comes first, then others at random: these are parcels of their own where there are too many. */
static void hand_mix(struct bl_meeting_hand *hand, struct bl_random *random)
{
    int64_t most = -1;
    for (size_t i = 0; i < hand->size; i++) {
        if (hand->item[i].cost > most) {
            most = hand->item[i].cost;
            hand_swap(hand, 0, i);
        }
    }
    for (size_t i = 1; i < SINGLES; i++)
        hand_swap(hand, i, i + bl_random_below(random, hand->size - i));
}

static void hand_make_parcels(struct bl_meeting_hand *hand)
{
    struct bl_exchange_side *side = &hand->side;
    size_t runs = BL_PARCELS_MAX - SINGLES;
    bool is_many = hand->size > BL_PARCELS_MAX;
    memset(side->parcel, 0, sizeof side->parcel);
    side->parcels = is_many ? BL_PARCELS_MAX : (int)hand->size;
    for (size_t i = 0; i < hand->size; i++) {
        size_t p = is_many && i >= SINGLES ? SINGLES + (i - SINGLES) * runs / (hand->size - SINGLES) : i;
        hand->item[i].parcel = (uint32_t)p;
        side->parcel[p].units += (int32_t)hand->item[i].units;
        side->parcel[p].cost += hand->item[i].cost;
        side->parcel[p].sequences++;
    }
}

static struct bl_meeting_item hand_item(const struct bl_meeting *m, uint32_t id, uint32_t length)
{
    return (struct bl_meeting_item){
        .id = id, .length = length, .units = meeting_units(m, length), .cost = bl_cost_of_length(m->cost, length, &id)};
}

static int hand_fill(struct bl_meeting *m, struct bl_meeting_hand *hand, uint32_t b, struct bl_error *e)
{
    const struct bl_meeting_block *block = &m->block[b];
    int code = BL_ARRAY_RESERVE(hand->item, hand->capacity, block->size, e);
    if (code)
        return code;
    hand->block = b;
    hand->size = 0;
    for (uint32_t c = block->card; c != NONE; c = m->card[c].next) {
        const struct bl_meeting_card *card = &m->card[c];
        for (uint32_t i = 0; i < card->pieces; i++)
            hand->item[hand->size++] = hand_item(m, card->piece[i].id, card->piece[i].length);
    }
    if (hand->size > BL_PARCELS_MAX)
        hand_mix(hand, &m->random);
    hand_make_parcels(hand);
    hand->side.room = block->room;
    hand->side.places = (int64_t)m->limits->sequences - block->size;
    hand->side.spare = (int64_t)block->size - 1;
    m->exchange.work += block->size;
    return BL_OK;
}

/* --- meetings --------------------------------------------------------------------------------------------------- */

int bl_meeting_begin(struct bl_meeting *m, uint32_t block, struct bl_error *e)
{
    int code = hand_fill(m, &m->own, block, e);
    if (!code)
        bl_exchange_begin(&m->exchange, &m->own.side, &m->random);
    return code;
}

/* Adds what the pieces of a hand that are in the set need of a column, or those that are not. */
static int64_t hand_sum_need(const struct bl_meeting_hand *hand, const struct bl_need *need, uint32_t set)
{
    int64_t sum = 0;
    for (size_t i = 0; i < hand->size; i++)
        if (set >> hand->item[i].parcel & 1)
            sum += need->of[hand->item[i].id];
    return sum;
}

/* Whether both blocks keep to the maxima of the columns after an exchange. */
static bool meeting_fits(const struct bl_meeting *m, const uint32_t set[2])
{
    for (int c = 0; c < m->needs->count; c++) {
        const struct bl_need *need = &m->needs->each[c];
        if (hand_sum_need(&m->own, need, ~set[0]) + hand_sum_need(&m->other, need, set[1]) > need->most ||
            hand_sum_need(&m->other, need, ~set[1]) + hand_sum_need(&m->own, need, set[0]) > need->most)
            return false;
    }
    return true;
}

int bl_meeting_find(struct bl_meeting *m, uint32_t other, int choices, int64_t wish, int64_t tolerance, uint32_t set[2],
                    int64_t *moved, bool *found, struct bl_error *e)
{
    int64_t half = (m->block[m->own.block].room + m->block[other].room) / 4;
    int code = hand_fill(m, &m->other, other, e);
    if (code)
        return code;
    m->own.side.keep = m->other.side.keep = half < m->keep ? half : m->keep;
    *found = bl_exchange_find(&m->exchange, &m->other.side, choices, wish, tolerance, &m->random, set, moved) &&
             meeting_fits(m, set);
    return BL_OK;
}

/* Puts the pieces of a hand back into its block, or, if they are in the set, into the other. */
static void hand_return(struct bl_meeting *m, const struct bl_meeting_hand *hand, uint32_t other, uint32_t set)
{
    for (size_t i = 0; i < hand->size; i++) {
        const struct bl_meeting_item *item = &hand->item[i];
        bool goes = set >> item->parcel & 1;
        struct bl_meeting_block *to = &m->block[goes ? other : hand->block];
        meeting_add(m, to, item->id, item->length);
        to->dearest = item->cost > to->dearest ? item->cost : to->dearest;
        if (goes) {
            m->block[hand->block].room += item->units;
            to->room -= item->units;
        }
    }
}

/* Takes all pieces out of a block. */
static void meeting_clear(struct bl_meeting *m, struct bl_meeting_block *block)
{
    for (uint32_t c = block->card, next; c != NONE; c = next) {
        next = m->card[c].next;
        m->card[c].next = m->unused;
        m->unused = c;
    }
    block->card = NONE;
    block->size = 0;
    block->dearest = 0;
}

void bl_meeting_exchange(struct bl_meeting *m, const uint32_t set[2], int64_t moved)
{
    struct bl_meeting_block *own = &m->block[m->own.block], *other = &m->block[m->other.block];
    meeting_clear(m, own);
    meeting_clear(m, other);
    hand_return(m, &m->own, m->other.block, set[0]);
    hand_return(m, &m->other, m->own.block, set[1]);
    own->cost += moved;
    other->cost -= moved;
}

/* Draws the order anew, since what was exchanged lies together. */
void bl_meeting_write(struct bl_meeting *m)
{
    struct bl_draft *d = m->draft;
    uint32_t to = 0;
    for (size_t b = 0; b < d->blocks; b++) {
        d->first[b] = to;
        for (uint32_t c = m->block[b].card; c != NONE; c = m->card[c].next)
            for (uint32_t i = 0; i < m->card[c].pieces; i++)
                d->sequence[to++] = m->card[c].piece[i].id;
        bl_random_shuffle_u32(&m->random, d->sequence + d->first[b], m->block[b].size);
    }
}
