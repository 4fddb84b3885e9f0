/* Fills blocks under several maxima from a pool of pieces.
 *
 * The pool has some thousand pieces, drawn at random from all, so that the time for a block and the room that it leaves
 * do not depend on how many pieces there are. A block takes a piece that is hard to place, or a random one; then random
 * ones that use all kinds of load evenly; and for the end, of many pairs, the pair that leaves the least room. When a
 * quarter of the pool is left, others join it.
 *
 * Room matters most in the kind of load that fills most blocks. If the pieces without a block fill 100 blocks with
 * their steps and 90 with their images, images count 0.9^16 = 0.19 times as much as steps. */
#include "plan/pool.h"

#include <float.h>
#include <stdlib.h>

#include "base/sort.h"

enum {
    POOL = 32768,     /* pieces, */
    POOL_BLOCKS = 64, /* or those of so many blocks, if these are more */
    DRAWN = 4,        /* random pieces of which a block takes one */
    PAIRS = 100,      /* random pieces that are tried for the end of a block, each with the piece that suits it best, */
    CLOSED = 1 << 15, /* until the searches for them have done so many operations */
};

/* In mean pieces: a block with room for fewer is closed by a pair. */
static const double CLOSING = 2.3;

/* In parts of a block: a pair that leaves no more room is taken at once; pieces with more of the weighted loads, or of
 * one kind, are hard to place. */
static const double TOLERANCE = 1. / 8192, HARD = 0.4, HARD_ALONE = 0.75;

/* In parts of the pieces that a room suffices for by all kinds: if one kind suffices for nearly as many, any piece will
 * do; if for much less, that kind is saved. */
static const double NEARLY = 0.95, MUCH_LESS = 0.5;

struct filler {
    struct bl_loads measure; /* the kinds and their maxima */
    struct bl_pool pool;
    struct bl_draft *d;
    size_t next, end; /* d->sequence[next .. end - 1] are not in the pool yet */
    struct bl_pool_weighting weighting;
    double weight[BL_LOADS_MAX]; /* of one unit; those of a full block sum up to 1 */
    int64_t spare[BL_LOADS_MAX]; /* what a mean block will have left */
    double pieces[BL_LOADS_MAX]; /* mean pieces that have one unit; 0: none has any */
    uint64_t *turn;              /* [pool.count] places by turn: the upper half of a word is the turn */
    size_t turns;
    struct bl_random random;
};

/* A block while it is filled. */
struct open_block {
    struct bl_load room;
    size_t size;
};

/* --- weights ------------------------------------------------------------------------------------------------------ */

/* Sets the weights by the share of the blocks that each kind of load of the pieces in the pool fills. If the blocks so
 * far have left too much of one kind in the pool, the next ones take more of it. */
static void filler_set_weights(struct filler *f)
{
    int kinds = f->measure.kinds;
    double blocks[BL_LOADS_MAX] = {0}, most = 0, sum = 0;
    for (size_t i = 0; i < f->pool.count; i++)
        for (int k = 0; k < kinds; k++)
            blocks[k] += (double)bl_pool_row(&f->pool, i)[1 + k];
    for (int k = 0; k < kinds; k++) {
        f->pieces[k] = blocks[k] > 0 ? (double)f->pool.count / blocks[k] : 0;
        blocks[k] /= (double)f->measure.most.of[k];
        most = blocks[k] > most ? blocks[k] : most;
    }
    for (int k = 0; k < kinds; k++) {
        f->weight[k] = most > 0 ? blocks[k] / most : 1;
        f->spare[k] = (int64_t)((1 - f->weight[k]) * (double)f->measure.most.of[k]);
        for (int i = 1; i < f->weighting.sharpness; i *= 2)
            f->weight[k] *= f->weight[k];
        sum += f->weight[k];
    }
    for (int k = 0; k < kinds; k++)
        f->weight[k] /= sum * (double)f->measure.most.of[k];
}

/* Returns the weighted loads of a piece, as a share of a block. */
static double filler_value(const struct filler *f, uint32_t place)
{
    const uint32_t *amount = bl_pool_row(&f->pool, place) + 1;
    double value = 0;
    for (int k = 0; k < f->measure.kinds; k++)
        value += f->weight[k] * (double)amount[k];
    return value;
}

/* Returns the turn of a piece to begin a block: hard ones first, the others in random order. */
static uint32_t filler_turn(struct filler *f, uint32_t place)
{
    const uint32_t *amount = bl_pool_row(&f->pool, place) + 1;
    double hard = filler_value(f, place);
    for (int k = 0; k < f->measure.kinds; k++) {
        double share = (double)amount[k] / (double)f->measure.most.of[k];
        hard = share > HARD_ALONE && share > hard ? share : hard;
    }
    if (hard < HARD)
        hard = HARD * (double)bl_random_below(&f->random, UINT32_MAX) / UINT32_MAX;
    return UINT32_MAX - (uint32_t)(hard * (UINT32_MAX / 2));
}

/* Makes the tree of the pieces in the pool, and the order in which they begin blocks. is_new: pieces have joined. */
static void filler_index(struct filler *f, bool is_new)
{
    bl_pool_drop_taken(&f->pool);
    if (is_new || f->weighting.adapts)
        filler_set_weights(f);
    bl_pool_index(&f->pool, f->weight);
    for (uint32_t i = 0; i < f->pool.count; i++)
        f->turn[i] = (uint64_t)filler_turn(f, i) << 32 | i;
    bl_sort_u64(f->turn, f->pool.count, 32);
    f->turns = 0;
}

/* Adds pieces to the pool until it is full. */
static void filler_refill(struct filler *f)
{
    bl_pool_drop_taken(&f->pool);
    while (f->pool.count < f->pool.capacity && f->next < f->end) {
        uint32_t id = f->d->sequence[f->next++], *row = bl_pool_add(&f->pool);
        row[0] = id;
        bl_loads_measure(&f->measure, id, row + 1);
    }
    filler_index(f, true);
}

/* --- a block ------------------------------------------------------------------------------------------------------ */

/* Moves a piece from the pool to the block. */
static void block_take_piece(struct open_block *b, struct filler *f, uint32_t place)
{
    const uint32_t *row = bl_pool_row(&f->pool, place);
    for (int k = 0; k < f->measure.kinds; k++)
        b->room.of[k] -= row[1 + k];
    f->d->sequence[f->d->pieces + b->size++] = row[0];
    bl_pool_take(&f->pool, place);
}

/* Returns a random piece that is left in the pool. At least one is. */
static uint32_t filler_draw(struct filler *f)
{
    for (;;) {
        uint32_t place = (uint32_t)bl_random_below(&f->random, f->pool.count);
        if (f->pool.leaf[place])
            return place;
    }
}

/* Returns whether a piece fits, and the room that it leaves. */
static bool room_without(struct bl_load *room, const struct bl_load *now, const struct filler *f, uint32_t place)
{
    const uint32_t *amount = bl_pool_row(&f->pool, place) + 1;
    bool fits = true;
    for (int k = 0; k < f->measure.kinds; k++) {
        room->of[k] = now->of[k] - amount[k];
        fits &= room->of[k] >= 0;
    }
    return fits;
}

/* How many mean pieces a room suffices for: by the weighted mean of the kinds, and by the kind that limits it most. */
struct suffices {
    double mean, least;
    int kind;
};

static struct suffices room_suffices(const struct filler *f, const struct bl_load *room)
{
    struct suffices s = {.least = DBL_MAX};
    for (int k = 0; k < f->measure.kinds; k++) {
        double pieces = (double)room->of[k] * f->pieces[k];
        if (f->pieces[k] <= 0)
            continue;
        s.mean += f->weight[k] * (double)f->measure.most.of[k] * pieces;
        if (pieces < s.least) {
            s.least = pieces;
            s.kind = k;
        }
    }
    return s;
}

/* Returns the piece that has the most of what the room suffices for, and the least of what it lacks. */
static uint32_t filler_find_saving(struct filler *f, const struct bl_load *room, int lacks)
{
    struct bl_pool_query query = {.room = *room, .value = -DBL_MAX, .without = BL_POOL_NONE};
    for (int k = 0; k < f->measure.kinds; k++)
        query.weight[k] = f->weight[k] * (double)f->measure.most.of[k] * f->pieces[k];
    query.weight[lacks] -= f->pieces[lacks];
    return bl_pool_find(&f->pool, &query);
}

/* Returns the first of some random pieces after which the room for all kinds is nearly even, or the one after which it
 * is most even; BL_POOL_NONE: none of them fits. The room that a mean block leaves does not count. */
static uint32_t filler_draw_even(struct filler *f, const struct bl_load *now)
{
    uint32_t best = BL_POOL_NONE;
    double least = DBL_MAX;
    for (int i = 0; i < DRAWN; i++) {
        struct bl_load room;
        uint32_t place = filler_draw(f);
        if (!room_without(&room, now, f, place))
            continue;
        for (int k = 0; k < f->measure.kinds; k++)
            room.of[k] -= f->spare[k];
        struct suffices s = room_suffices(f, &room);
        if (s.mean - s.least < least) {
            least = s.mean - s.least;
            best = place;
        }
        if (s.least >= NEARLY * s.mean)
            break;
    }
    return best;
}

/* Returns the piece that fills the room best, if it fills more than *value, which is then what it fills. */
static uint32_t filler_find_fullest(struct filler *f, const struct bl_load *room, uint32_t without, double *value)
{
    struct bl_pool_query query = {.room = *room, .value = *value, .without = without};
    for (int k = 0; k < f->measure.kinds; k++)
        query.weight[k] = f->weight[k];
    uint32_t found = bl_pool_find(&f->pool, &query);
    *value = query.value;
    return found;
}

/* Returns the weighted room of a block. */
static double block_room(const struct open_block *b, const struct filler *f)
{
    double room = 0;
    for (int k = 0; k < f->measure.kinds; k++)
        room += f->weight[k] * (double)b->room.of[k];
    return room;
}

/* Adds pieces that fill at least half of the weighted room, and others as long as the block has less of every kind than
 * a mean block will have. */
static void block_top_up(struct open_block *b, struct filler *f)
{
    uint32_t place = 0;
    while (place != BL_POOL_NONE) {
        double value = block_room(b, f) / 2;
        place = filler_find_fullest(f, &b->room, BL_POOL_NONE, &value);
        if (place == BL_POOL_NONE) {
            struct bl_load room = b->room;
            for (int k = 0; k < f->measure.kinds; k++)
                room.of[k] -= f->spare[k];
            value = -1;
            place = filler_find_fullest(f, &room, BL_POOL_NONE, &value);
        }
        if (place != BL_POOL_NONE)
            block_take_piece(b, f, place);
    }
}

/* Adds the pieces that leave the least room: the best one, or the best of some pairs; and then some of those that still
 * fit. */
static void block_close(struct open_block *b, struct filler *f)
{
    double all = block_room(b, f) - TOLERANCE, most = -1;
    int64_t work = f->pool.work + CLOSED;
    uint32_t first = BL_POOL_NONE, last = filler_find_fullest(f, &b->room, BL_POOL_NONE, &most);
    for (int i = 0; i < PAIRS && most < all && f->pool.left > 1 && f->pool.work < work; i++) {
        struct bl_load room;
        uint32_t place = filler_draw(f);
        if (!room_without(&room, &b->room, f, place))
            continue;
        double own = filler_value(f, place), value = most - own;
        uint32_t other = filler_find_fullest(f, &room, place, &value);
        if (other == BL_POOL_NONE)
            continue;
        most = own + value;
        first = place;
        last = other;
    }
    if (first != BL_POOL_NONE)
        block_take_piece(b, f, first);
    if (last != BL_POOL_NONE)
        block_take_piece(b, f, last);
    block_top_up(b, f);
}

/* Fills one block. The pool has a piece left. */
static void filler_fill_block(struct filler *f, struct open_block *b)
{
    while (!f->pool.leaf[(uint32_t)f->turn[f->turns]])
        f->turns++;
    block_take_piece(b, f, (uint32_t)f->turn[f->turns]);
    while (f->pool.left) {
        struct suffices s = room_suffices(f, &b->room);
        bool is_uneven = s.least < MUCH_LESS * s.mean;
        if ((is_uneven ? s.mean : s.least) < CLOSING)
            break;
        uint32_t place = is_uneven ? filler_find_saving(f, &b->room, s.kind) : filler_draw_even(f, &b->room);
        if (place == BL_POOL_NONE)
            break;
        block_take_piece(b, f, place);
    }
    block_close(b, f);
}

/* --- all blocks --------------------------------------------------------------------------------------------------- */

/* Fills blocks until all pieces have one. BL_EFAIL: out of memory. */
static int filler_run(struct filler *f, struct bl_error *e)
{
    while (f->pool.left || f->next < f->end) {
        filler_refill(f);
        size_t stop = f->next < f->end ? f->pool.capacity / 4 : 0;
        while (f->pool.left > stop) {
            struct open_block b = {.room = f->measure.most};
            if (f->pool.left < f->pool.count / 2)
                filler_index(f, false);
            filler_fill_block(f, &b);
            BL_TRY(bl_limits_check(f->measure.limits, e));
            BL_TRY(bl_draft_close(f->d, b.size, e));
        }
    }
    return BL_OK;
}

/* Writes the ids of all pieces in random order to the draft, where the blocks replace them: there are never more pieces
 * in blocks than have left this list. */
static void filler_draw_order(struct filler *f, const struct bl_lengths *lengths)
{
    for (size_t i = 0; i < lengths->count; i++)
        if (bl_lengths_has(lengths, i))
            f->d->sequence[f->end++] = (uint32_t)bl_lengths_id(lengths, i);
    bl_random_shuffle_u32(&f->random, f->d->sequence + f->next, f->end - f->next);
}

int bl_pool_fill(struct bl_draft *d, const struct bl_lengths *lengths, const struct bl_needs *needs,
                 const struct bl_limits *limits, int64_t bound, struct bl_pool_weighting weighting, uint64_t seed,
                 int64_t *work, struct bl_error *e)
{
    struct filler f = {.d = d, .next = d->pieces, .end = d->pieces, .weighting = weighting};
    int code = bl_loads_make(&f.measure, d, d->blocks, d->blocks, lengths, needs, limits, e);
    if (code)
        goto out;
    bl_random_seed(&f.random, seed, BL_STREAM_LOAD);
    filler_draw_order(&f, lengths);
    /* A block must not empty the pool. */
    double count = (double)(f.end - f.next), capacity = POOL_BLOCKS * count / (double)(bound > 1 ? bound : 1);
    capacity = capacity < POOL ? POOL : capacity;
    size_t pool = (size_t)(capacity < count ? capacity : count);
    code = bl_pool_make(&f.pool, f.measure.kinds, pool, e);
    f.turn = malloc((pool + 1) * sizeof *f.turn);
    if (!code && !f.turn)
        code = bl_error_memory(e);
    if (!code)
        code = filler_run(&f, e);
    *work += f.pool.work;
out:
    free(f.turn);
    bl_pool_free(&f.pool);
    bl_loads_free(&f.measure);
    return code;
}
