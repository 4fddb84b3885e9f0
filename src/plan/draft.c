/* Patterns, drafts and loads: the three representations in which blocks exist while a plan is made.
 *
 * A search finds patterns, which say how many sequences of each length a block holds and how often the pattern is
 * used. With the buckets of a histogram for the lengths 3, 5 and 8, the pattern {0, 1} with use 4 means 4 blocks of a
 * sequence of length 3 and one of length 5. bl_draft_patterns then draws the sequences: a draft lists ids block by
 * block. Where columns have maxima, too, loads hold the blocks as linked lists, so that a
 * block takes or loses a piece while the other pieces stay. */
#include "plan/draft.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/sort.h"

/* --- patterns ----------------------------------------------------------------------------------------------------- */

int bl_patterns_push(struct bl_patterns *p, uint32_t bucket, struct bl_error *e)
{
    BL_TRY(BL_ARRAY_RESERVE(p->bucket, p->entry_capacity, p->entries + 1, e));
    p->bucket[p->entries++] = bucket;
    return BL_OK;
}

/* first[] has one entry more than there are patterns, so the entries of pattern i are first[i] .. first[i + 1] - 1. */
int bl_patterns_close(struct bl_patterns *p, uint32_t use, struct bl_error *e)
{
    int code = BL_ARRAY_RESERVE(p->use, p->use_capacity, p->count + 1, e);
    if (!code)
        code = BL_ARRAY_RESERVE(p->first, p->first_capacity, p->count + 2, e);
    if (code)
        return code;
    if (p->count == 0)
        p->first[0] = 0;
    p->use[p->count++] = use;
    p->first[p->count] = (uint32_t)p->entries;
    p->blocks += use;
    return BL_OK;
}

/* Without a map `as`, both sets of patterns refer to the same buckets. */
int bl_patterns_append(struct bl_patterns *p, const struct bl_patterns *from, size_t first, size_t end,
                       const uint32_t *as, struct bl_error *e)
{
    int code = BL_OK;
    for (size_t i = first; !code && i < end; i++) {
        for (uint32_t k = from->first[i]; !code && k < from->first[i + 1]; k++)
            code = bl_patterns_push(p, as ? as[from->bucket[k]] : from->bucket[k], e);
        if (!code)
            code = bl_patterns_close(p, from->use[i], e);
    }
    return code;
}

/* The capacity stays: a search truncates and grows the same patterns many times. */
void bl_patterns_truncate(struct bl_patterns *p, size_t count)
{
    while (p->count > count)
        p->blocks -= p->use[--p->count];
    p->entries = p->count ? p->first[p->count] : 0;
}

/* Swaps instead of copying, so that either set of patterns is freed once, as *other. */
void bl_patterns_keep_fewer(struct bl_patterns *best, struct bl_patterns *other)
{
    /* No patterns at all are not a solution with 0 blocks. */
    if (other->count > 0 && (best->count == 0 || other->blocks < best->blocks)) {
        struct bl_patterns worse = *best;
        *best = *other;
        *other = worse;
    }
    bl_patterns_free(other);
}

/* Returns the largest number of sequences in a pattern. */
uint32_t bl_patterns_widest(const struct bl_patterns *p)
{
    uint32_t widest = 0;
    for (size_t i = 0; i < p->count; i++)
        if (p->first[i + 1] - p->first[i] > widest)
            widest = p->first[i + 1] - p->first[i];
    return widest;
}

void bl_patterns_free(struct bl_patterns *p)
{
    free(p->use);
    free(p->first);
    free(p->bucket);
    *p = (struct bl_patterns){0};
}

/* --- drafts ------------------------------------------------------------------------------------------------------- */

/* What a block still has room for: units of steps, and each column that has a maximum. */
struct room {
    int64_t units, need[BL_NEEDS_MAX];
};

/* The array of ids never grows: a draft holds at most `pieces` ids in all its blocks. */
int bl_draft_make(struct bl_draft *d, size_t pieces, struct bl_error *e)
{
    *d = (struct bl_draft){.sequence = malloc((pieces + 1) * sizeof *d->sequence), .first = malloc(sizeof *d->first)};
    if (!d->sequence || !d->first)
        return bl_error_memory(e);
    d->first[0] = 0;
    d->capacity = 1;
    return BL_OK;
}

void bl_draft_free(struct bl_draft *d)
{
    free(d->sequence);
    free(d->first);
    *d = (struct bl_draft){0};
}

/* The exact size, not the doubled one: callers know the number of blocks, and a draft may have 10^8 of them. */
int bl_draft_reserve(struct bl_draft *d, size_t blocks, struct bl_error *e)
{
    size_t capacity = d->blocks + blocks + 1;
    if (capacity <= d->capacity)
        return BL_OK;
    BL_TRY(BL_ARRAY_RESIZE(d->first, capacity, e));
    d->capacity = capacity;
    return BL_OK;
}

/* The caller has written `size` ids behind the present pieces. */
int bl_draft_close(struct bl_draft *d, size_t size, struct bl_error *e)
{
    BL_TRY(BL_ARRAY_RESERVE(d->first, d->capacity, d->blocks + 2, e));
    d->pieces += size;
    d->first[++d->blocks] = (uint32_t)d->pieces;
    return BL_OK;
}

/* Subtracts from the room what piece i needs, in units and in every column. Returns whether there was enough; if not,
 * some rooms are negative, and the caller starts a new block. */
static bool room_take(struct room *room, const struct bl_lengths *lengths, const struct bl_needs *needs, size_t i)
{
    bool fits = (room->units -= bl_lengths_units(lengths, i)) >= 0;
    for (int c = 0; c < needs->count; c++)
        fits &= (room->need[c] -= needs->each[c].of[i]) >= 0;
    return fits;
}

/* The order of the sequences stays, so a block ends as soon as the next piece does not fit, the limit of sequences is
 * reached, or the group changes. A piece alone always fits, so only a block with pieces is closed. */
int bl_draft_keep(struct bl_draft *d, const struct bl_pieces *pieces, const struct bl_limits *limits,
                  const struct bl_needs *needs, struct bl_error *e)
{
    const struct bl_lengths *lengths = &pieces->lengths;
    struct room all = {.units = limits->T}, room;
    size_t size = 0;
    uint32_t last = 0;
    int code = BL_OK;
    for (int c = 0; c < needs->count; c++)
        all.need[c] = needs->each[c].most;
    room = all;
    for (size_t i = 0; !code && i < lengths->count; i++) {
        if (!bl_lengths_has(lengths, i))
            continue;
        uint32_t group = bl_pieces_group(pieces, i);
        bool fits = room_take(&room, lengths, needs, i);
        if (size > 0 && (!fits || size == limits->sequences || group != last)) {
            code = bl_draft_close(d, size, e);
            room = all;
            size = 0;
            room_take(&room, lengths, needs, i);
        }
        d->sequence[d->pieces + size++] = (uint32_t)i;
        last = group;
    }
    return !code && size > 0 ? bl_draft_close(d, size, e) : code;
}

/* Lists the pattern of each block in random order: *turn [patterns->blocks], which the caller frees. A pattern that is
 * used 3 times is listed 3 times. BL_EFAIL: out of memory. */
static int patterns_shuffle(const struct bl_patterns *patterns, uint64_t seed, uint32_t **turn, struct bl_error *e)
{
    struct bl_random random;
    bl_random_seed(&random, seed, BL_STREAM_BLOCK);
    *turn = malloc((patterns->blocks + 1) * sizeof **turn);
    if (!*turn)
        return bl_error_memory(e);
    size_t block = 0;
    for (size_t p = 0; p < patterns->count; p++)
        for (uint32_t k = 0; k < patterns->use[p]; k++)
            (*turn)[block++] = (uint32_t)p;
    bl_random_shuffle_u32(&random, *turn, patterns->blocks);
    return BL_OK;
}

int bl_draft_patterns(struct bl_draft *d, const struct bl_patterns *patterns, const struct bl_histogram *h,
                      const struct bl_lengths *lengths, uint64_t seed, struct bl_error *e)
{
    uint32_t *ids = NULL, *turn = NULL, *cursor = malloc((h->distinct + 1) * sizeof *cursor);
    int code = cursor ? bl_histogram_ids(h, lengths, seed, &ids, e) : bl_error_memory(e);
    if (code)
        goto out;
    code = patterns_shuffle(patterns, seed, &turn, e);
    if (code)
        goto out;
    code = bl_draft_reserve(d, patterns->blocks, e);
    if (code)
        goto out;
    /* cursor[b]: the next id of bucket b that has no block yet. */
    memcpy(cursor, h->start, h->distinct * sizeof *cursor);
    /* Blocks of a single subproblem are in random order already, and need no other shuffle. */
    d->is_shuffled = d->blocks == 0;
    /* Visits the blocks in their final order, so that each sequence is written only once. */
    struct bl_random inside;
    bl_random_seed(&inside, seed, BL_STREAM_INSIDE);
    size_t pieces = d->pieces;
    for (size_t b = 0; b < patterns->blocks; b++) {
        uint32_t *block = d->sequence + pieces;
        uint32_t first = patterns->first[turn[b]];
        size_t size = patterns->first[turn[b] + 1] - first;
        for (size_t i = 0; i < size; i++)
            block[i] = ids[cursor[patterns->bucket[first + i]]++];
        bl_random_shuffle_u32(&inside, block, size);
        pieces += size;
        d->first[d->blocks + b + 1] = (uint32_t)pieces;
    }
    d->pieces = pieces;
    d->blocks += patterns->blocks;
out:
    free(turn);
    free(cursor);
    free(ids);
    return code;
}

/* --- loads -------------------------------------------------------------------------------------------------------- */

#define WEIGHT (INT64_C(1) << 33) /* of a full block: the sum over 2^29 such blocks fits in 63 bits */

void bl_loads_measure(const struct bl_loads *l, uint32_t id, uint32_t *amount)
{
    *amount++ = (uint32_t)bl_lengths_units_of(l->lengths, id);
    for (int c = 0; c < l->needs->count; c++)
        *amount++ = (uint32_t)l->needs->each[c].of[id];
    /* The limit of sequences is one more kind of load, of which each piece has 1. */
    if (l->kinds > 1 + l->needs->count)
        *amount = 1;
}

/* Adds a piece and its amounts. The amounts of one piece lie side by side, since the columns of the table are
 * scattered in memory and a search reads the amounts of a piece many times. */
static void loads_add_piece(struct bl_loads *l, uint32_t id)
{
    bl_loads_measure(l, id, l->amount + l->pieces * (size_t)l->kinds);
    l->id[l->pieces++] = id;
}

void bl_loads_add(struct bl_loads *l, struct bl_load_block *b, uint32_t piece)
{
    l->next[piece] = b->head;
    b->head = piece;
    b->size++;
    for (int k = 0; k < l->kinds; k++)
        b->load.of[k] += bl_loads_piece(l, piece, k);
}

/* The list is singly linked: the search for the link costs as many steps as the block has pieces. */
void bl_loads_remove(struct bl_loads *l, struct bl_load_block *b, uint32_t piece)
{
    uint32_t *link = &b->head;
    while (*link != piece)
        link = &l->next[*link];
    *link = l->next[piece];
    b->size--;
    for (int k = 0; k < l->kinds; k++)
        b->load.of[k] -= bl_loads_piece(l, piece, k);
}

/* The new block has no pieces, and an empty load. */
int bl_loads_open(struct bl_loads *l, struct bl_error *e)
{
    int code = BL_ARRAY_RESERVE(l->block, l->capacity, l->blocks + 1, e);
    if (!code)
        l->block[l->blocks++] = (struct bl_load_block){.head = BL_LOADS_NONE};
    return code;
}

/* Memory for these blocks alone, so that a search can go over a large draft part by part. */
int bl_loads_make(struct bl_loads *l, const struct bl_draft *d, size_t first, size_t end,
                  const struct bl_lengths *lengths, const struct bl_needs *needs, const struct bl_limits *limits,
                  struct bl_error *e)
{
    size_t pieces = d->first[end] - d->first[first] + 1;
    *l = (struct bl_loads){.lengths = lengths,
                           .needs = needs,
                           .limits = limits,
                           .kinds = 1 + needs->count + (limits->sequences < BL_SEQUENCES_MAX),
                           .most = {{limits->T}},
                           .id = malloc(pieces * sizeof *l->id),
                           .next = malloc(pieces * sizeof *l->next)};
    l->amount = malloc(pieces * (size_t)l->kinds * sizeof *l->amount);
    int code = l->id && l->next && l->amount ? BL_OK : bl_error_memory(e);
    for (int c = 0; c < needs->count; c++)
        l->most.of[1 + c] = needs->each[c].most;
    if (l->kinds > 1 + needs->count)
        l->most.of[1 + needs->count] = limits->sequences;
    for (int k = 0; k < l->kinds; k++)
        l->weight.of[k] = WEIGHT / l->most.of[k];
    for (size_t b = first; !code && b < end; b++) {
        code = bl_loads_open(l, e);
        for (uint32_t p = d->first[b]; !code && p < d->first[b + 1]; p++) {
            loads_add_piece(l, d->sequence[p]);
            bl_loads_add(l, &l->block[l->blocks - 1], (uint32_t)l->pieces - 1);
        }
    }
    return code;
}

/* Sets the pointers to NULL, so that a second call does no harm. */
void bl_loads_free(struct bl_loads *l)
{
    free(l->id);
    free(l->next);
    free(l->amount);
    free(l->block);
    l->id = l->next = l->amount = NULL;
    l->block = NULL;
}

/* Returns 32 bits of a hash of the amounts of a piece. Pieces with equal amounts have equal hashes; the multiplier is
 * the golden ratio in 64 bits. */
static uint64_t piece_hash(const struct bl_loads *l, uint32_t piece)
{
    uint64_t hash = 0;
    for (int k = 0; k < l->kinds; k++)
        hash = (hash ^ (uint64_t)bl_loads_piece(l, piece, k)) * UINT64_C(0x9e3779b97f4a7c15);
    return hash >> 32;
}

/* Compares the amounts themselves: different amounts can have the same hash. */
static bool pieces_are_equal(const struct bl_loads *l, uint32_t a, uint32_t b)
{
    const uint32_t *amount = l->amount;
    return memcmp(amount + a * (size_t)l->kinds, amount + b * (size_t)l->kinds, (size_t)l->kinds * sizeof *amount) == 0;
}

/* Sorts the pieces by hash, then does a Fisher-Yates shuffle of the ids in each run of equal hashes. A swap between
 * pieces that differ is left out, which hardly ever happens. */
int bl_loads_shuffle_equal(struct bl_loads *l, struct bl_error *e)
{
    uint64_t *word = malloc((l->pieces + 1) * sizeof *word);
    if (!word)
        return bl_error_memory(e);
    for (uint32_t p = 0; p < l->pieces; p++)
        word[p] = piece_hash(l, p) << 32 | p;
    bl_sort_u64(word, l->pieces, 32);
    for (size_t i = 0, end = 0; i < l->pieces; i++) {
        while (end < l->pieces && word[end] >> 32 == word[i] >> 32)
            end++;
        uint32_t p = (uint32_t)word[i], q = (uint32_t)word[i + bl_random_below(&l->random, end - i)];
        uint32_t id = l->id[p];
        if (!pieces_are_equal(l, p, q)) /* a collision of hashes */
            continue;
        l->id[p] = l->id[q];
        l->id[q] = id;
    }
    free(word);
    return BL_OK;
}

/* The draft has room for the ids: every piece of the loads came from the draft or its lengths. */
int bl_loads_write(const struct bl_loads *l, struct bl_draft *d, struct bl_error *e)
{
    int code = BL_OK;
    for (size_t b = 0; !code && b < l->blocks; b++) {
        uint32_t *to = d->sequence + d->pieces;
        for (uint32_t p = l->block[b].head; p != BL_LOADS_NONE; p = l->next[p])
            *to++ = l->id[p];
        code = bl_draft_close(d, l->block[b].size, e);
    }
    return code;
}

/* Stops at the limit, since callers only ask whether a change is better than the best one so far. */
int64_t bl_loads_excess(const struct bl_loads *l, const struct bl_load *load, int64_t limit)
{
    int64_t excess = 0;
    for (int k = 0; k < l->kinds && excess < limit; k++) {
        int64_t over = load->of[k] - l->most.of[k];
        excess += over > 0 ? over * l->weight.of[k] : 0;
    }
    return excess;
}

/* Divides each kind by the number of kinds, so that a block that is full in all kinds has WEIGHT. */
int64_t bl_loads_fullness(const struct bl_loads *l, const struct bl_load *load)
{
    int64_t sum = 0;
    for (int k = 0; k < l->kinds; k++)
        sum += load->of[k] * l->weight.of[k] / l->kinds;
    return sum;
}
