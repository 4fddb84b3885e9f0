/* A search in depth: each piece of the chosen blocks, from the longest on, goes into one block after the other that has
 * room for it, until all have a place and the partition is new. */
#include <stdlib.h>
#include <string.h>

#include "plan/partition.h"
#include "plan/random.h"

enum {
    PIECES_MAX = 48,     /* that are placed anew */
    TRIES = 64,          /* of other blocks, if these are not all */
    BLOCKS_MAX = 3,      /* at a time, if they are not all */
    NODES = 1 << 20,     /* of the search over all blocks, */
    NODES_TRY = 1 << 14, /* and over some of them */
};

struct repartition {
    const struct bl_repartition *r;
    struct bl_draft *d;
    uint64_t others; /* the hash of the other blocks */
    int64_t nodes;   /* left */
    size_t blocks, pieces;
    uint32_t block[PIECES_MAX]; /* numbers in the draft */
    uint32_t piece[PIECES_MAX]; /* descending by length */
    uint8_t place[PIECES_MAX];  /* of each piece: which of these blocks */
    int64_t room[PIECES_MAX];   /* by block */
    uint32_t size[PIECES_MAX];
    int64_t left[PIECES_MAX][BL_PLAN_COLUMNS_MAX];
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

/* Adds the pieces of a block, if it has any and there is room for them. */
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

static void repartition_sort(struct repartition *s)
{
    for (size_t i = 1; i < s->pieces; i++) {
        uint32_t piece = s->piece[i];
        size_t k = i;
        for (; k > 0 && repartition_units(s, s->piece[k - 1]) < repartition_units(s, piece); k--)
            s->piece[k] = s->piece[k - 1];
        s->piece[k] = piece;
    }
}

/* Takes the chosen blocks out: s->others is then the hash of what stays. */
static void repartition_begin(struct repartition *s, uint64_t hash)
{
    s->others = hash;
    for (size_t b = 0; b < s->blocks; b++) {
        const uint32_t *piece = s->d->sequence + s->d->first[s->block[b]];
        s->others -= bl_partition_hash_block(piece, bl_draft_size(s->d, s->block[b]), s->r->names);
        s->room[b] = s->r->limits->T;
        s->size[b] = 0;
        for (int c = 0; c < s->r->needs->count; c++)
            s->left[b][c] = s->r->needs->each[c].most;
    }
    repartition_sort(s);
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

/* Copies the pieces of block b; returns how many. */
static size_t repartition_copy(const struct repartition *s, size_t b, uint32_t *out)
{
    size_t n = 0;
    for (size_t i = 0; i < s->pieces; i++) {
        if (s->place[i] == b)
            out[n++] = s->piece[i];
    }
    return n;
}

/* Whether all blocks have pieces, and their partition is new; then *hash is that of the draft. */
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

/* Of several empty blocks of a group only the first is tried. */
static bool repartition_is_twin(const struct repartition *s, size_t b)
{
    for (size_t k = 0; k < b && !s->size[b]; k++) {
        if (!s->size[k] && repartition_group(s, s->block[k]) == repartition_group(s, s->block[b]))
            return true;
    }
    return false;
}

/* Places the pieces; an explicit stack: place[i] is the block that piece i is in. */
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

/* Writes the draft with the new blocks in the places of the old ones. */
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

/* Chooses blocks of one group, the first of them the given one. */
static void repartition_choose(struct repartition *s, size_t block, struct bl_random *random)
{
    s->blocks = s->pieces = 0;
    if (!repartition_take_block(s, block))
        return;
    for (int i = 0; i < 2 * BLOCKS_MAX && s->blocks < BLOCKS_MAX; i++) {
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
        repartition_begin(&s, *hash);
        found = repartition_search(&s, hash);
    }
    return found ? repartition_write(&s, e) : BL_OK;
}
