/* Searches in depth for exact solutions: blocks of two to four sequences, and other partitions of the blocks of a
 * draft.
 *
 * The first is for solutions with one block more than the bound, where nearly every block must be full. The second is
 * for plans that must differ from earlier ones, where few pieces can be exchanged. */
#include <stdlib.h>
#include <string.h>

#include "plan/pair_repeat.h"
#include "plan/random.h"
#include "plan/search.h"

/* --- exact completion --------------------------------------------------------------------------------------------- */

/* Exact completion, for blocks of two to four sequences. The longest remaining length begins a block, and the few ways
 * to complete it that leave the least room are tried in turn, in depth first order, while the room left in all blocks
 * together is within what the number of blocks allows. With T = 10 and 2 blocks for 5 5 4 3 3, no room is left: 5 + 5
 * and 4 + 3 + 3 count, and 5 + 4 does not.
 *
 * The order in which equally good ways are tried decides whether the search finds a solution at once or never (Gomes,
 * Selman, Kautz, 1998). So the order is drawn, and the search begins again after a short while. */

enum {
    PARTNERS_MAX = 3,   /* sequences beside the longest one of a block */
    WAYS_MAX = 3,       /* ways to complete a block that are tried */
    THIRDS_MAX = 6,     /* lengths tried as the third partner, of which one in four is drawn */
    BLOCKS_MAX = 4096,  /* more are not completed exactly */
    ROOM_MAX = 4,       /* blocks' worth of room, all in all */
    RUN_WORK = 1000000, /* operations of one run, at least; and for each length, in each block: */
    BLOCK_WORK = 16,
    RUNS_MIN = 4, /* with work for fewer runs the search is left out */
};

/* A way to complete a block: the buckets that join its longest length. */
struct completion_way {
    uint64_t key; /* less is better: the room left, then chance */
    uint32_t partner[PARTNERS_MAX];
    uint32_t partners;
};

/* A block on the path of the search. */
struct completion_block {
    uint32_t longest;                    /* bucket of its longest length */
    struct completion_way way[WAYS_MAX]; /* ascending by key */
    int ways, next;                      /* next: the way to try next */
    int64_t room;                        /* units that may stay empty in this block and all later ones */
};

/* The state of the search. The remaining buckets are a doubly linked list by length; a link is the bucket + 1, and 0 is
 * the end on both sides. */
struct completion {
    const struct bl_histogram *h;
    uint32_t T;
    uint32_t partners_most;
    uint32_t *left;             /* [distinct] remaining count */
    uint32_t *shorter, *longer; /* [distinct + 1] the next remaining bucket */
    struct completion_block *block;
    size_t blocks;
    size_t depth;   /* index of the present block */
    int64_t work;   /* operations left in this run */
    uint64_t state; /* of the random numbers; goes on from run to run */
    int ways_most;  /* ways that this run tries for a block */
};

/* Takes one length of a bucket; an empty bucket leaves the list. */
static void completion_take(struct completion *c, uint32_t bucket)
{
    if (--c->left[bucket] > 0)
        return;
    c->longer[c->shorter[bucket + 1]] = c->longer[bucket + 1];
    c->shorter[c->longer[bucket + 1]] = c->shorter[bucket + 1];
}

/* Undoes completion_take. Calls must be in the opposite order of those that they undo: then the links of an empty
 * bucket are still valid, and put it back into the list. */
static void completion_put_back(struct completion *c, uint32_t bucket)
{
    if (c->left[bucket]++ > 0)
        return;
    c->longer[c->shorter[bucket + 1]] = bucket + 1;
    c->shorter[c->longer[bucket + 1]] = bucket + 1;
}

/* Puts back the partners of a way, the last one first. */
static void completion_put_back_way(struct completion *c, const struct completion_way *w)
{
    for (uint32_t i = w->partners; i-- > 0;)
        completion_put_back(c, w->partner[i]);
}

/* Adds a way to those of a block if it is one of the best ways_most and its room is allowed. Ways of equal room are
 * ordered by chance. */
static void completion_offer(struct completion *c, struct completion_block *b, uint32_t room, struct completion_way w)
{
    if (room > b->room)
        return;
    w.key = (uint64_t)room << 32 | (uint32_t)bl_random_splitmix(&c->state);
    if (b->ways == c->ways_most && w.key >= b->way[b->ways - 1].key)
        return;
    int at = b->ways < c->ways_most ? b->ways++ : b->ways - 1;
    for (; at > 0 && b->way[at - 1].key > w.key; at--)
        b->way[at] = b->way[at - 1];
    b->way[at] = w;
}

/* Offers all pairs that fit a room, beside the partners that the way already has. Two links move towards each other,
 * the longer from `top` down, the shorter from the shortest up, so the time is linear. top: the longest length that
 * fits. */
static void completion_offer_pairs(struct completion *c, struct completion_block *b, uint32_t room, uint32_t top,
                                   struct completion_way w)
{
    const uint32_t *length = c->h->length;
    uint32_t i = top, j = c->longer[0], first = w.partners;
    w.partners += 2;
    while (i && j && i >= j) {
        uint64_t sum = (uint64_t)length[i - 1] + length[j - 1];
        c->work -= 4;
        if (sum > room) {
            i = c->shorter[i];
            continue;
        }
        w.partner[first] = i - 1;
        w.partner[first + 1] = j - 1;
        if (i != j || c->left[i - 1] > 1)
            completion_offer(c, b, room - (uint32_t)sum, w);
        if (sum == room)
            i = c->shorter[i];
        j = c->longer[j];
    }
}

/* Returns the link of the longest remaining bucket whose length is at most `room`, from `link` down; 0: none. */
static uint32_t completion_fitting(struct completion *c, uint32_t room, uint32_t link)
{
    for (; link && c->h->length[link - 1] > room; link = c->shorter[link])
        c->work -= 2;
    return link;
}

/* Offers triples: some lengths of at least a third of the room, each with all pairs in the rest. Only one length in
 * four is tried, so that runs try different ones. */
static void completion_offer_triples(struct completion *c, struct completion_block *b, uint32_t room, uint32_t top)
{
    const uint32_t *length = c->h->length;
    uint32_t shortest = length[c->longer[0] - 1];
    if (shortest > room / 3)
        return;
    uint32_t link = completion_fitting(c, room - 2 * shortest, top);
    for (int n = 0; link && n < THIRDS_MAX && length[link - 1] >= room / 3; link = c->shorter[link]) {
        struct completion_way w = {.partner = {link - 1}, .partners = 1};
        uint32_t rest = room - length[link - 1];
        c->work -= 2;
        if (bl_random_splitmix(&c->state) % 4)
            continue;
        n++;
        completion_take(c, link - 1);
        uint32_t from = c->left[link - 1] ? link : c->shorter[link];
        completion_offer_pairs(c, b, rest, completion_fitting(c, rest, from), w);
        completion_put_back(c, link - 1);
    }
}

/* Begins a block with the longest remaining length, and lists the ways to complete it: alone, with one, two or three
 * partners. room: units that may stay empty in all blocks from here on. */
static void completion_begin_block(struct completion *c, int64_t room)
{
    struct completion_block *b = &c->block[c->depth];
    const uint32_t *length = c->h->length;
    *b = (struct completion_block){.longest = c->shorter[0] - 1, .room = room};
    completion_take(c, b->longest);
    uint32_t beside = c->T - length[b->longest];
    uint32_t top = c->partners_most ? completion_fitting(c, beside, c->shorter[0]) : 0;
    completion_offer(c, b, beside, (struct completion_way){0});
    if (top)
        completion_offer(c, b, beside - length[top - 1], (struct completion_way){.partner = {top - 1}, .partners = 1});
    if (top && c->partners_most > 1)
        completion_offer_pairs(c, b, beside, top, (struct completion_way){0});
    if (top && c->partners_most > 2)
        completion_offer_triples(c, b, beside, top);
    c->work -= 32;
}

/* Returns to the block before the present one, and undoes its last way. Returns false at the first block: every way was
 * tried. */
static bool completion_back(struct completion *c)
{
    completion_put_back(c, c->block[c->depth].longest);
    if (c->depth == 0)
        return false;
    const struct completion_block *b = &c->block[--c->depth];
    completion_put_back_way(c, &b->way[b->next - 1]);
    return true;
}

/* Searches once, until the work of the run ends. Returns whether all lengths are in blocks 0 .. depth. room: units that
 * may stay empty in all blocks. */
static bool completion_run(struct completion *c, int64_t room)
{
    c->depth = 0;
    completion_begin_block(c, room);
    while (c->work > 0) {
        struct completion_block *b = &c->block[c->depth];
        if (b->next == b->ways) {
            if (!completion_back(c))
                return false;
            continue;
        }
        const struct completion_way *w = &b->way[b->next++];
        for (uint32_t i = 0; i < w->partners; i++)
            completion_take(c, w->partner[i]);
        if (c->shorter[0] == 0)
            return true;
        if (c->depth + 1 == c->blocks) {
            completion_put_back_way(c, w);
            continue;
        }
        c->depth++;
        completion_begin_block(c, b->room - (int64_t)(w->key >> 32));
    }
    return false;
}

/* Returns the operations of one run, which are enough to reach the last block several times. */
static int64_t completion_run_work(const struct bl_histogram *h, size_t blocks)
{
    int64_t work = BLOCK_WORK * (int64_t)h->distinct * (int64_t)blocks;
    return work > RUN_WORK ? work : RUN_WORK;
}

/* Runs with other random numbers each time, and different numbers of ways, until a solution is found or the work ends.
 * Returns whether one is found. */
static bool completion_repeat(struct completion *c, int64_t room, const struct bl_limits *limits)
{
    int64_t once = completion_run_work(c->h, c->blocks);
    static const int ways[] = {2, 2, WAYS_MAX, 2};
    bool found = false;
    int64_t left = limits->work;
    for (int run = 0; left > 0 && !found && !bl_limits_cancelled(limits); run++) {
        int64_t share = left < once ? left : once;
        uint32_t last = 0;
        for (uint32_t b = 0; b < c->h->distinct; b++) {
            c->left[b] = bl_histogram_count(c->h, b);
            if (c->left[b] == 0)
                continue;
            c->shorter[b + 1] = last;
            c->longer[last] = b + 1;
            last = b + 1;
        }
        c->longer[last] = 0;
        c->shorter[0] = last;
        c->ways_most = ways[run % 4];
        c->work = share - (int64_t)c->h->distinct;
        found = completion_run(c, room);
        left -= share - c->work;
    }
    bl_limits_use(limits, limits->work - left);
    return found;
}

/* Writes the path of the search as patterns, each used once. BL_EFAIL: out of memory. */
static int completion_write(const struct completion *c, struct bl_patterns *patterns, struct bl_error *e)
{
    int code = BL_OK;
    for (size_t i = 0; !code && i <= c->depth; i++) {
        const struct completion_block *b = &c->block[i];
        const struct completion_way *w = &b->way[b->next - 1];
        code = bl_patterns_push(patterns, b->longest, e);
        for (uint32_t k = 0; !code && k < w->partners; k++)
            code = bl_patterns_push(patterns, w->partner[k], e);
        if (!code)
            code = bl_patterns_close(patterns, 1, e);
    }
    return code;
}

int bl_search_complete(struct bl_patterns *patterns, const struct bl_histogram *h, size_t blocks,
                       const struct bl_limits *limits, struct bl_error *e)
{
    *patterns = (struct bl_patterns){0};
    int64_t room = blocks <= BLOCKS_MAX ? (int64_t)blocks * limits->T - bl_histogram_steps(h) : -1;
    if (limits->without & BL_SEARCH_COMPLETE || room < 0 || room > ROOM_MAX * limits->T ||
        h->start[h->distinct] > (PARTNERS_MAX + 1) * blocks || limits->work / RUNS_MIN < completion_run_work(h, blocks))
        return BL_OK;
    size_t n = h->distinct + 1;
    struct completion c = {.h = h, .T = (uint32_t)limits->T, .blocks = blocks};
    c.partners_most = limits->sequences - 1 < PARTNERS_MAX ? limits->sequences - 1 : PARTNERS_MAX;
    c.left = malloc(n * sizeof *c.left);
    c.shorter = malloc(n * sizeof *c.shorter);
    c.longer = malloc(n * sizeof *c.longer);
    c.block = malloc(blocks * sizeof *c.block);
    int code = c.left && c.shorter && c.longer && c.block ? BL_OK : bl_error_memory(e);
    if (!code && completion_repeat(&c, room, limits))
        code = completion_write(&c, patterns, e);
    free(c.left);
    free(c.shorter);
    free(c.longer);
    free(c.block);
    if (code)
        bl_patterns_free(patterns);
    return code;
}

/* --- repartition -------------------------------------------------------------------------------------------------- */

/* Repartition is a search in depth: each piece of the chosen blocks, from the longest on, goes into one block after the
 * other that has room for it, until all have a place and the partition is new. */

enum {
    PIECES_MAX = 48,            /* pieces that one search places */
    TRIES = 64,                 /* choices of blocks, if a search cannot take all blocks */
    REPARTITION_BLOCKS_MAX = 3, /* blocks of such a choice */
    NODES = 1 << 20,            /* nodes of the search over all blocks */
    NODES_TRY = 1 << 14,        /* nodes of a search over some blocks */
};

/* The state of the search. Arrays by block have PIECES_MAX entries, as no chosen block is empty. */
struct repartition {
    const struct bl_repartition *r;
    struct bl_draft *d;
    uint64_t others; /* the hash of the other blocks */
    int64_t nodes;   /* nodes that the search may still visit */
    size_t blocks, pieces;
    uint32_t block[PIECES_MAX];             /* numbers in the draft */
    uint32_t piece[PIECES_MAX];             /* descending by length */
    uint8_t place[PIECES_MAX];              /* of each piece: which of these blocks */
    int64_t room[PIECES_MAX];               /* by block: units left */
    uint32_t size[PIECES_MAX];              /* by block: pieces */
    int64_t left[PIECES_MAX][BL_NEEDS_MAX]; /* by block: units left of each column */
};

static int64_t repartition_units(const struct repartition *s, uint32_t piece)
{
    return bl_lengths_units_of(&s->r->names->pieces->lengths, piece);
}

static uint32_t repartition_group(const struct repartition *s, size_t block)
{
    return bl_pieces_group(s->r->names->pieces, s->d->sequence[s->d->first[block]]);
}

/* --- the blocks ------------------------------------------------------------------------------------------------- */

/* Adds a block and its pieces to the search. Returns false if it is empty, already chosen, or has too many pieces. */
static bool repartition_take_block(struct repartition *s, size_t block)
{
    size_t size = bl_draft_size(s->d, block);
    if (!size || s->pieces + size > PIECES_MAX)
        return false;
    for (size_t i = 0; i < s->blocks; i++) {
        if (s->block[i] == block)
            return false;
    }
    s->block[s->blocks++] = (uint32_t)block;
    memcpy(s->piece + s->pieces, s->d->sequence + s->d->first[block], size * sizeof *s->piece);
    s->pieces += size;
    return true;
}

/* --- the search ------------------------------------------------------------------------------------------------- */

/* Moves a piece into a block (sign 1) or out of it (-1). */
static void repartition_move(struct repartition *s, size_t i, size_t b, int sign)
{
    s->place[i] = (uint8_t)b;
    s->room[b] -= sign * repartition_units(s, s->piece[i]);
    s->size[b] += (uint32_t)sign;
    for (int c = 0; c < s->r->needs->count; c++)
        s->left[b][c] -= sign * s->r->needs->each[c].of[s->piece[i]];
}

/* Returns whether piece i may go into block b: steps, sequences, columns and group. */
static bool repartition_fits(const struct repartition *s, size_t i, size_t b)
{
    const struct bl_pieces *pieces = s->r->names->pieces;
    for (int c = 0; c < s->r->needs->count; c++) {
        if (s->r->needs->each[c].of[s->piece[i]] > s->left[b][c])
            return false;
    }
    return repartition_units(s, s->piece[i]) <= s->room[b] && s->size[b] < s->r->limits->sequences &&
           bl_pieces_group(pieces, s->piece[i]) == repartition_group(s, s->block[b]);
}

/* Copies the pieces that are in block b to out[], and returns their number. */
static size_t repartition_copy(const struct repartition *s, size_t b, uint32_t *out)
{
    size_t n = 0;
    for (size_t i = 0; i < s->pieces; i++) {
        if (s->place[i] == b)
            out[n++] = s->piece[i];
    }
    return n;
}

/* Returns whether all blocks have pieces and the partition of the draft is new; then *hash is its hash. The number of
 * blocks must stay the same, so no block may be empty. */
static bool repartition_is_new(const struct repartition *s, uint64_t *hash)
{
    uint32_t piece[PIECES_MAX];
    uint64_t sum = s->others;
    for (size_t b = 0; b < s->blocks; b++) {
        if (!s->size[b])
            return false;
        sum += bl_partition_hash_block(piece, repartition_copy(s, b, piece), s->r->names);
    }
    if (bl_partitions_have(s->r->taken, sum))
        return false;
    *hash = sum;
    return true;
}

/* Returns whether an earlier empty block of the same group was tried for this piece: all empty blocks of a group give
 * the same partitions. */
static bool repartition_is_twin(const struct repartition *s, size_t b)
{
    for (size_t k = 0; k < b && !s->size[b]; k++) {
        if (!s->size[k] && repartition_group(s, s->block[k]) == repartition_group(s, s->block[b]))
            return true;
    }
    return false;
}

/* Places the pieces and returns whether the partition is new. place[i] is the block of piece i, so it is the stack of
 * the search: to go back, the last piece leaves its block and tries the next one. */
static bool repartition_search(struct repartition *s, uint64_t *hash)
{
    size_t i = 0, b = 0;
    for (;;) {
        while (b < s->blocks && (!repartition_fits(s, i, b) || repartition_is_twin(s, b)))
            b++;
        if (b < s->blocks && s->nodes-- > 0) {
            repartition_move(s, i++, b, 1);
            b = 0;
            if (i < s->pieces)
                continue;
            if (repartition_is_new(s, hash))
                return true;
        } else if (i == 0 || s->nodes <= 0) {
            return false;
        }
        b = s->place[--i];
        repartition_move(s, i, b++, -1);
    }
}

/* --- the draft -------------------------------------------------------------------------------------------------- */

/* Writes the draft with the new blocks in the places of the old ones. BL_EFAIL: out of memory; the draft is
 * unchanged. */
static int repartition_write(const struct repartition *s, struct bl_error *e)
{
    struct bl_draft *d = s->d;
    uint32_t *sequence = malloc((d->pieces + 1) * sizeof *sequence), *first = malloc((d->blocks + 1) * sizeof *first);
    int code = sequence && first ? BL_OK : bl_error_memory(e);
    size_t at = 0;
    for (size_t b = 0; b < d->blocks && !code; b++) {
        size_t k = 0, size = bl_draft_size(d, b);
        while (k < s->blocks && s->block[k] != b)
            k++;
        first[b] = (uint32_t)at;
        if (k < s->blocks)
            size = repartition_copy(s, k, sequence + at);
        else
            memcpy(sequence + at, d->sequence + d->first[b], size * sizeof *sequence);
        at += size;
    }
    for (size_t b = 0; b < d->blocks && !code; b++)
        d->first[b] = first[b];
    if (!code)
        memcpy(d->sequence, sequence, at * sizeof *sequence);
    free(sequence);
    free(first);
    return code;
}

/* Chooses blocks of one group at random, the first of them the given one. It makes a limited number of draws, since a
 * group may have too few blocks. */
static void repartition_choose(struct repartition *s, size_t block, struct bl_random *random)
{
    s->blocks = s->pieces = 0;
    if (!repartition_take_block(s, block))
        return;
    for (int i = 0; i < 2 * REPARTITION_BLOCKS_MAX && s->blocks < REPARTITION_BLOCKS_MAX; i++) {
        size_t other = (size_t)bl_random_below(random, s->d->blocks);
        if (bl_draft_size(s->d, other) && repartition_group(s, other) == repartition_group(s, block))
            repartition_take_block(s, other);
    }
}

int bl_repartition(struct bl_draft *d, const struct bl_repartition *r, uint64_t *hash, struct bl_error *e)
{
    struct repartition s = {.r = r, .d = d, .nodes = NODES};
    struct bl_random random;
    bool is_all = d->pieces <= PIECES_MAX, found = false;
    bl_random_seed(&random, r->seed, BL_STREAM_OTHER);
    for (int t = 0; t < (is_all ? 1 : TRIES) && !found && d->blocks; t++) {
        for (size_t b = 0; is_all && b < d->blocks; b++)
            repartition_take_block(&s, b);
        if (!is_all) {
            repartition_choose(&s, (size_t)bl_random_below(&random, d->blocks), &random);
            s.nodes = NODES_TRY;
        }
        if (s.pieces == 0)
            continue;
        /* The chosen blocks are empty at first, and s->others is the hash of the blocks that stay. */
        s.others = *hash;
        for (size_t b = 0; b < s.blocks; b++) {
            const uint32_t *piece = s.d->sequence + s.d->first[s.block[b]];
            s.others -= bl_partition_hash_block(piece, bl_draft_size(s.d, s.block[b]), s.r->names);
            s.room[b] = s.r->limits->T;
            s.size[b] = 0;
            for (int c = 0; c < s.r->needs->count; c++)
                s.left[b][c] = s.r->needs->each[c].most;
        }
        /* Sorts the pieces, the longest first: at most 48, so by insertion. */
        for (size_t i = 1; i < s.pieces; i++) {
            uint32_t piece = s.piece[i];
            size_t k = i;
            for (; k > 0 && repartition_units(&s, s.piece[k - 1]) < repartition_units(&s, piece); k--)
                s.piece[k] = s.piece[k - 1];
            s.piece[k] = piece;
        }
        found = repartition_search(&s, hash);
    }
    return found ? repartition_write(&s, e) : BL_OK;
}
