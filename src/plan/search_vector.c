/* Makes plans under several maxima ("vector bin packing"): proves a bound on the blocks, searches for few of them, and
 * drafts them for a seed.
 *
 * Example: blocks of 100 steps and --max-column images=8. Sequences of 50 steps with 8 images, and of 50 steps with
 * none, fit two by two only if they are mixed. A search for steps alone does not see that, so blocks are filled from a
 * pool (pool_fill.c) under all maxima; then trades of sequences between blocks do without some of the blocks. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/histogram.h"
#include "plan/draft.h"
#include "plan/fill.h"
#include "plan/exchange.h"
#include "plan/pool.h"

/* --- bound -------------------------------------------------------------------------------------------------------- */

/* Two maxima together can prove a higher bound than each alone. */

enum { SHARES = 1 << 19 }; /* parts of a maximum: a block has 2^20 of both, as many distinct lengths as fills take */

/* The kinds of load in this file: 0 for units, 1 and so on for the columns. */

/* Returns what a piece has of a kind. */
static int64_t piece_amount(const struct bl_subproblem *s, size_t i, int kind)
{
    size_t id = bl_lengths_id(&s->lengths, i);
    return kind ? s->needs->each[kind - 1].of[id] : bl_lengths_units_of(&s->lengths, id);
}

/* Returns what a block may have of a kind. */
static int64_t kind_most(const struct bl_subproblem *s, const struct bl_limits *limits, int kind)
{
    return kind ? s->needs->each[kind - 1].most : limits->T;
}

/* Returns how many blocks all pieces fill with a kind. */
static double kind_blocks(const struct bl_subproblem *s, const struct bl_limits *limits, int kind)
{
    double sum = 0;
    for (size_t i = 0; i < s->lengths.count; i++)
        sum += bl_lengths_has(&s->lengths, i) ? (double)piece_amount(s, i, kind) : 0;
    return sum / (double)kind_most(s, limits, kind);
}

/* Returns the sum of two kinds of load for every piece, in SHARES, rounded down so that the bound stays valid. The
 * caller frees it. NULL: out of memory. */
static int64_t *pieces_add_shares(const struct bl_subproblem *s, const struct bl_limits *limits)
{
    int kind[2] = {0, 0};
    int64_t *sum = calloc(s->lengths.count + 1, sizeof *sum);
    /* The two kinds that fill the most blocks prove the most. */
    double most[2] = {-1, -1};
    for (int k = 0; k <= s->needs->count; k++) {
        double blocks = kind_blocks(s, limits, k);
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
    for (int k = 0; sum && k < 2; k++) {
        /* A need that was rounded up may be one unit less, and its maximum one more. */
        int64_t rounded = kind[k] ? s->needs->each[kind[k] - 1].rounded : 0;
        for (size_t i = 0; i < s->lengths.count; i++)
            if (bl_lengths_has(&s->lengths, i) && piece_amount(s, i, kind[k]) > rounded)
                sum[i] +=
                    (piece_amount(s, i, kind[k]) - rounded) * SHARES / (kind_most(s, limits, kind[k]) + (rounded > 0));
    }
    return sum;
}

/* Raises *bound, in blocks, if the sums of two kinds of load prove more. Each kind counts as its share of the maximum,
 * so a block holds sums up to 2. This bound sees what no maximum alone shows: sequences that have much of one kind
 * where they have little of the other. BL_EFAIL: out of memory. */
static int bound_vector(int64_t *bound, const struct bl_subproblem *of, const struct bl_limits *limits,
                        struct bl_error *e)
{
    int64_t *sum = pieces_add_shares(of, limits), raised = 0;
    struct bl_limits both = *limits;
    both.T = 2 * SHARES;
    struct bl_subproblem s = {.lengths = {sum, NULL, of->lengths.count, 1, both.T, 1, both.T}};
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

/* The search takes blocks away, and moves sequences between the others until these keep to their maxima. */

enum {
    PARTNERS = 8,  /* blocks that a block over a maximum trades with in a round */
    STALE = 30,    /* rounds without gain after which the trades end */
    GUESSES = 64,  /* candidates for a block to go into */
    FAILURES = 30, /* blocks that cannot be dissolved, after which the search ends */
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
    for (int stale = 0; stale < STALE && l->work < work && !bl_limits_cancelled(l->limits); stale++) {
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

/* --- doing without a block -------------------------------------------------------------------------------------- */

/* Returns the load of block b with one more piece. */
static struct bl_load load_with(const struct bl_loads *l, size_t b, uint32_t piece)
{
    struct bl_load load = l->block[b].load;
    for (int k = 0; k < l->kinds; k++)
        load.of[k] += bl_loads_piece(l, piece, k);
    return load;
}

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
        if ((code = bl_limits_check(l->limits, e)))
            break;
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

/* --- parts of a draft --------------------------------------------------------------------------------------------- */

/* A large draft is changed run by run: the loads of a run lie in the cache, and take little memory. */

enum { RUN = 8192 }; /* blocks in a run */

/* What is done to each run. */
struct run {
    int (*change)(struct bl_loads *l, struct run *r, struct bl_error *e);
    int64_t left;     /* blocks that may go until there are no more than the bound */
    int64_t work;     /* operations that this run may do */
    bool is_relieved; /* no block of this run exceeds a maximum */
};

/* Searches for a run with fewer blocks. */
static int run_reduce(struct bl_loads *l, struct run *r, struct bl_error *e)
{
    return search_reduce(l, (int64_t)l->blocks - r->left, r->work, e);
}

/* Lets the blocks of a run trade until they keep to their maxima. */
static int run_relieve(struct bl_loads *l, struct run *r, struct bl_error *e)
{
    (void)e;
    r->is_relieved = loads_relieve(l, r->work);
    return BL_OK;
}

/* Changes the blocks of a draft from `first` on, one run after the other. A run may end with fewer blocks than before:
 * it is written where blocks were that have been read. work: operations for all runs. BL_EFAIL: out of memory. */
static int draft_change(struct bl_draft *d, size_t first, const struct bl_subproblem *s, struct run *r,
                        const struct bl_limits *limits, int64_t work, enum bl_stream stream, uint64_t seed,
                        struct bl_error *e)
{
    size_t blocks = d->blocks - first, runs = (blocks + RUN - 1) / RUN;
    struct bl_random random;
    int code = BL_OK;
    bl_random_seed(&random, seed, stream);
    r->is_relieved = true;
    d->blocks = first;
    for (size_t i = 0; !code && i < runs; i++) {
        struct bl_loads l;
        size_t begin = first + blocks * i / runs, end = first + blocks * (i + 1) / runs;
        code = bl_loads_make(&l, d, begin, end, &s->lengths, s->needs, limits, e);
        l.random = random;
        r->work = work / (int64_t)(runs - i);
        if (!code)
            code = bl_limits_check(limits, e);
        if (!code && r->is_relieved)
            code = r->change(&l, r, e);
        d->pieces = d->first[begin];
        if (!code)
            code = bl_loads_write(&l, d, e);
        r->left -= (int64_t)(end - begin) - (int64_t)l.blocks;
        work -= l.work;
        random = l.random;
        bl_limits_use(limits, l.work);
        bl_loads_free(&l);
    }
    return code;
}

/* --- fill --------------------------------------------------------------------------------------------------------- */

/* This is --fill optimal with --max-column. Blocks are filled from a pool, or, if steps alone limit them, are those of
 * the search for steps; then the search does without some of them. These blocks are kept. For every seed, all blocks
 * are filled anew; if they are more than those kept, the sequences of the kept blocks trade places instead. */

enum {
    SEARCH_SHARE = 2, /* half of the effort is for one maximum at a time, and a quarter for all together */
    SAMPLE = 32768,   /* pieces by which the weighting is chosen */
    REACH = 4096,     /* blocks after it, in random order, that a block trades with: they lie in the cache */
    OFFERS = 2,       /* trades that a block offers, for each of its sequences, */
    OFFERS_MAX = 64,  /* and for the whole block: swaps do the rest */
    ANEW = 1 << 16,   /* pieces that are filled anew for a seed where trades would change little, in all tries */
    MARGIN = 128, /* more blocks than the search finds, as a part of the root of their number: what seeds differ by */
};

/* Ways to weigh the kinds while blocks are filled. */
static const struct bl_pool_weighting weightings[] = {{16, true}, {16, false}, {32, true}, {32, false}};

static const double LOOSE = 0.75; /* of the blocks that steps fill: columns that fill no more limit little */
static const double FULL = 0.98;  /* of a kind of load, with which exchanges are rare */

/* Raises *bound to what each column alone proves, by the sum and by a search. BL_EFAIL: out of memory. */
static int bound_columns(int64_t *bound, const struct bl_subproblem *s, const struct bl_limits *limits,
                         struct bl_error *e)
{
    int code = BL_OK;
    for (int c = 0; !code && c < s->needs->count; c++) {
        const struct bl_need *need = &s->needs->each[c];
        int64_t *units = NULL, searched = bl_needs_bound(need, &s->lengths);
        struct bl_limits own = *limits;
        struct bl_subproblem only = {0};
        own.T = need->most;
        *bound = searched > *bound ? searched : *bound;
        code = bl_needs_lengths(&only.lengths, &units, need, &s->lengths, e);
        if (!code)
            code = bl_histogram_make(&only.h, &only.lengths, e);
        /* A search over values that were rounded up proves nothing about the true values. */
        if (!code && only.h.distinct && !need->rounded) {
            searched = bl_bound_blocks(&only.h, own.T);
            code = bl_fill_ops_optimal.prepare(&only, &searched, &own, e);
            *bound = searched > *bound ? searched : *bound;
        }
        bl_subproblem_free(&only);
        free(units);
    }
    return code;
}

/* Chooses how the kinds are weighed: the way that fills the fewest blocks with a random sample of the pieces. BL_EFAIL:
 * out of memory. */
static int vector_choose_weighting(struct bl_pool_weighting *best, const struct bl_subproblem *s,
                                   const struct bl_limits *limits, int64_t bound, int64_t *work, struct bl_error *e)
{
    struct bl_lengths some = s->lengths;
    size_t blocks = SIZE_MAX;
    int code = BL_OK;
    uint32_t *index = malloc((SAMPLE + 1) * sizeof *index);
    if (!index)
        return bl_error_memory(e);
    if (some.count > SAMPLE) {
        struct bl_random random;
        bl_random_seed(&random, 0, BL_STREAM_LOAD);
        some.index = index;
        for (some.count = 0; some.count < SAMPLE; some.count++)
            index[some.count] = (uint32_t)bl_lengths_id(&s->lengths, bl_random_below(&random, s->lengths.count));
    }
    for (size_t i = 0; !code && i < sizeof weightings / sizeof *weightings; i++) {
        struct bl_draft d = {0};
        code = bl_draft_make(&d, some.count, e);
        if (!code)
            code = bl_pool_fill(&d, &some, s->needs, limits, bound, weightings[i], 0, work, e);
        if (!code && d.blocks < blocks) {
            blocks = d.blocks;
            *best = weightings[i];
        }
        bl_draft_free(&d);
    }
    free(index);
    return code;
}

/* Keeps a draft if it is the first one, or has fewer blocks; otherwise frees it. */
static void vector_keep_fewer(struct bl_subproblem *s, struct bl_draft *d)
{
    if (!s->kept.blocks || d->blocks < s->kept.blocks) {
        struct bl_draft worse = s->kept;
        s->kept = *d;
        *d = worse;
    }
    bl_draft_free(d);
}

/* Keeps the blocks of a search for steps alone, if trades make them keep to all maxima. BL_EFAIL: out of memory. */
static int vector_try_steps(struct bl_subproblem *s, const struct bl_subproblem *steps, const struct bl_limits *limits,
                            struct bl_error *e)
{
    const struct bl_wanted fewest = {.multiple = 1};
    struct run r = {.change = run_relieve};
    struct bl_draft d = {0};
    int code = bl_draft_make(&d, s->lengths.count, e);
    if (!code)
        code = bl_fill_ops_optimal.draft(&d, steps, limits, &fewest, 0, e);
    if (!code)
        code = draft_change(&d, 0, s, &r, limits, limits->work / SEARCH_SHARE / 2, BL_STREAM_LOAD, 0, e);
    if (!code && r.is_relieved)
        vector_keep_fewer(s, &d);
    bl_draft_free(&d);
    return code;
}

/* Keeps the blocks that are filled from a pool. BL_EFAIL: out of memory. */
static int vector_fill(struct bl_subproblem *s, const struct bl_limits *limits, int64_t bound, struct bl_error *e)
{
    int64_t work = 0;
    struct bl_draft d = {0};
    int code = vector_choose_weighting(&s->weighting, s, limits, bound, &work, e);
    if (!code)
        code = bl_draft_make(&d, s->lengths.count, e);
    if (!code)
        code = bl_pool_fill(&d, &s->lengths, s->needs, limits, bound, s->weighting, 0, &work, e);
    if (!code)
        vector_keep_fewer(s, &d);
    bl_draft_free(&d);
    bl_limits_use(limits, work);
    return code;
}

/* Returns whether columns limit blocks much less than steps do. */
static bool vector_is_loose(const struct bl_subproblem *s, const struct bl_limits *limits)
{
    double steps = kind_blocks(s, limits, 0), most = 0;
    for (int k = 1; k <= s->needs->count; k++) {
        double blocks = kind_blocks(s, limits, k);
        most = blocks > most ? blocks : most;
    }
    return most <= LOOSE * steps;
}

/* Finds the kept blocks and the bound, as bl_fill_ops.prepare. */
static int vector_prepare(struct bl_subproblem *s, int64_t *bound, const struct bl_limits *limits, struct bl_error *e)
{
    /* Every maximum has an equal share of the effort. */
    const struct bl_limits some = bl_limits_divide(limits, SEARCH_SHARE * (1 + s->needs->count));
    struct bl_subproblem steps = {.lengths = s->lengths, .h = s->h};
    int64_t by_steps = bl_bound_blocks(&steps.h, limits->T);
    struct run r = {.change = run_reduce};
    s->h = (struct bl_histogram){0};
    int code = bl_fill_ops_optimal.prepare(&steps, &by_steps, &some, e);
    *bound = by_steps > *bound ? by_steps : *bound;
    if (!code)
        code = bound_columns(bound, s, &some, e);
    if (!code && vector_is_loose(s, limits))
        code = vector_try_steps(s, &steps, limits, e);
    bl_subproblem_free(&steps);
    if (!code && (!s->kept.blocks || (int64_t)s->kept.blocks > *bound))
        code = vector_fill(s, limits, *bound, e);
    if (!code && (int64_t)s->kept.blocks > *bound)
        code = bound_vector(bound, s, limits, e);
    r.left = (int64_t)s->kept.blocks - *bound;
    if (!code && r.left > 0)
        code = draft_change(&s->kept, 0, s, &r, limits, limits->work / SEARCH_SHARE / 2, BL_STREAM_LOAD, 0, e);
    if (!code && r.left > 0)
        code = bl_ranks_split(&s->kept, 0, s->kept.blocks + (size_t)sqrt((double)s->kept.blocks) / MARGIN, e);
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

/* Lets the sequences of a run trade places. */
static int run_trade(struct bl_loads *l, struct run *r, struct bl_error *e)
{
    (void)r;
    BL_TRY(bl_loads_shuffle_equal(l, e));
    size_t reach = l->blocks - 1 < REACH ? l->blocks - 1 : REACH;
    for (size_t b = 0; reach && b < l->blocks; b++)
        for (uint32_t offers = 0; offers < OFFERS_MAX && offers < OFFERS * l->block[b].size; offers++) {
            size_t other = (b + 1 + bl_random_below(&l->random, reach)) % l->blocks;
            bl_trade_any(l, &l->block[b], &l->block[other]);
        }
    return BL_OK;
}

/* Returns whether so many blocks are nearly full of two kinds of load at once. Then hardly any trade is possible. */
static bool vector_is_full(const struct bl_subproblem *s, const struct bl_limits *limits, size_t blocks)
{
    int full = 0;
    for (int k = 0; k <= s->needs->count; k++)
        full += kind_blocks(s, limits, k) >= FULL * (double)blocks;
    return full > 1;
}

/* Fills new blocks with all pieces. If there are more than wanted, it tries again where trades would change little.
 * *done: whether there are no more than wanted; otherwise the draft is as before. BL_EFAIL: out of memory. */
static int vector_fill_anew(struct bl_draft *d, const struct bl_subproblem *s, const struct bl_limits *limits,
                            size_t wanted, uint64_t seed, bool *done, struct bl_error *e)
{
    struct bl_pool_weighting weighting = s->weighting.sharpness ? s->weighting : weightings[0];
    size_t first = d->blocks, pieces = d->pieces, filled = 0, most = ANEW;
    struct bl_random random;
    int64_t work = 0;
    bl_random_seed(&random, seed, BL_STREAM_TRADE);
    while (!*done && filled < most) {
        BL_TRY(bl_pool_fill(d, &s->lengths, s->needs, limits, (int64_t)wanted, weighting, bl_random_next(&random),
                            &work, e));
        *done = d->blocks - first <= wanted;
        if (!*done) {
            d->blocks = first;
            d->pieces = pieces;
        }
        if (!*done && !filled && !vector_is_full(s, limits, wanted))
            most = 0;
        filled += s->lengths.count;
    }
    return BL_OK;
}

/* Drafts the kept blocks for a seed, as bl_fill_ops.draft. */
static int vector_draft(struct bl_draft *d, const struct bl_subproblem *s, const struct bl_limits *limits,
                        const struct bl_wanted *wanted, uint64_t seed, struct bl_error *e)
{
    size_t first = d->blocks, blocks = bl_wanted_blocks(wanted, s->kept.blocks, s->kept.pieces);
    struct run r = {.change = run_trade};
    bool is_new = false;
    BL_TRY(vector_fill_anew(d, s, limits, blocks, seed, &is_new, e));
    if (!is_new)
        BL_TRY(vector_copy(d, &s->kept, seed, e));
    BL_TRY(bl_ranks_split(d, first, first + blocks, e));
    if (!is_new)
        BL_TRY(draft_change(d, first, s, &r, limits, 0, BL_STREAM_TRADE, seed, e));
    return bl_swap_sequences(d, first, &s->lengths, limits->T, s->needs, false, seed, e);
}

const struct bl_fill_ops bl_fill_ops_vector = {.prepare = vector_prepare, .draft = vector_draft};
