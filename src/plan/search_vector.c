/* Plans under several maxima ("vector bin packing"): a bound on the blocks, the search for few of them, and the
 * fill. */
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "plan/histogram.h"
#include "plan/draft.h"
#include "plan/fill.h"
#include "plan/exchange.h"

/* --- bound -------------------------------------------------------------------------------------------------------- */

/* A bound on the blocks by two maxima together. */

enum { SHARES = 1 << 19 }; /* of what a block has of one kind: there are no more different sums than fills take */

/* Returns the sums, [pieces], in SHARES rounded down. NULL: out of memory. */
static int64_t *loads_add_shares(const struct bl_loads *l)
{
    int kind[2] = {0, 0};
    int64_t *sum = calloc(l->pieces + 1, sizeof *sum);
    /* Finds the two kinds that fill the most blocks. */
    double most[2] = {-1, -1};
    for (int k = 0; k < l->kinds; k++) {
        double blocks = 0;
        for (uint32_t p = 0; p < l->pieces; p++)
            blocks += (double)bl_loads_piece(l, p, k) / (double)l->most.of[k];
        int place = blocks > most[0] ? 0 : 1;
        if (place == 0) {
            kind[1] = kind[0];
            most[1] = most[0];
        }
        if (blocks > most[place]) {
            kind[place] = k;
            most[place] = blocks;
        }
    }
    for (uint32_t p = 0; sum && p < l->pieces; p++)
        for (int i = 0; i < 2; i++)
            sum[p] += bl_loads_piece(l, p, kind[i]) * SHARES / l->most.of[kind[i]];
    return sum;
}

/* Raises *bound, in blocks, if that of the sums of two kinds of load is higher: each as its share of what a block has,
 * so that a block holds sums up to 2. Of the kinds, these are the two that need the most blocks. It sees what no
 * maximum alone shows: sequences that have much of one where they have little of the other. l: the load of every piece;
 * the blocks do not count. BL_EFAIL: out of memory. */
static int bound_vector(int64_t *bound, const struct bl_loads *l, const struct bl_limits *limits, struct bl_error *e)
{
    int64_t *sum = loads_add_shares(l), raised = 0;
    struct bl_limits both = *limits;
    both.T = 2 * SHARES;
    struct bl_subproblem s = {.lengths = {sum, NULL, l->pieces, 1, both.T, 1, both.T}};
    int code = sum ? bl_histogram_make(&s.h, &s.lengths, e) : bl_error_memory(e);
    if (!code && s.h.distinct) {
        raised = bl_bound_blocks(&s.h, both.T);
        code = bl_fill_prepare_bound(&s, &raised, &both, e);
    }
    *bound = raised > *bound ? raised : *bound;
    bl_subproblem_free(&s);
    free(sum);
    return code;
}

/* --- search ------------------------------------------------------------------------------------------------------- */

/* The search begins with blocks that suit one of the maxima, and moves sequences between them. */

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

/* Puts pieces of no block where there is room, or into new blocks. *piece: indices, which are overwritten. */
static int loads_place(struct bl_loads *l, uint64_t *piece, size_t count, struct bl_error *e)
{
    int code = BL_OK;
    size_t scanned = count > SCANS / SCANNED ? SCANS / count + GUESSES : SCANNED;
    struct bl_load all = {{0}};
    for (uint32_t p = 0; p < l->pieces; p++)
        for (int k = 0; k < l->kinds; k++)
            all.of[k] += bl_loads_piece(l, p, k);
    /* Sorts pieces from the largest to the smallest. */
    for (size_t i = 0; i < count; i++) {
        struct bl_load own;
        for (int k = 0; k < l->kinds; k++)
            own.of[k] = bl_loads_piece(l, (uint32_t)piece[i], k);
        piece[i] |= ~(uint64_t)(bl_loads_fullness(l, &own) >> 2) << 32;
    }
    bl_sort_u64(piece, count, 32);
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

/* --- doing without a block -------------------------------------------------------------------------------------- */

/* A copy of the blocks. */
struct saved {
    uint32_t *next;
    struct bl_load_block *block;
    size_t blocks;
};

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

/* Does without blocks, as long as there are more than the bound, within l->work up to `work`. */
static int search_reduce(struct bl_loads *l, int64_t bound, int64_t work, struct bl_error *e)
{
    struct saved s = {.next = malloc((l->pieces + 1) * sizeof *s.next),
                      .block = malloc((l->blocks + 1) * sizeof *s.block)};
    int code = s.next && s.block ? BL_OK : bl_error_memory(e);
    for (int failures = 0; !code && failures < FAILURES && (int64_t)l->blocks > bound && l->work < work;) {
        memcpy(s.next, l->next, l->pieces * sizeof *s.next);
        memcpy(s.block, l->block, l->blocks * sizeof *s.block);
        s.blocks = l->blocks;
        loads_dissolve(l, loads_find_empty(l, failures));
        if (loads_relieve(l, work)) {
            failures = 0;
            continue;
        }
        memcpy(l->next, s.next, l->pieces * sizeof *s.next);
        memcpy(l->block, s.block, s.blocks * sizeof *s.block);
        l->blocks = s.blocks;
        failures++;
    }
    free(s.next);
    free(s.block);
    return code;
}

/* --- fill --------------------------------------------------------------------------------------------------------- */

/* --fill optimal with --max-column. The search for the one maximum that needs the most blocks gives the blocks to begin
 * with; sequences move between them until they keep to all maxima. These blocks are kept; for every seed, sequences
 * trade places. */

enum {
    SEARCH_SHARE = 2, /* of the effort, for all maxima together; the rest is for one at a time */
    REACH = 4096,     /* blocks after it, in random order, that a block trades with: what lies together is fast */
    OFFERS = 2,       /* of trades to other blocks, for every sequence of a block, */
    OFFERS_MAX = 64,  /* and in all: swaps do the rest */
};

/* One of the maxima: the pieces by what it limits, and the blocks that it alone would take. */
struct maximum {
    struct bl_subproblem only;
    struct bl_limits limits;
    int64_t bound;
};

/* need NULL: steps. */
static int maximum_prepare(struct maximum *m, const struct bl_subproblem *s, const struct bl_need *need,
                           const struct bl_limits *limits, struct bl_error *e)
{
    *m = (struct maximum){.only.lengths = need ? bl_needs_lengths(need, &s->lengths) : s->lengths,
                          .limits = *limits,
                          .bound = need ? bl_needs_bound(need, &s->lengths) : 0};
    int code = bl_histogram_make(&m->only.h, &m->only.lengths, e);
    if (code)
        return code;
    m->limits.T = need ? need->most : limits->T;
    int64_t searched = bl_bound_blocks(&m->only.h, m->limits.T);
    if (m->only.h.distinct)
        code = bl_fill_ops_optimal.prepare(&m->only, &searched, &m->limits, e);
    /* What was rounded up proves nothing. */
    if (!code && (!need || need->is_exact) && searched > m->bound)
        m->bound = searched;
    return code;
}

static int vector_prepare(struct bl_subproblem *s, int64_t *bound, const struct bl_limits *limits, struct bl_error *e)
{
    const struct bl_wanted fewest = {.multiple = 1};
    struct maximum most = {0};
    struct bl_draft d = {0};
    struct bl_loads l = {0};
    /* Keeps the maximum with the highest bound in *best. */
    const struct bl_limits some = bl_limits_divide(limits, SEARCH_SHARE * (1 + s->needs->count));
    int code = maximum_prepare(&most, s, NULL, &some, e);
    for (int c = 0; !code && c < s->needs->count; c++) {
        struct maximum other;
        code = maximum_prepare(&other, s, &s->needs->each[c], &some, e);
        if (!code && other.bound > most.bound) {
            bl_subproblem_free(&most.only);
            most = other;
        } else {
            bl_subproblem_free(&other.only);
        }
    }
    if (code)
        goto out;
    *bound = most.bound > *bound ? most.bound : *bound;
    code = bl_draft_make(&d, s->lengths.count, e);
    if (!code && most.only.lengths.count && most.bound)
        code = bl_fill_ops_optimal.draft(&d, &most.only, &most.limits, &fewest, 0, e);
    if (!code)
        code = bl_loads_make(&l, &d, 0, &s->lengths, s->needs, limits, e);
    if (code)
        goto out;
    /* Adds the pieces that need nothing of what the maximum limits. */
    for (size_t i = 0; i < s->lengths.count; i++)
        if (bl_lengths_has(&s->lengths, i) && !bl_lengths_has(&most.only.lengths, i))
            bl_loads_leave(&l, (uint32_t)bl_lengths_id(&s->lengths, i));
    bl_random_seed(&l.random, 0, BL_STREAM_LOAD);
    code = loads_relieve(&l, limits->work / SEARCH_SHARE / 2) && !l.unplaced ? BL_OK : loads_evict(&l, e);
    if (!code && (int64_t)l.blocks > *bound)
        code = bound_vector(bound, &l, limits, e);
    if (!code)
        code = search_reduce(&l, *bound, limits->work / SEARCH_SHARE, e);
    bl_limits_use(limits, l.work);
    d.blocks = d.pieces = 0;
    if (!code)
        code = bl_loads_write(&l, &d, e);
out:
    bl_loads_free(&l);
    bl_subproblem_free(&most.only);
    bl_histogram_free(&s->h);
    s->kept = d;
    return code;
}

/* Copies the kept blocks in random order. */
static int vector_copy(struct bl_draft *d, const struct bl_draft *kept, uint64_t seed, struct bl_error *e)
{
    struct bl_random random;
    uint32_t *turn = malloc((kept->blocks + 1) * sizeof *turn);
    int code = turn ? BL_OK : bl_error_memory(e);
    bl_random_seed(&random, seed, BL_STREAM_BLOCK);
    if (!code)
        bl_random_order(&random, turn, kept->blocks);
    d->is_shuffled = d->blocks == 0;
    for (size_t b = 0; !code && b < kept->blocks; b++) {
        size_t size = bl_draft_size(kept, turn[b]);
        memcpy(d->sequence + d->pieces, kept->sequence + kept->first[turn[b]], size * sizeof *d->sequence);
        bl_random_shuffle_u32(&random, d->sequence + d->pieces, size); /* the halves of blocks that are split */
        code = bl_draft_close(d, size, e);
    }
    free(turn);
    return code;
}

/* Lets the sequences of the blocks from `first` on trade places. */
static int vector_trade(struct bl_draft *d, size_t first, const struct bl_subproblem *s, const struct bl_limits *limits,
                        uint64_t seed, struct bl_error *e)
{
    struct bl_loads l = {0};
    int code = bl_loads_make(&l, d, first, &s->lengths, s->needs, limits, e);
    if (code)
        goto out;
    bl_random_seed(&l.random, seed, BL_STREAM_TRADE);
    code = bl_loads_shuffle_equal(&l, e);
    if (code)
        goto out;
    size_t reach = l.blocks - 1 < REACH ? l.blocks - 1 : REACH;
    for (size_t b = 0; reach && b < l.blocks; b++)
        for (uint32_t offers = 0; offers < OFFERS_MAX && offers < OFFERS * l.block[b].size; offers++) {
            size_t other = (b + 1 + bl_random_below(&l.random, reach)) % l.blocks;
            bl_trade_any(&l, &l.block[b], &l.block[other]);
        }
    d->blocks = first;
    d->pieces = d->first[first];
    code = bl_loads_write(&l, d, e);
out:
    bl_loads_free(&l);
    return code;
}

static int vector_draft(struct bl_draft *d, const struct bl_subproblem *s, const struct bl_limits *limits,
                        const struct bl_wanted *wanted, uint64_t seed, struct bl_error *e)
{
    size_t first = d->blocks;
    BL_TRY(vector_copy(d, &s->kept, seed, e));
    BL_TRY(bl_ranks_split(d, first, first + bl_wanted_blocks(wanted, s->kept.blocks, s->kept.pieces), e));
    BL_TRY(vector_trade(d, first, s, limits, seed, e));
    return bl_swap_sequences(d, first, &s->lengths, limits->T, s->needs, false, seed, e);
}

const struct bl_fill_ops bl_fill_ops_vector = {.prepare = vector_prepare, .draft = vector_draft};
