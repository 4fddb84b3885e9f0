/* Short ranges of lengths are counted in a table; wide ranges are sorted in place as 32-bit keys. Both take linear
 * time. From a length to its bucket: a table over the leading bits, then a binary search. */
#include "plan/histogram.h"

#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "plan/random.h"

enum { TABLE_MIN = 1 << 16 }; /* entries that a table over the leading bits may always have */

static int64_t lengths_longest(const struct bl_lengths *all)
{
    const struct bl_lengths lengths = *all;
    int64_t longest = 0;
    for (size_t i = 0; i < lengths.count; i++)
        if (bl_lengths_has(&lengths, i) && bl_lengths_units(&lengths, i) > longest)
            longest = bl_lengths_units(&lengths, i);
    return longest;
}

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

static int histogram_count_sorted(struct bl_histogram *h, const struct bl_lengths *lengths, struct bl_error *e)
{
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

int bl_histogram_make(struct bl_histogram *h, const struct bl_lengths *lengths, struct bl_error *e)
{
    *h = (struct bl_histogram){0};
    if (lengths->cap < TABLE_MIN)
        return histogram_count_table(h, lengths, lengths->cap, e);
    int64_t longest = lengths_longest(lengths);
    if ((uint64_t)longest < TABLE_MIN / 64 || (uint64_t)longest / 2 < lengths->count)
        return histogram_count_table(h, lengths, longest, e);
    return histogram_count_sorted(h, lengths, e);
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
    uint32_t longest = h->length[h->distinct - 1], shift = 0;
    while (longest >> shift >= distinct)
        shift++;
    size_t n = 0;
    for (size_t b = 0; b < h->distinct; b++) {
        if (b + 1 < h->distinct && (h->length[b] - 1) >> shift == (h->length[b + 1] - 1) >> shift)
            continue; /* the longest of a run of equal lengths stands for all */
        h->length[n] = h->length[b];
        h->start[++n] = h->start[b + 1];
    }
    h->distinct = n;
    uint32_t *length = realloc(h->length, (n + 1) * sizeof *length),
             *start = realloc(h->start, (n + 1) * sizeof *start);
    h->length = length ? length : h->length; /* memory that cannot be shrunk stays as it is */
    h->start = start ? start : h->start;
}

/* first[k]: the first bucket whose length has leading bits k or more. */
struct bl_prefix_table {
    int shift;
    uint32_t *first;
};

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
static void histogram_scatter(const struct bl_histogram *h, const struct bl_prefix_table *t,
                              const struct bl_lengths *all, uint32_t *next, uint32_t *ids)
{
    const struct bl_lengths lengths = *all;
    const struct bl_histogram histogram = *h;
    const struct bl_prefix_table table = *t;
    for (size_t i = 0; i < lengths.count; i++)
        if (bl_lengths_has(&lengths, i))
            ids[next[prefix_table_find(&histogram, &table, (uint32_t)bl_lengths_units(&lengths, i))]++] =
                (uint32_t)bl_lengths_id(&lengths, i);
}

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
