/* Sets of small numbers, histograms of lengths, lower bounds, and the open blocks of best fit: the data structures on
 * which every search for blocks is built.
 *
 * The lengths 5, 3, 5, 8 give the buckets length = {3, 5, 8} with start = {0, 1, 3, 4}. A search works on 3 buckets
 * instead of 4 sequences, and in practice on 10^4 instead of 10^8. */
#include "plan/histogram.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/sort.h"
#include "plan/random.h"

/* --- bitset ------------------------------------------------------------------------------------------------------- */

/* Returns the number of 64-bit words for so many bits. */
static size_t bitset_words(size_t bits)
{
    return (bits + 63) / 64;
}

int bl_bitset_make(struct bl_bitset *m, size_t size, struct bl_error *e)
{
    *m = (struct bl_bitset){0};
    size_t total = 0, offset[BL_BITSET_LEVELS];
    /* The levels shrink by 64 until one word is left: 6 levels reach 2^36 numbers. */
    for (size_t bits = size ? size : 1;; bits = bitset_words(bits)) {
        m->size[m->levels] = bits;
        offset[m->levels++] = total;
        total += bitset_words(bits);
        if (bits <= 64)
            break;
    }
    uint64_t *words = calloc(total, sizeof *words);
    if (!words) {
        *m = (struct bl_bitset){0};
        return bl_error_memory(e);
    }
    for (int l = 0; l < m->levels; l++)
        m->level[l] = words + offset[l];
    return BL_OK;
}

void bl_bitset_free(struct bl_bitset *m)
{
    free(m->level[0]);
    *m = (struct bl_bitset){0};
}

/* Sets the bit of every level; the words above may have theirs already. */
void bl_bitset_add(struct bl_bitset *m, size_t i)
{
    for (int l = 0; l < m->levels; l++, i /= 64)
        m->level[l][i / 64] |= UINT64_C(1) << i % 64;
}

void bl_bitset_remove(struct bl_bitset *m, size_t i)
{
    for (int l = 0; l < m->levels; l++, i /= 64) {
        m->level[l][i / 64] &= ~(UINT64_C(1) << i % 64);
        /* The word still has members, so the levels above stay as they are. */
        if (m->level[l][i / 64])
            return;
    }
}

/* Goes up while no bit is left in the word, then down to the first bit of the word that was found. */
size_t bl_bitset_next(const struct bl_bitset *m, size_t i)
{
    for (int l = 0; l < m->levels && i < m->size[l]; l++) {
        uint64_t word = m->level[l][i / 64] & ~UINT64_C(0) << i % 64;
        if (word) {
            size_t found = i / 64 * 64 + (size_t)__builtin_ctzll(word);
            /* Goes down to the lowest level: a set bit above promises a bit in the word below. */
            for (; l > 0; l--)
                found = found * 64 + (size_t)__builtin_ctzll(m->level[l - 1][found]);
            return found;
        }
        i = i / 64 + 1;
    }
    return BL_BITSET_NONE;
}

/* The mirror image of bl_bitset_next, from the highest bit of each word. */
size_t bl_bitset_previous(const struct bl_bitset *m, size_t i)
{
    if (i >= m->size[0])
        i = m->size[0] - 1;
    for (int l = 0; l < m->levels; l++) {
        uint64_t word = m->level[l][i / 64] & ~UINT64_C(0) >> (63 - i % 64);
        if (word) {
            size_t found = i / 64 * 64 + 63 - (size_t)__builtin_clzll(word);
            for (; l > 0; l--)
                found = found * 64 + 63 - (size_t)__builtin_clzll(m->level[l - 1][found]);
            return found;
        }
        if (i / 64 == 0)
            return BL_BITSET_NONE;
        i = i / 64 - 1;
    }
    return BL_BITSET_NONE;
}

/* --- histogram ---------------------------------------------------------------------------------------------------- */

enum { TABLE_MIN = 1 << 16 }; /* entries that a table over the leading bits may always have */

/* Returns the longest planned length in units, 0 if there is none. The local copy of *all stays in registers. */
static int64_t lengths_longest(const struct bl_lengths *all)
{
    const struct bl_lengths lengths = *all;
    int64_t longest = 0;
    for (size_t i = 0; i < lengths.count; i++)
        if (bl_lengths_has(&lengths, i) && bl_lengths_units(&lengths, i) > longest)
            longest = bl_lengths_units(&lengths, i);
    return longest;
}

/* One entry more than needed, so that malloc never gets 0. */
int bl_histogram_reserve(struct bl_histogram *h, size_t distinct, struct bl_error *e)
{
    *h = (struct bl_histogram){.length = malloc((distinct + 1) * sizeof *h->length),
                               .start = malloc((distinct + 1) * sizeof *h->start)};
    if (!h->length || !h->start) {
        bl_histogram_free(h);
        return bl_error_memory(e);
    }
    h->start[0] = 0;
    return BL_OK;
}

/* Counts the lengths in a table with an entry for each length up to `longest`. */
static int histogram_count_table(struct bl_histogram *h, const struct bl_lengths *all, int64_t longest,
                                 struct bl_error *e)
{
    const struct bl_lengths lengths = *all; /* a copy, which writes into the table cannot change */
    uint32_t *table = calloc((size_t)longest + 1, sizeof *table);
    if (!table)
        return bl_error_memory(e);
    size_t distinct = 0;
    for (size_t i = 0; i < lengths.count; i++)
        if (bl_lengths_has(&lengths, i))
            table[bl_lengths_units(&lengths, i)]++;
    for (int64_t length = 0; length <= longest; length++)
        distinct += table[length] > 0;
    int code = bl_histogram_reserve(h, distinct, e);
    for (int64_t length = 0; !code && length <= longest; length++)
        if (table[length] > 0)
            bl_histogram_add(h, (uint32_t)length, table[length]);
    free(table);
    return code;
}

int bl_histogram_make(struct bl_histogram *h, const struct bl_lengths *lengths, struct bl_error *e)
{
    *h = (struct bl_histogram){0};
    if (lengths->cap < TABLE_MIN)
        return histogram_count_table(h, lengths, lengths->cap, e);
    /* A table costs time for each possible length, a radix sort for each sequence: the table pays up to two possible
     * lengths a sequence, and always if it is tiny. */
    int64_t longest = lengths_longest(lengths);
    if ((uint64_t)longest < TABLE_MIN / 64 || (uint64_t)longest / 2 < lengths->count)
        return histogram_count_table(h, lengths, longest, e);
    uint32_t *key = malloc(lengths->count * sizeof *key);
    if (!key)
        return bl_error_memory(e);
    size_t n = 0, distinct = 0;
    for (size_t i = 0; i < lengths->count; i++)
        if (bl_lengths_has(lengths, i))
            key[n++] = (uint32_t)bl_lengths_units(lengths, i);
    bl_sort_u32(key, n);
    for (size_t i = 0; i < n; i++)
        distinct += i == 0 || key[i] != key[i - 1];
    int code = bl_histogram_reserve(h, distinct, e);
    for (size_t i = 0; !code && i < n; i++)
        bl_histogram_add(h, key[i], 1);
    free(key);
    return code;
}

void bl_histogram_free(struct bl_histogram *h)
{
    free(h->length);
    free(h->start);
    *h = (struct bl_histogram){0};
}

int64_t bl_histogram_steps(const struct bl_histogram *h)
{
    int64_t steps = 0;
    for (size_t b = 0; b < h->distinct; b++)
        steps += (int64_t)h->length[b] * bl_histogram_count(h, b);
    return steps;
}

size_t bl_histogram_below(const struct bl_histogram *h, int64_t limit)
{
    return bl_histogram_below_between(h, limit, 0, h->distinct);
}

/* A binary search for the first bucket with a longer length than the limit. */
size_t bl_histogram_below_between(const struct bl_histogram *h, int64_t limit, size_t low, size_t high)
{
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (h->length[middle] <= limit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void bl_histogram_coarsen(struct bl_histogram *h, size_t distinct)
{
    if (h->distinct <= distinct)
        return;
    /* Lengths that agree in all except the last `shift` bits become one: at most `distinct` values remain. */
    uint32_t longest = h->length[h->distinct - 1], shift = 0;
    while (longest >> shift >= distinct)
        shift++;
    size_t n = 0;
    for (size_t b = 0; b < h->distinct; b++) {
        /* The longest of the lengths with the same leading bits replaces all: rounding up keeps blocks valid. */
        if (b + 1 < h->distinct && (h->length[b] - 1) >> shift == (h->length[b + 1] - 1) >> shift)
            continue;
        h->length[n] = h->length[b];
        h->start[++n] = h->start[b + 1];
    }
    h->distinct = n;
    /* Shrinks both arrays: 10^8 distinct lengths become 10^6. */
    uint32_t *length = realloc(h->length, (n + 1) * sizeof *length),
             *start = realloc(h->start, (n + 1) * sizeof *start);
    h->length = length ? length : h->length; /* memory that cannot be shrunk stays as it is */
    h->start = start ? start : h->start;
}

/* A table that shortens the search of a bucket: first[k] is the first bucket whose length has the leading bits k or
 * more. */
struct bl_prefix_table {
    int shift;
    uint32_t *first;
};

/* Makes the table with up to a quarter as many entries as there are lengths, so that it takes 1 byte a length, or
 * small enough for the cache. */
static int prefix_table_make(struct bl_prefix_table *t, const struct bl_histogram *h, size_t count, struct bl_error *e)
{
    size_t limit = count / 4 > TABLE_MIN ? count / 4 : 8 * count + 64 < TABLE_MIN ? 8 * count + 64 : TABLE_MIN;
    uint32_t longest = h->distinct ? h->length[h->distinct - 1] : 0;
    t->shift = 0;
    while (longest >> t->shift >= limit)
        t->shift++;
    size_t prefixes = (size_t)(longest >> t->shift) + 1;
    t->first = malloc((prefixes + 1) * sizeof *t->first);
    if (!t->first)
        return bl_error_memory(e);
    size_t bucket = 0;
    for (size_t k = 0; k <= prefixes; k++) {
        while (bucket < h->distinct && h->length[bucket] >> t->shift < k)
            bucket++;
        t->first[k] = (uint32_t)bucket;
    }
    return BL_OK;
}

/* Returns the first bucket with at least this length, which must exist. */
static size_t prefix_table_find(const struct bl_histogram *h, const struct bl_prefix_table *t, uint32_t length)
{
    size_t low = t->first[length >> t->shift], high = t->first[(length >> t->shift) + 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (h->length[middle] < length)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Writes every id to the next position of its bucket. Local copies, which the writes cannot alias, stay in
 * registers. */
/* Writes each id to the next free place of its bucket. */
static void histogram_scatter(const struct bl_histogram *h, const struct bl_prefix_table *t,
                              const struct bl_lengths *all, uint32_t *next, uint32_t *ids)
{
    /* Copies, which writes into ids and next cannot change, stay in registers. */
    const struct bl_lengths lengths = *all;
    const struct bl_histogram histogram = *h;
    const struct bl_prefix_table table = *t;
    for (size_t i = 0; i < lengths.count; i++)
        if (bl_lengths_has(&lengths, i))
            ids[next[prefix_table_find(&histogram, &table, (uint32_t)bl_lengths_units(&lengths, i))]++] =
                (uint32_t)bl_lengths_id(&lengths, i);
}

/* The ids are scattered in the order of the lengths, then shuffled within each bucket: the result depends on the seed
 * and the order of the lengths alone. */
int bl_histogram_ids(const struct bl_histogram *h, const struct bl_lengths *lengths, uint64_t seed, uint32_t **ids,
                     struct bl_error *e)
{
    struct bl_prefix_table table = {0};
    uint32_t *next = malloc((h->distinct + 1) * sizeof *next);
    *ids = malloc(((size_t)h->start[h->distinct] + 1) * sizeof **ids);
    int code = next && *ids ? prefix_table_make(&table, h, lengths->count, e) : bl_error_memory(e);
    if (!code) {
        memcpy(next, h->start, h->distinct * sizeof *next);
        histogram_scatter(h, &table, lengths, next, *ids);
        struct bl_random random;
        bl_random_seed(&random, seed, BL_STREAM_IDS);
        for (size_t b = 0; b < h->distinct; b++)
            bl_random_shuffle_u32(&random, *ids + h->start[b], bl_histogram_count(h, b));
    } else {
        free(*ids);
        *ids = NULL;
    }
    free(next);
    free(table.first);
    return code;
}

/* --- bounds ------------------------------------------------------------------------------------------------------- */

/* Rounds up without an overflow of steps + T - 1. */
int64_t bl_bound_steps(const struct bl_histogram *h, int64_t T)
{
    int64_t steps = bl_histogram_steps(h);
    return steps / T + (steps % T > 0);
}

/* Returns the bound of the lengths over T/3 alone. A block holds at most two of these, and only one over T/2. Counts
 * how many of the others can share a block with one over T/2: the longest have the least room, so they choose first,
 * among the shortest. The rest share blocks in pairs. */
static int64_t bound_by_matching(const struct bl_histogram *h, int64_t T)
{
    size_t third = bl_histogram_below(h, T / 3), half = bl_histogram_below(h, T / 2), shorter = third;
    int64_t large = h->start[h->distinct] - h->start[half], single = h->start[half] - h->start[third];
    int64_t fitting = 0; /* unmatched lengths that fit beside the present length */
    for (size_t b = h->distinct; b-- > half;) {
        int64_t count = bl_histogram_count(h, b);
        for (; shorter < half && h->length[shorter] <= T - h->length[b]; shorter++)
            fitting += bl_histogram_count(h, shorter);
        int64_t pairs = fitting < count ? fitting : count;
        fitting -= pairs;
        single -= pairs;
    }
    return large + (single + 1) / 2;
}

int64_t bl_bound_blocks(const struct bl_histogram *h, int64_t T)
{
    int64_t best = bl_bound_steps(h, T), pairs = bound_by_matching(h, T);
    size_t half = bl_histogram_below(h, T / 2);
    /* L2 for every threshold K, from T/2 down. */
    int64_t large = h->start[h->distinct] - h->start[half]; /* lengths over T/2 */
    int64_t room = 0;                                       /* beside the large lengths of at most T - K */
    int64_t small = 0;                                      /* steps of the lengths from K to T/2 */
    size_t beside = half;
    if (large > best)
        best = large;
    /* K falls from one length to the next shorter one, so both sums are updated and never recomputed. */
    for (size_t b = half; b-- > 0;) {
        int64_t K = h->length[b];
        small += K * bl_histogram_count(h, b);
        for (; beside < h->distinct && h->length[beside] <= T - K; beside++)
            room += (T - h->length[beside]) * bl_histogram_count(h, beside);
        int64_t over = small > room ? small - room : 0;
        int64_t blocks = large + over / T + (over % T > 0);
        if (blocks > best)
            best = blocks;
    }
    return pairs > best ? pairs : best;
}

int bl_bound_lengths(int64_t *bound, const struct bl_lengths *lengths, const struct bl_histogram *h, int64_t T,
                     int64_t max_sequences, struct bl_error *e)
{
    /* A block with at most max_sequences sequences gives a bound by their number, too. */
    int64_t by_number = ((int64_t)h->start[h->distinct] + max_sequences - 1) / max_sequences;
    int64_t by_units = bl_bound_blocks(h, (T + lengths->unit - 1) / lengths->unit);
    *bound = by_number > by_units ? by_number : by_units;
    /* Otherwise the last part of a block, shorter than a unit, counts for the bound on exact steps. */
    if (T % lengths->unit == 0)
        return BL_OK;
    struct bl_lengths steps = *lengths;
    struct bl_histogram of_steps;
    steps.unit = 1;
    steps.cap = T;
    BL_TRY(bl_histogram_make(&of_steps, &steps, e));
    int64_t by_steps = bl_bound_blocks(&of_steps, T);
    *bound = by_steps > *bound ? by_steps : *bound;
    bl_histogram_free(&of_steps);
    return BL_OK;
}

/* --- open blocks -------------------------------------------------------------------------------------------------- */

/* 8 KiB of groups: a change moves at most one chunk, and a list of 10^8 groups has 2 * 10^5 chunks. */
enum { CHUNK = 512 };

struct bl_open_chunk {
    size_t count; /* 1 .. CHUNK */
    struct bl_open_group group[CHUNK];
};

/* Returns the first place whose room is at least `room`, by a binary search over the chunks and another in the chunk;
 * its chunk is r->chunks if there is none. */
static struct bl_open_place open_blocks_search(const struct bl_open_blocks *r, uint32_t room)
{
    struct bl_open_place place = {0, 0};
    size_t high = r->chunks;
    while (place.chunk < high) {
        size_t middle = place.chunk + (high - place.chunk) / 2;
        const struct bl_open_chunk *c = r->chunk[middle];
        if (c->group[c->count - 1].room < room)
            place.chunk = middle + 1;
        else
            high = middle;
    }
    if (place.chunk == r->chunks)
        return place;
    const struct bl_open_chunk *c = r->chunk[place.chunk];
    for (high = c->count; place.index < high;) {
        size_t middle = place.index + (high - place.index) / 2;
        if (c->group[middle].room < room)
            place.index = middle + 1;
        else
            high = middle;
    }
    return place;
}

struct bl_open_group *bl_open_blocks_find(const struct bl_open_blocks *r, uint32_t room, struct bl_open_place *place)
{
    *place = open_blocks_search(r, room);
    return place->chunk < r->chunks ? &r->chunk[place->chunk]->group[place->index] : NULL;
}

/* Frees a chunk that becomes empty, so that searches can rely on a last group in each chunk. */
void bl_open_blocks_remove(struct bl_open_blocks *r, struct bl_open_place place)
{
    struct bl_open_chunk *c = r->chunk[place.chunk];
    c->count--;
    memmove(c->group + place.index, c->group + place.index + 1, (c->count - place.index) * sizeof *c->group);
    if (c->count > 0)
        return;
    free(c);
    r->chunks--;
    memmove(r->chunk + place.chunk, r->chunk + place.chunk + 1, (r->chunks - place.chunk) * sizeof *r->chunk);
}

/* Inserts an empty chunk at index. BL_EFAIL: out of memory; the list is then unchanged. */
static int open_blocks_add_chunk(struct bl_open_blocks *r, size_t index, struct bl_error *e)
{
    if (BL_ARRAY_RESERVE(r->chunk, r->capacity, r->chunks + 1, e))
        return BL_EFAIL;
    struct bl_open_chunk *c = malloc(sizeof *c);
    if (!c)
        return bl_error_memory(e);
    c->count = 0;
    memmove(r->chunk + index + 1, r->chunk + index, (r->chunks - index) * sizeof(*r->chunk));
    r->chunk[index] = c;
    r->chunks++;
    return BL_OK;
}

int bl_open_blocks_insert(struct bl_open_blocks *r, struct bl_open_group group, struct bl_error *e)
{
    struct bl_open_place place = open_blocks_search(r, group.room);
    if (r->chunks == 0)
        BL_TRY(open_blocks_add_chunk(r, 0, e));
    else if (place.chunk == r->chunks)
        place = (struct bl_open_place){r->chunks - 1, r->chunk[r->chunks - 1]->count};
    if (r->chunk[place.chunk]->count == CHUNK) {
        /* Moves the upper half of a full chunk to a new one after it. The last chunk moves only its last group: the
         * longest lengths come first and leave ever more room, so halving would give a list of half-empty chunks. */
        BL_TRY(open_blocks_add_chunk(r, place.chunk + 1, e));
        struct bl_open_chunk *low = r->chunk[place.chunk], *high = r->chunk[place.chunk + 1];
        size_t keep = place.chunk + 2 == r->chunks ? CHUNK - 1 : CHUNK / 2;
        high->count = CHUNK - keep;
        memcpy(high->group, low->group + keep, high->count * sizeof *high->group);
        low->count = keep;
        if (place.index > keep) {
            place.chunk++;
            place.index -= keep;
        }
    }
    struct bl_open_chunk *c = r->chunk[place.chunk];
    memmove(c->group + place.index + 1, c->group + place.index, (c->count - place.index) * sizeof *c->group);
    c->group[place.index] = group;
    c->count++;
    return BL_OK;
}

void bl_open_blocks_free(struct bl_open_blocks *r)
{
    for (size_t i = 0; i < r->chunks; i++)
        free(r->chunk[i]);
    free(r->chunk);
    *r = (struct bl_open_blocks){0};
}
