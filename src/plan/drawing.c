/* Draws blocks at random from a draft, so that each seed puts other sequences together without more blocks.
 *
 * Random blocks waste room; few long sequences that remain at the end waste more. So blocks are filled in the order of
 * a random permutation until about two sequences are missing, and the pair that fits best closes the block. A block
 * that still wastes too much is dissolved, and a search packs what remains. Pools of some 16,384 sequences keep the
 * working set in the cache. */
#include "plan/drawing.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "plan/search.h"

/* The sequences that remain while blocks are drawn from a part of the draft. The order is drawn once; `early` counts
 * the sequences taken out of turn, which the order then skips. */
struct bl_pool {
    const struct bl_histogram *h;
    uint32_t *order; /* [all] the bucket of each sequence, in random order; those from `next` on are ahead */
    uint32_t *left;  /* [distinct] remaining sequences of each bucket */
    uint32_t *early; /* [distinct] sequences that are taken, but still ahead in the order */
    uint32_t *below; /* buckets with lengths up to r << shift, for each r up to the longest, and one more */
    int shift;
    struct bl_bitset nonempty; /* buckets with remaining sequences */
    size_t next, all;
    struct bl_random random;
};

/* Returns the bucket of the i-th sequence ahead, or BL_BITSET_NONE if that is taken, or beyond the bucket `last`. */
static inline size_t pool_peek(const struct bl_pool *p, size_t i, size_t last)
{
    uint32_t bucket = p->order[p->next + i];
    return bucket <= last && p->left[bucket] && !p->early[bucket] ? bucket : BL_BITSET_NONE;
}

/* --- pool --------------------------------------------------------------------------------------------------------- */

/* The sequences that remain while blocks are drawn at random, as buckets of a histogram. */

enum {
    NEAR = 64,   /* sequences ahead that are tried before the search gives up */
    ROOMS = 4096 /* ranges of rooms in the table, at most: 16 KiB stay in the cache */
};

/* Makes the table `below`, by which pool_below finds buckets. BL_EFAIL: out of memory. */
static int pool_set_rooms(struct bl_pool *p, struct bl_error *e)
{
    const struct bl_histogram *h = p->h;
    int64_t longest = h->distinct ? h->length[h->distinct - 1] : 0;
    while (longest >> p->shift >= ROOMS)
        p->shift++;
    size_t rooms = (size_t)(longest >> p->shift) + 2, below = 0;
    p->below = malloc(rooms * sizeof *p->below);
    if (!p->below)
        return bl_error_memory(e);
    for (size_t r = 0; r < rooms; r++) {
        while (below < h->distinct && h->length[below] <= (int64_t)r << p->shift)
            below++;
        p->below[r] = (uint32_t)below;
    }
    return BL_OK;
}

/* Returns the same as bl_histogram_below for a room of at least 0. Every candidate of every block needs it, and a
 * binary search of the whole histogram took half of the time. */
static size_t pool_below(const struct bl_pool *p, int64_t room)
{
    const struct bl_histogram *h = p->h;
    if (h->distinct == 0 || room >= h->length[h->distinct - 1])
        return h->distinct;
    const uint32_t *below = &p->below[room >> p->shift];
    return bl_histogram_below_between(h, room, below[0], below[1]);
}

/* Starts with all sequences of the histogram. BL_EFAIL: out of memory; the pool must still be freed. */
static int pool_make(struct bl_pool *p, const struct bl_histogram *h, uint64_t seed, struct bl_error *e)
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
    if (!code)
        code = pool_set_rooms(p, e);
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

/* Returns the bucket of the next sequence in the order that fits, or BL_BITSET_NONE if a few dozen do not. Those that
 * do not fit stay near, so that the sequences ahead remain a random sample. */
static size_t pool_draw(struct bl_pool *p, int64_t room)
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

/* Returns the bucket of the longest remaining sequence that fits, or BL_BITSET_NONE. One sequence of the bucket
 * `without` is not counted, if it is not BL_BITSET_NONE. */
static size_t pool_fitting(const struct bl_pool *p, int64_t room, size_t without)
{
    size_t below = pool_below(p, room);
    size_t bucket = below ? bl_bitset_previous(&p->nonempty, below - 1) : BL_BITSET_NONE;
    if (bucket == BL_BITSET_NONE || bucket != without || p->left[bucket] > 1)
        return bucket;
    return bucket ? bl_bitset_previous(&p->nonempty, bucket - 1) : BL_BITSET_NONE;
}

/* Takes a sequence of a bucket that has one. Returns its position in the histogram, below start[distinct]. */
static uint32_t pool_take(struct bl_pool *p, size_t bucket)
{
    p->early[bucket]++;
    if (--p->left[bucket] == 0)
        bl_bitset_remove(&p->nonempty, bucket);
    return p->h->start[bucket] + p->left[bucket];
}

/* --- drawing ------------------------------------------------------------------------------------------------------ */

enum {
    POOL_PIECES = 16384,
    POOL_BLOCKS = 512,
    KEPT_PIECES = 1 << 18, /* sequences whose order is restored if drawing fails before more are drawn */
    POOL_KEPT = 8,         /* the last 1/8 of a pool goes to the next one: too few sequences to choose from */
    CANDIDATES = 400,      /* first sequences that are tried for a pair that fills a block */
    WASTE_SHARES = 16,     /* no block wastes more than this part of what all may still waste, */
    ENOUGH_SHARES = 2,     /* nor is this part of the mean waste bettered */
    SURPLUS_MAX = 2,       /* blocks by which a search may exceed the wanted number, */
    SURPLUS_SHARE = 100,   /* plus 1/100 of that number; beyond, more searches are hopeless */
    SEARCHES = 16,         /* each search gets 1/16 of the work */
};

/* Drawn blocks whose sequences join the rest in each attempt: the search needs some freedom to reach the wanted
 * number. */
static const size_t dissolved[] = {0, 8, 64};

struct drawer {
    const struct bl_drawing *g;
    struct bl_draft drawn; /* its sequences are a part of the draft's */
    uint32_t *rest;        /* ids of sequences that wait for the next pool or the search */
    size_t rests, capacity;
    int64_t spare;   /* units that may still be wasted */
    size_t pools;    /* to come */
    size_t loaded;   /* pieces of the draft that were in a pool */
    int64_t work;    /* left for searches */
    int64_t surplus; /* blocks that the last search needed too many */
    bool is_hopeless;
    struct bl_random seeds;
    uint64_t seed; /* of the pool */
    /* Of one pool: */
    struct bl_histogram h;
    struct bl_pool pool;
    uint32_t *ids;  /* by position in the histogram */
    double tail;    /* units; with less room a block is closed */
    int64_t share;  /* of the spare units, for this pool */
    int64_t enough; /* a pair that leaves no more is not bettered */
};

struct drawn_block {
    uint32_t *piece;
    size_t size;
    int64_t room;
};

/* Makes room for `more` ids in the rest. BL_EFAIL: out of memory. */
static int drawer_reserve(struct drawer *w, size_t more, struct bl_error *e)
{
    return BL_ARRAY_RESERVE(w->rest, w->capacity, w->rests + more, e);
}

/* --- blocks ----------------------------------------------------------------------------------------------------- */

/* Takes a sequence of the bucket from the pool and adds it to the block. */
static void drawer_add(struct drawer *w, struct drawn_block *block, size_t bucket)
{
    block->piece[block->size++] = w->ids[pool_take(&w->pool, bucket)];
    block->room -= w->h.length[bucket];
}

/* Finds the pair that leaves the least room, among CANDIDATES first sequences and the longest that fits beside each.
 * *second: BL_BITSET_NONE if no other sequence fits. Returns false if not even one sequence fits. */
static bool drawer_find_pair(const struct drawer *w, const struct drawn_block *block, size_t places, size_t *first,
                             size_t *second)
{
    size_t fitting = pool_fitting(&w->pool, block->room, BL_BITSET_NONE), ahead = w->pool.all - w->pool.next;
    int64_t least = INT64_MAX;
    if (fitting == BL_BITSET_NONE)
        return false; /* often so: then no need to look at the candidates */
    for (size_t i = 0; i < CANDIDATES && i < ahead && least > w->enough; i++) {
        size_t a = pool_peek(&w->pool, i, fitting), b = BL_BITSET_NONE;
        if (a == BL_BITSET_NONE)
            continue;
        int64_t left = block->room - w->h.length[a];
        if (places > 1)
            b = pool_fitting(&w->pool, left, a);
        if (b != BL_BITSET_NONE)
            left -= w->h.length[b];
        if (left >= least)
            continue;
        least = left;
        *first = a;
        *second = b;
    }
    return least < INT64_MAX;
}

/* Adds the pair that leaves the least room, then the longest that fit. */
static void drawer_close(struct drawer *w, struct drawn_block *block)
{
    size_t first, second, places = w->g->limits->sequences - block->size;
    if (places == 0 || !drawer_find_pair(w, block, places, &first, &second))
        return;
    drawer_add(w, block, first);
    for (; second != BL_BITSET_NONE; second = pool_fitting(&w->pool, block->room, BL_BITSET_NONE)) {
        drawer_add(w, block, second);
        if (block->size == w->g->limits->sequences)
            break;
    }
}

/* Draws a block after the last one. Returns the number of its pieces, or 0 if the block wastes too much and its
 * sequences went to the rest. */
static size_t drawer_fill(struct drawer *w)
{
    size_t most = w->g->limits->sequences;
    /* A block in progress, behind the last closed one; its pieces lie in the draft already. */
    struct drawn_block block = {w->drawn.sequence + w->drawn.pieces, 0, w->g->limits->T};
    do {
        size_t bucket = pool_draw(&w->pool, block.room);
        if (bucket == BL_BITSET_NONE)
            break;
        drawer_add(w, &block, bucket);
    } while ((double)block.room > w->tail && block.size + 2 < most);
    drawer_close(w, &block);
    if (block.room <= w->enough || block.room <= w->share / WASTE_SHARES) {
        w->share -= block.room;
        w->spare -= block.room;
        return block.size;
    }
    memcpy(w->rest + w->rests, block.piece, block.size * sizeof *block.piece);
    w->rests += block.size;
    return 0;
}

/* --- pools ------------------------------------------------------------------------------------------------------ */

/* Draws blocks of the pool until no more than `keep` sequences remain; these, and those of dissolved blocks, are then
 * the rest. */
static int drawer_empty_pool(struct drawer *w, size_t keep, struct bl_error *e)
{
    size_t begun = w->drawn.pieces, end = begun + w->h.start[w->h.distinct] - keep;
    int code = BL_OK;
    w->rests = 0;
    while (!code && w->drawn.pieces + w->rests < end) {
        size_t size = drawer_fill(w);
        if (size > 0)
            code = bl_draft_close(&w->drawn, size, e);
    }
    for (size_t b = 0; b < w->h.distinct; b++)
        for (; w->pool.left[b] > 0; w->rests++)
            w->rest[w->rests] = w->ids[pool_take(&w->pool, b)];
    return code;
}

/* Draws blocks from the rest, which becomes the pool; the sequences that remain are the new rest. BL_EFAIL: out of
 * memory. */
static int drawer_draw_pool(struct drawer *w, bool is_last, struct bl_error *e)
{
    struct bl_lengths lengths = *w->g->lengths;
    lengths.index = w->rest;
    lengths.count = w->rests;
    BL_TRY(bl_histogram_make(&w->h, &lengths, e));
    w->seed = bl_random_next(&w->seeds);
    /* The room at which two more sequences of mean length fill a block on average: a block is as far beyond it as the
     * last sequence reaches, which is drawn in proportion to its length. */
    double count = w->h.start[w->h.distinct], mean = (double)bl_histogram_steps(&w->h) / count, square = 0;
    for (size_t b = 0; b < w->h.distinct; b++)
        square += (double)w->h.length[b] * w->h.length[b] * bl_histogram_count(&w->h, b) / count;
    w->tail = 2 * mean + square / (2 * mean);
    w->share = w->spare / (int64_t)(w->pools + 1);
    w->enough = w->share / (ENOUGH_SHARES * (1 + bl_histogram_steps(&w->h) / w->g->limits->T));
    int code = bl_histogram_ids(&w->h, &lengths, w->seed, &w->ids, e);
    if (!code)
        code = pool_make(&w->pool, &w->h, w->seed, e);
    if (!code)
        code = drawer_empty_pool(w, is_last ? 0 : lengths.count / POOL_KEPT, e);
    bl_bitset_free(&w->pool.nonempty);
    free(w->pool.order);
    free(w->pool.left);
    free(w->pool.early);
    free(w->pool.below);
    w->pool = (struct bl_pool){0};
    bl_histogram_free(&w->h);
    free(w->ids);
    w->ids = NULL;
    return code;
}

/* Returns whether a block stays as it is because of a sequence longer than g->longest: hardly any other fits beside
 * it. */
static bool drawing_keeps(const struct bl_drawing *g, const uint32_t *sequence, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bl_lengths_units_of(g->lengths, sequence[i]) > g->longest)
            return true;
    return false;
}

/* Adds the sequences of some blocks to the rest, but keeps blocks with long ones. */
static int drawer_load(struct drawer *w, const struct bl_draft *d, size_t begin, size_t end, struct bl_error *e)
{
    int code = drawer_reserve(w, d->first[end] - d->first[begin], e);
    w->loaded += d->first[end] - d->first[begin];
    for (size_t b = begin; !code && b < end; b++) {
        const uint32_t *sequence = d->sequence + d->first[b];
        size_t size = bl_draft_size(d, b);
        if (drawing_keeps(w->g, sequence, size)) {
            /* The drawn blocks and the draft share one array; the source is never before the target. */
            memmove(w->drawn.sequence + w->drawn.pieces, sequence, size * sizeof *sequence);
            code = bl_draft_close(&w->drawn, size, e);
        } else {
            memcpy(w->rest + w->rests, sequence, size * sizeof *sequence);
            w->rests += size;
        }
    }
    return code;
}

/* Draws the sequences of all blocks from `first` on, pool by pool. *all: false if so many sequences found no block
 * that a search would not help. */
static int drawer_draw(struct drawer *w, const struct bl_draft *d, size_t first, bool *all, struct bl_error *e)
{
    size_t blocks = d->blocks - first, pieces = d->pieces - d->first[first];
    size_t enough = POOL_BLOCKS * (pieces / blocks) > POOL_PIECES ? POOL_BLOCKS * (pieces / blocks) : POOL_PIECES;
    size_t pools = w->pools = (pieces + enough - 1) / enough;
    int code = BL_OK;
    *all = true;
    for (size_t p = 0; !code && p < pools && *all; p++) {
        code = bl_limits_check(w->g->limits, e);
        if (!code)
            code = drawer_load(w, d, first + blocks * p / pools, first + blocks * (p + 1) / pools, e);
        w->pools--;
        if (!code && w->rests > 0)
            code = drawer_draw_pool(w, p + 1 == pools, e);
        *all = w->rests <= enough / 2 || w->pools == 0;
    }
    return code;
}

/* --- the rest --------------------------------------------------------------------------------------------------- */

/* Searches blocks for the rest, with `wanted` as the bound at which the search stops. Sets the surplus, and whether
 * further searches are hopeless. */
static int drawer_search(struct drawer *w, const struct bl_histogram *h, int64_t wanted, struct bl_patterns *patterns,
                         struct bl_error *e)
{
    int64_t most = w->g->limits->work / SEARCHES, used = 0, bound = wanted;
    struct bl_limits limits = bl_limits_with(w->g->limits, most < w->work ? most : w->work);
    limits.used = &used;
    int code = bl_search_best(patterns, &bound, h, &limits, e);
    bl_limits_use(w->g->limits, used);
    w->work -= used;
    w->surplus = (int64_t)patterns->blocks - wanted;
    w->is_hopeless = w->surplus > SURPLUS_MAX + wanted / SURPLUS_SHARE;
    return code;
}

/* Packs the rest and the sequences of the `last` drawn blocks into the remaining number of wanted blocks. *done:
 * whether that succeeded; otherwise the drawn blocks stay as they are. */
static int drawer_pack_rest(struct drawer *w, size_t last, bool *done, struct bl_error *e)
{
    struct bl_draft *d = &w->drawn;
    size_t keep = d->blocks - last, more = d->pieces - d->first[keep];
    int64_t wanted = (int64_t)w->g->blocks - (int64_t)keep;
    struct bl_lengths rest = *w->g->lengths;
    struct bl_histogram h = {0};
    struct bl_patterns patterns = {0};
    BL_TRY(drawer_reserve(w, more, e));
    memcpy(w->rest + w->rests, d->sequence + d->first[keep], more * sizeof *w->rest);
    rest.index = w->rest;
    rest.count = w->rests + more;
    *done = rest.count == 0 && wanted >= 0;
    int code = rest.count ? bl_histogram_make(&h, &rest, e) : BL_OK;
    if (code || rest.count == 0 || bl_histogram_steps(&h) > wanted * w->g->limits->T)
        goto out;
    code = drawer_search(w, &h, wanted, &patterns, e);
    *done = !code && w->surplus <= 0;
    if (!*done)
        goto out;
    d->blocks = keep;
    d->pieces = d->first[keep];
    code = bl_draft_patterns(d, &patterns, &h, &rest, ~w->seed, e);
out:
    bl_patterns_free(&patterns);
    bl_histogram_free(&h);
    return code;
}

/* Tries to pack the rest with 0, 8 and 64 dissolved blocks; never with more than a third of all. */
static int drawer_finish(struct drawer *w, bool *done, struct bl_error *e)
{
    int code = BL_OK;
    for (size_t i = 0; !code && !*done && i < sizeof dissolved / sizeof *dissolved &&
                       dissolved[i] * 3 <= w->drawn.blocks && !w->is_hopeless;
         i++)
        code = drawer_pack_rest(w, dissolved[i], done, e);
    return code;
}

/* Replaces the blocks of the draft by the drawn ones. Their ids lie in the array of the draft already. */
static int drawer_deliver(const struct drawer *w, struct bl_draft *d, size_t first, struct bl_error *e)
{
    uint32_t begin = d->first[first];
    size_t blocks = d->blocks - first, more = w->drawn.blocks > blocks ? w->drawn.blocks - blocks : 0;
    BL_TRY(bl_draft_reserve(d, more, e));
    for (size_t b = 0; b <= w->drawn.blocks; b++)
        d->first[first + b] = begin + w->drawn.first[b];
    d->blocks = first + w->drawn.blocks;
    d->is_shuffled = false;
    return BL_OK;
}

/* Returns the units that drawn blocks may waste: half of all free units, since the search for the rest needs the other
 * half. */
static int64_t drawing_spare(const struct bl_drawing *g, const struct bl_draft *d, size_t first)
{
    int64_t spare = (int64_t)g->blocks * g->limits->T;
    for (size_t p = d->first[first]; p < d->pieces; p++)
        spare -= bl_lengths_units_of(g->lengths, d->sequence[p]);
    return spare / 2;
}

int bl_drawing_make(struct bl_draft *d, size_t first, const struct bl_drawing *g, enum bl_drawn *drawn,
                    struct bl_error *e)
{
    struct drawer w = {.g = g, .work = g->limits->work, .spare = drawing_spare(g, d, first)};
    bool all, done = false;
    size_t pieces = d->pieces - d->first[first], kept = pieces < KEPT_PIECES ? pieces : KEPT_PIECES;
    uint32_t *sequence = d->sequence + d->first[first], *copy = malloc((kept + 1) * sizeof *copy);
    int code = copy ? bl_draft_make(&w.drawn, 0, e) : bl_error_memory(e);
    uint32_t *none = w.drawn.sequence;
    if (!code)
        code = bl_draft_reserve(&w.drawn, g->blocks + 1, e);
    if (code)
        goto out;
    w.drawn.sequence = sequence;
    bl_random_seed(&w.seeds, g->seed, BL_STREAM_POOL);
    memcpy(copy, sequence, kept * sizeof *copy);
    code = drawer_draw(&w, d, first, &all, e);
    if (!code && all)
        code = drawer_finish(&w, &done, e);
    if (!code && done)
        code = drawer_deliver(&w, d, first, e);
    *drawn = done ? BL_DRAWN : w.loaded > kept ? BL_DRAWN_SPOILT : BL_DRAWN_NOT;
    if (*drawn == BL_DRAWN_NOT)
        memcpy(sequence, copy, kept * sizeof *copy);
out:
    w.drawn.sequence = none;
    bl_draft_free(&w.drawn);
    free(w.rest);
    free(copy);
    return code;
}
