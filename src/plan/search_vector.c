#include "plan/search_vector.h"

#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "plan/trade.h"

enum {
    PARTNERS = 8,    /* blocks that a block with too much tries in a round */
    STALE = 30,      /* rounds without gain */
    SCANNED = 4096,  /* blocks that a sequence looks for room in, */
    SCANS = 1 << 27, /* or fewer, where there are many sequences: in all */
    GUESSES = 64,    /* blocks of which a sequence without room goes to the best, and sequences of which one leaves */
    PLENTY = 8,      /* sequences that every block has room for, besides those it gets */
    FAILURES = 30,   /* to do without a block */
};

static int64_t block_excess(const struct bl_loads *l, size_t b)
{
    return bl_loads_excess(l, &l->block[b].load, INT64_MAX);
}

/* --- trades ----------------------------------------------------------------------------------------------------- */

static void block_relieve(struct bl_loads *l, size_t b)
{
    for (int i = 0; i < PARTNERS && block_excess(l, b) > 0; i++) {
        size_t other = bl_random_below(&l->random, l->blocks - 1);
        bl_trade_relieve(l, &l->block[b], &l->block[other + (other >= b)]);
    }
}

/* Trades until no block has too much, or too long without gain. Returns whether none has. */
static bool loads_relieve(struct bl_loads *l, int64_t work)
{
    int64_t least = INT64_MAX;
    for (int stale = 0; stale < STALE && l->work < work; stale++) {
        int64_t excess = 0;
        for (size_t b = 0; b < l->blocks; b++) {
            int64_t its = block_excess(l, b);
            excess += its;
            if (its > 0 && l->blocks > 1)
                block_relieve(l, b);
        }
        l->work += (int64_t)l->blocks * l->kinds;
        if (excess == 0)
            return true;
        if (excess < least) {
            least = excess;
            stale = 0;
        }
    }
    return false;
}

/* --- sequences that find no room -------------------------------------------------------------------------------- */

static struct bl_load load_with(const struct bl_loads *l, size_t b, uint32_t piece)
{
    struct bl_load load = l->block[b].load;
    for (int k = 0; k < l->kinds; k++)
        load.of[k] += bl_loads_piece(l, piece, k);
    return load;
}

/* Returns which blocks suit a piece: 1 the fullest, or -1 the emptiest, if in the end each has room for PLENTY more of
 * them in the mean. Small pieces are spread then. all: the load of all pieces. */
static int piece_preference(const struct bl_loads *l, uint32_t piece, const struct bl_load *all)
{
    for (int k = 0; k < l->kinds; k++) {
        double own = (double)bl_loads_piece(l, piece, k), room = (double)l->most.of[k] * (double)l->blocks;
        if (own > 0 && room - (double)all->of[k] < PLENTY * own * (double)l->blocks)
            return 1;
    }
    return -1;
}

/* Returns the block, of some that a piece fits into, that suits it best, or SIZE_MAX. */
static size_t loads_find_room(struct bl_loads *l, uint32_t piece, const struct bl_load *all, size_t scanned)
{
    size_t best = SIZE_MAX;
    scanned = l->blocks < scanned ? l->blocks : scanned;
    size_t first = l->blocks ? bl_random_below(&l->random, l->blocks) : 0;
    int64_t most = INT64_MIN;
    int preference = piece_preference(l, piece, all);
    for (size_t i = 0; i < scanned; i++) {
        size_t b = (first + i) % l->blocks;
        struct bl_load load = load_with(l, b, piece);
        int64_t suits = 0;
        for (int k = 0; k < l->kinds; k++)
            if (load.of[k] > l->block[b].load.of[k])
                suits += preference * load.of[k] * l->weight.of[k] / l->kinds;
        if (suits > most && !bl_loads_excess(l, &load, 1)) {
            most = suits;
            best = b;
        }
    }
    l->work += (int64_t)scanned * l->kinds;
    return best;
}

/* Takes the piece out of a block that leaves the least excess, of several the smallest: of some that lessen it. */
static uint32_t block_take(struct bl_loads *l, struct bl_load_block *block)
{
    uint32_t best = block->head;
    int64_t least = INT64_MAX, smallest = INT64_MAX, before = bl_loads_excess(l, &block->load, INT64_MAX);
    int useful = 0;
    for (uint32_t p = block->head; p != BL_LOADS_NONE && useful < GUESSES; p = l->next[p]) {
        struct bl_load load = block->load, own = {{0}};
        for (int k = 0; k < l->kinds; k++) {
            own.of[k] = bl_loads_piece(l, p, k);
            load.of[k] -= own.of[k];
        }
        int64_t excess = bl_loads_excess(l, &load, INT64_MAX), size = bl_loads_fullness(l, &own);
        useful += excess < before;
        if (excess < least || (excess == least && size < smallest)) {
            least = excess;
            smallest = size;
            best = p;
        }
    }
    bl_loads_remove(l, block, best);
    return best;
}

/* Sorts pieces from the largest to the smallest. */
static void pieces_sort(const struct bl_loads *l, uint64_t *piece, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct bl_load own;
        for (int k = 0; k < l->kinds; k++)
            own.of[k] = bl_loads_piece(l, (uint32_t)piece[i], k);
        piece[i] |= ~(uint64_t)(bl_loads_fullness(l, &own) >> 2) << 32;
    }
    bl_sort_u64(piece, count, 32);
}

/* Puts pieces of no block where there is room, or into new blocks. *piece: indices, which are overwritten. */
static int loads_place(struct bl_loads *l, uint64_t *piece, size_t count, struct bl_error *e)
{
    int code = BL_OK;
    size_t scanned = count > SCANS / SCANNED ? SCANS / count + GUESSES : SCANNED;
    struct bl_load all = {{0}};
    for (uint32_t p = 0; p < l->pieces; p++)
        for (int k = 0; k < l->kinds; k++)
            all.of[k] += bl_loads_piece(l, p, k);
    pieces_sort(l, piece, count);
    for (size_t i = 0; !code && i < count; i++) {
        size_t b = loads_find_room(l, (uint32_t)piece[i], &all, scanned);
        if (b == SIZE_MAX) {
            code = bl_loads_open(l, e);
            b = l->blocks - 1;
        }
        if (!code)
            bl_loads_add(l, &l->block[b], (uint32_t)piece[i]);
    }
    return code;
}

/* Takes out what is too much, and places it, and what had no block. */
static int loads_evict(struct bl_loads *l, struct bl_error *e)
{
    size_t count = 0;
    uint64_t *piece = malloc((l->pieces + 1) * sizeof *piece);
    if (!piece)
        return bl_error_memory(e);
    for (; l->unplaced; l->unplaced--)
        piece[count++] = l->pieces - l->unplaced;
    for (size_t b = 0; b < l->blocks; b++)
        while (block_excess(l, b) > 0)
            piece[count++] = block_take(l, &l->block[b]);
    int code = loads_place(l, piece, count, e);
    free(piece);
    return code;
}

int bl_search_mend(struct bl_loads *l, int64_t work, struct bl_error *e)
{
    return loads_relieve(l, work) && !l->unplaced ? BL_OK : loads_evict(l, e);
}

/* --- doing without a block -------------------------------------------------------------------------------------- */

/* A copy of the blocks. */
struct saved {
    uint32_t *next;
    struct bl_load_block *block;
    size_t blocks;
};

static void saved_set(struct saved *s, const struct bl_loads *l)
{
    memcpy(s->next, l->next, l->pieces * sizeof *s->next);
    memcpy(s->block, l->block, l->blocks * sizeof *s->block);
    s->blocks = l->blocks;
}

static void saved_restore(const struct saved *s, struct bl_loads *l)
{
    memcpy(l->next, s->next, l->pieces * sizeof *s->next);
    memcpy(l->block, s->block, s->blocks * sizeof *s->block);
    l->blocks = s->blocks;
}

/* Returns one of the emptiest blocks: the emptiest of some. */
static size_t loads_find_empty(struct bl_loads *l, int failures)
{
    size_t best = 0, tried = failures ? GUESSES : l->blocks;
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < tried; i++) {
        size_t b = failures ? bl_random_below(&l->random, l->blocks) : i;
        int64_t fullness = bl_loads_fullness(l, &l->block[b].load);
        if (fullness < least) {
            least = fullness;
            best = b;
        }
    }
    return best;
}

/* Returns the block, of some, that has the least excess with a piece. */
static size_t loads_guess(struct bl_loads *l, uint32_t piece)
{
    size_t best = 0;
    int64_t least = INT64_MAX;
    for (int i = 0; i < GUESSES && least > 0; i++) {
        size_t b = bl_random_below(&l->random, l->blocks);
        struct bl_load load = load_with(l, b, piece);
        int64_t excess = bl_loads_excess(l, &load, INT64_MAX) - block_excess(l, b);
        if (excess < least) {
            least = excess;
            best = b;
        }
    }
    return best;
}

/* Removes a block and puts its pieces into others, whether they have room or not. */
static void loads_dissolve(struct bl_loads *l, size_t b)
{
    uint32_t piece = l->block[b].head;
    l->block[b] = l->block[--l->blocks];
    while (piece != BL_LOADS_NONE) {
        uint32_t next = l->next[piece];
        bl_loads_add(l, &l->block[loads_guess(l, piece)], piece);
        piece = next;
    }
}

int bl_search_reduce(struct bl_loads *l, int64_t bound, int64_t work, struct bl_error *e)
{
    struct saved s = {.next = malloc((l->pieces + 1) * sizeof *s.next),
                      .block = malloc((l->blocks + 1) * sizeof *s.block)};
    int code = s.next && s.block ? BL_OK : bl_error_memory(e);
    for (int failures = 0; !code && failures < FAILURES && (int64_t)l->blocks > bound && l->work < work;) {
        saved_set(&s, l);
        loads_dissolve(l, loads_find_empty(l, failures));
        if (loads_relieve(l, work)) {
            failures = 0;
            continue;
        }
        saved_restore(&s, l);
        failures++;
    }
    free(s.next);
    free(s.block);
    return code;
}
