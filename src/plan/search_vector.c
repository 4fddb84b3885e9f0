/* Makes plans under several maxima ("vector bin packing"): proves a bound on the blocks, searches for few of them, and
 * drafts them for a seed.
 *
 * Example: blocks of 100 steps and --max-column images=8. Sequences of 50 steps with 8 images, and of 50 steps with
 * none, fit two by two only if they are mixed. A search for steps alone does not see that, so the search begins with
 * blocks that suit one maximum and exchanges sequences between them. */
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "plan/histogram.h"
#include "plan/draft.h"
#include "plan/fill.h"
#include "plan/exchange.h"

/* --- bound -------------------------------------------------------------------------------------------------------- */

/* Two maxima together can prove a higher bound than each alone. */

enum { SHARES = 1 << 19 }; /* parts of a maximum: a block has 2^20 of both, as many distinct lengths as fills take */

/* Returns the sum of two kinds of load for every piece, in SHARES, rounded down so that the bound stays valid. The
 * caller frees it. NULL: out of memory. */
static int64_t *loads_add_shares(const struct bl_loads *l)
{
    int kind[2] = {0, 0};
    int64_t *sum = calloc(l->pieces + 1, sizeof *sum);
    /* The two kinds that fill the most blocks prove the most. */
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

/* Raises *bound, in blocks, if the sums of two kinds of load prove more. Each kind counts as its share of the maximum,
 * so a block holds sums up to 2. This bound sees what no maximum alone shows: sequences that have much of one kind
 * where they have little of the other. l: the load of every piece; the blocks do not count. BL_EFAIL: out of memory. */
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
    PARTNERS = 8,    /* blocks that a block over a maximum trades with in a round */
    STALE = 30,      /* rounds without gain after which the trades end */
    SCANNED = 4096,  /* blocks in which room for one sequence is looked for, */
    SCANS = 1 << 27, /* and in all: many sequences try fewer blocks each */
    GUESSES = 64,    /* candidates for a block to go into, and for a sequence to take out */
    PLENTY = 8,      /* sequences that a mean block has room for in the end, from which small ones are spread */
    FAILURES = 30,   /* blocks that cannot be dissolved, after which the search ends */
};

/* Returns by how much a block exceeds its maxima, all kinds together; 0: it keeps to them. */
static int64_t block_excess(const struct bl_loads *l, size_t b)
{
    return bl_loads_excess(l, &l->block[b].load, INT64_MAX);
}

/* --- trades ----------------------------------------------------------------------------------------------------- */

/* Lets a block trade sequences with some random others until it keeps to its maxima. */
static void block_relieve(struct bl_loads *l, size_t b)
{
    for (int i = 0; i < PARTNERS && block_excess(l, b) > 0; i++) {
        size_t other = bl_random_below(&l->random, l->blocks - 1);
        bl_trade_relieve(l, &l->block[b], &l->block[other + (other >= b)]);
    }
}

/* Trades until no block exceeds a maximum, or STALE rounds bring no gain, or l->work reaches `work`. Returns whether no
 * block exceeds one. */
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

/* Returns the load of block b with one more piece. */
static struct bl_load load_with(const struct bl_loads *l, size_t b, uint32_t piece)
{
    struct bl_load load = l->block[b].load;
    for (int k = 0; k < l->kinds; k++)
        load.of[k] += bl_loads_piece(l, piece, k);
    return load;
}

/* Returns which blocks suit a piece: 1 for the fullest, or -1 for the emptiest, if a mean block has room for PLENTY
 * more of them in the end. Small pieces are then spread, and large ones still find room. all: the load of all
 * pieces. */
static int piece_preference(const struct bl_loads *l, uint32_t piece, const struct bl_load *all)
{
    for (int k = 0; k < l->kinds; k++) {
        double own = (double)bl_loads_piece(l, piece, k), room = (double)l->most.of[k] * (double)l->blocks;
        if (own > 0 && room - (double)all->of[k] < PLENTY * own * (double)l->blocks)
            return 1;
    }
    return -1;
}

/* Returns the block that suits a piece best, of `scanned` neighbouring blocks from a random one on; SIZE_MAX: it fits
 * into none of them. */
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

/* Takes a piece out of a block and returns it: the one that leaves the least excess, and of several the smallest. It
 * looks at pieces until GUESSES of them lessen the excess. */
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

/* Puts pieces that are in no block where there is room, or into new blocks, the largest first. *piece: indices, which
 * are overwritten. BL_EFAIL: out of memory. */
static int loads_place(struct bl_loads *l, uint64_t *piece, size_t count, struct bl_error *e)
{
    int code = BL_OK;
    size_t scanned = count > SCANS / SCANNED ? SCANS / count + GUESSES : SCANNED;
    struct bl_load all = {{0}};
    for (uint32_t p = 0; p < l->pieces; p++)
        for (int k = 0; k < l->kinds; k++)
            all.of[k] += bl_loads_piece(l, p, k);
    /* The upper half of a word is the inverted fullness, so that ascending order puts the largest first. */
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

/* Takes out pieces until every block keeps to its maxima, and places these and the pieces that had no block. BL_EFAIL:
 * out of memory. */
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

/* A copy of the blocks, to which a failed search returns. */
struct saved {
    uint32_t *next;
    struct bl_load_block *block;
    size_t blocks;
};

/* Returns the emptiest block at first; after failures, the emptiest of GUESSES random ones, so that another one is
 * tried. */
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

/* Returns the block whose excess a piece raises least, of GUESSES random ones. */
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

/* Dissolves blocks while there are more than the bound, up to FAILURES failures in a row, or until l->work reaches
 * `work`. BL_EFAIL: out of memory. */
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

/* This is --fill optimal with --max-column. The search for the one maximum that needs the most blocks gives the first
 * blocks; sequences move between them until they keep to all maxima. These blocks are kept; for every seed, sequences
 * trade places. */

enum {
    SEARCH_SHARE = 2, /* half of the effort is for all maxima together, the other half for one at a time */
    REACH = 4096,     /* blocks after it, in random order, that a block trades with: they lie in the cache */
    OFFERS = 2,       /* trades that a block offers, for each of its sequences, */
    OFFERS_MAX = 64,  /* and for the whole block: swaps do the rest */
};

/* One of the maxima: the pieces by what it limits, and the blocks that it alone proves. */
struct maximum {
    struct bl_subproblem only;
    struct bl_limits limits;
    int64_t bound;
};

/* Searches for the blocks of one maximum alone. need: the column, or NULL for steps. BL_EFAIL: out of memory; m->only
 * must be freed in any case. */
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
    /* A search over values that were rounded up proves nothing about the true values. */
    if (!code && (!need || need->is_exact) && searched > m->bound)
        m->bound = searched;
    return code;
}

/* Finds the kept blocks and the bound, as bl_fill_ops.prepare. */
static int vector_prepare(struct bl_subproblem *s, int64_t *bound, const struct bl_limits *limits, struct bl_error *e)
{
    const struct bl_wanted fewest = {.multiple = 1};
    struct maximum most = {0};
    struct bl_draft d = {0};
    struct bl_loads l = {0};
    /* `most` is the maximum with the highest bound. Every maximum has an equal share of the effort. */
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
    /* The pieces that need nothing of what this maximum limits have no block yet. */
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

/* Adds the kept blocks to the draft in random order. BL_EFAIL: out of memory. */
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

/* Lets the sequences of the blocks from `first` on trade places. BL_EFAIL: out of memory. */
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

/* Drafts the kept blocks for a seed, as bl_fill_ops.draft. */
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
