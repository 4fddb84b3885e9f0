#include "plan/knapsack.h"

#include <stdlib.h>
#include <string.h>

enum { RUN = 8 };

/* Drops a limit that even the shortest length cannot exceed. */
static uint32_t knapsack_limit(const struct bl_histogram *h, uint32_t T, uint32_t sequences)
{
    return sequences < T / h->length[0] ? sequences : 0;
}

/* How often a block may hold a bucket. */
static uint32_t knapsack_copies(const struct bl_histogram *h, size_t b, uint32_t T, uint32_t limit)
{
    uint32_t copies = T / h->length[b], count = bl_histogram_count(h, b);
    copies = limit && limit < copies ? limit : copies;
    return count < copies ? count : copies;
}

int64_t bl_knapsack_work(const struct bl_histogram *h, uint32_t T, uint32_t sequences, bool is_bounded)
{
    uint32_t limit = knapsack_limit(h, T, sequences);
    int64_t layers = limit ? limit : 1, rows = (int64_t)h->distinct;
    for (size_t b = 0; is_bounded && b < h->distinct; b++)
        rows += knapsack_copies(h, b, T, limit);
    return rows * T > INT64_MAX / 64 / layers ? INT64_MAX / 64 : rows * T * layers / 2;
}

int64_t bl_knapsack_entries(const struct bl_histogram *h, uint32_t T, uint32_t sequences, bool is_bounded)
{
    int64_t row = (int64_t)T + 1, tables = is_bounded ? (int64_t)h->distinct + 1 : 1;
    int64_t layers = (int64_t)knapsack_limit(h, T, sequences) + 1;
    return row * layers > INT64_MAX / tables ? INT64_MAX : row * layers * tables;
}

int bl_knapsack_make(struct bl_knapsack *k, const struct bl_histogram *h, uint32_t T, uint32_t sequences,
                     bool is_bounded, struct bl_error *e)
{
    size_t entries = (size_t)bl_knapsack_entries(h, T, sequences, is_bounded);
    *k = (struct bl_knapsack){.h = h, .T = T, .sequences = knapsack_limit(h, T, sequences), .is_bounded = is_bounded};
    k->price = malloc((h->distinct + 1) * sizeof *k->price);
    k->worth = malloc(entries * sizeof *k->worth);
    if (k->price && k->worth)
        return BL_OK;
    bl_knapsack_free(k);
    return bl_error_memory(e);
}

void bl_knapsack_free(struct bl_knapsack *k)
{
    free(k->price);
    free(k->worth);
    *k = (struct bl_knapsack){0};
}

/* to[t] = max(to[t], from[t] + price). Compilers vectorise runs of a constant size, even where they are not asked to
 * take pains. */
static void row_raise(double *restrict to, const double *restrict from, double price, size_t n)
{
    size_t t = 0;
    for (; t + RUN <= n; t += RUN)
        for (size_t i = t; i < t + RUN; i++)
            to[i] = to[i] > from[i] + price ? to[i] : from[i] + price;
    for (; t < n; t++)
        to[t] = to[t] > from[t] + price ? to[t] : from[t] + price;
}

/* Without a limit a length may repeat: each run of its size reads the updated run before it. */
static double knapsack_solve_unlimited(struct bl_knapsack *k)
{
    memset(k->worth, 0, ((size_t)k->T + 1) * sizeof *k->worth);
    for (size_t b = 0; b < k->h->distinct; b++) {
        size_t length = k->h->length[b];
        if (k->price[b] == 0)
            continue;
        for (size_t t = length; t <= k->T; t += length) {
            size_t n = k->T + 1 - t < length ? k->T + 1 - t : length;
            row_raise(k->worth + t, k->worth + t - length, k->price[b], n);
        }
    }
    return k->worth[k->T];
}

static double knapsack_solve_limited(struct bl_knapsack *k)
{
    size_t row = (size_t)k->T + 1;
    memset(k->worth, 0, row * sizeof *k->worth);
    for (uint32_t n = 1; n <= k->sequences; n++) {
        double *to = k->worth + n * row;
        memcpy(to, to - row, row * sizeof *to);
        for (size_t b = 0; b < k->h->distinct; b++)
            if (k->price[b] > 0)
                row_raise(to + k->h->length[b], to - row, k->price[b], row - k->h->length[b]);
    }
    return k->worth[k->sequences * row + k->T];
}

/* Returns the worths by room of lengths below bucket `end`, for `left` more sequences. */
static double *knapsack_row(const struct bl_knapsack *k, size_t end, uint32_t left)
{
    size_t row = (size_t)k->T + 1, layers = (size_t)k->sequences + 1;
    return k->worth + ((k->is_bounded ? end * layers : 0) + (k->sequences ? left : 0)) * row;
}

/* One table after the other, each from the one before: 0, 1, 2, ... of the next length. */
static double knapsack_solve_bounded(struct bl_knapsack *k)
{
    size_t row = (size_t)k->T + 1, layers = (size_t)k->sequences + 1;
    memset(k->worth, 0, layers * row * sizeof *k->worth);
    for (size_t b = 0; b < k->h->distinct; b++) {
        size_t length = k->h->length[b];
        uint32_t copies = k->price[b] > 0 ? knapsack_copies(k->h, b, k->T, k->sequences) : 0;
        memcpy(knapsack_row(k, b + 1, 0), knapsack_row(k, b, 0), layers * row * sizeof *k->worth);
        for (uint32_t i = 1; i <= copies; i++)
            for (uint32_t n = k->sequences ? i : 0; n <= k->sequences; n++)
                row_raise(knapsack_row(k, b + 1, n) + i * length, knapsack_row(k, b, k->sequences ? n - i : 0),
                          i * k->price[b], row - i * length);
    }
    return knapsack_row(k, k->h->distinct, k->sequences)[k->T];
}

double bl_knapsack_solve(struct bl_knapsack *k)
{
    if (k->is_bounded)
        return knapsack_solve_bounded(k);
    return k->sequences ? knapsack_solve_limited(k) : knapsack_solve_unlimited(k);
}

double bl_knapsack_with(const struct bl_knapsack *k, uint32_t bucket)
{
    return k->price[bucket] + knapsack_row(k, bucket, k->sequences ? k->sequences - 1 : 0)[k->T - k->h->length[bucket]];
}

/* Returns the bucket that gave a room its worth. */
static size_t knapsack_last_bucket(const struct bl_knapsack *k, const double *worth, const double *before,
                                   uint32_t room)
{
    for (size_t b = bl_histogram_below(k->h, room); b-- > 0;)
        if (k->price[b] > 0 && before[room - k->h->length[b]] + k->price[b] == worth[room])
            return b;
    return SIZE_MAX;
}

/* Adds lengths below bucket `end` to the n of a block. */
static size_t knapsack_trace_bounded(const struct bl_knapsack *k, size_t end, uint32_t room, uint32_t left,
                                     uint32_t *item, size_t n, size_t capacity)
{
    for (; end > 0; end--) {
        double worth = knapsack_row(k, end, left)[room], price = k->price[end - 1];
        uint32_t length = k->h->length[end - 1], i = 0;
        while (knapsack_row(k, end - 1, left)[room] + i * price != worth) {
            i++;
            room -= length;
            left -= left > 0;
            if (n == capacity)
                return 0;
            item[n++] = (uint32_t)(end - 1);
        }
    }
    return n;
}

static size_t knapsack_trace(const struct bl_knapsack *k, uint32_t room, uint32_t left, uint32_t *item, size_t n,
                             size_t capacity)
{
    for (;;) {
        const double *worth = knapsack_row(k, 0, left), *before = knapsack_row(k, 0, left ? left - 1 : 0);
        if (worth[room] == 0 || (k->sequences && left == 0))
            return n;
        size_t b = knapsack_last_bucket(k, worth, before, room);
        if (b == SIZE_MAX) { /* equal to the worth with fewer sequences, or with less room */
            if (k->sequences && before[room] == worth[room])
                left--;
            else
                room--;
            continue;
        }
        if (n == capacity)
            return 0;
        item[n++] = (uint32_t)b;
        room -= k->h->length[b];
        left -= left > 0;
    }
}

size_t bl_knapsack_block(const struct bl_knapsack *k, uint32_t bucket, uint32_t *item, size_t capacity)
{
    uint32_t room = k->T, left = k->sequences;
    size_t n = 0;
    if (bucket != BL_KNAPSACK_ANY) {
        item[n++] = bucket;
        room -= k->h->length[bucket];
        left -= left > 0;
    }
    if (k->is_bounded)
        return knapsack_trace_bounded(k, bucket != BL_KNAPSACK_ANY ? bucket : k->h->distinct, room, left, item, n,
                                      capacity);
    return knapsack_trace(k, room, left, item, n, capacity);
}
