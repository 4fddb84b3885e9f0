#include "plan/knapsack.h"

#include <stdlib.h>
#include <string.h>

enum { RUN = 8 };

/* Drops a limit that even the shortest length cannot exceed. */
static uint32_t knapsack_limit(const struct bl_histogram *h, uint32_t T, uint32_t sequences)
{
    return sequences < T / h->length[0] ? sequences : 0;
}

int64_t bl_knapsack_work(const struct bl_histogram *h, uint32_t T, uint32_t sequences)
{
    uint32_t limit = knapsack_limit(h, T, sequences);
    int64_t layers = limit ? limit : 1, work = (int64_t)h->distinct * T;
    return work > INT64_MAX / 64 / layers ? INT64_MAX / 64 : work * layers / 2;
}

int bl_knapsack_make(struct bl_knapsack *k, const struct bl_histogram *h, uint32_t T, uint32_t sequences,
                     struct bl_error *e)
{
    *k = (struct bl_knapsack){.h = h, .T = T, .sequences = knapsack_limit(h, T, sequences)};
    k->price = malloc((h->distinct + 1) * sizeof *k->price);
    k->worth = malloc(((size_t)T + 1) * (k->sequences + 1) * sizeof *k->worth);
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

double bl_knapsack_solve(struct bl_knapsack *k)
{
    return k->sequences ? knapsack_solve_limited(k) : knapsack_solve_unlimited(k);
}

/* Returns the worths by room for `left` more sequences. */
static const double *knapsack_row(const struct bl_knapsack *k, uint32_t left)
{
    return k->worth + (k->sequences ? (size_t)left * ((size_t)k->T + 1) : 0);
}

double bl_knapsack_with(const struct bl_knapsack *k, uint32_t bucket)
{
    return k->price[bucket] + knapsack_row(k, k->sequences ? k->sequences - 1 : 0)[k->T - k->h->length[bucket]];
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

size_t bl_knapsack_block(const struct bl_knapsack *k, uint32_t bucket, uint32_t *item, size_t capacity)
{
    uint32_t room = k->T, left = k->sequences;
    size_t n = 0;
    if (bucket != BL_KNAPSACK_ANY) {
        item[n++] = bucket;
        room -= k->h->length[bucket];
        left -= left > 0;
    }
    for (;;) {
        const double *worth = knapsack_row(k, left), *before = knapsack_row(k, left ? left - 1 : 0);
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
