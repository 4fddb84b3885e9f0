#include "plan/balance.h"

#include <stdlib.h>
#include <string.h>

#include "plan/random.h"

__extension__ typedef unsigned __int128 u128;

/* Returns the sum of the squared lengths: below 2^62, since the lengths of a block sum to less than 2^31. */
static uint64_t balance_cost(const struct bl_balance_input *b, int64_t entry)
{
    uint64_t cost = 0;
    const uint32_t *sequence = b->sequence + bl_entry_first(entry);
    for (size_t p = 0; p < bl_entry_size(entry); p++)
        cost += (uint64_t)b->length[sequence[p]] * (uint64_t)b->length[sequence[p]];
    return cost;
}

double bl_balance_measure(const struct bl_balance_input *b, const int64_t *entry, size_t blocks)
{
    double highest = 0, mean = 0;
    size_t world_size = b->ranks.world_size, step = world_size * b->ranks.batch_size;
    for (size_t first = 0; first + step <= blocks; first += step) {
        u128 dearest = 0, sum = 0;
        for (size_t r = 0; r < world_size; r++) {
            u128 cost = 0;
            for (size_t i = r; i < step; i += world_size)
                cost += balance_cost(b, entry[first + i]);
            sum += cost;
            dearest = cost > dearest ? cost : dearest;
        }
        highest += (double)dearest;
        mean += (double)sum / (double)world_size;
    }
    return mean > 0 ? highest / mean : 1;
}

struct costly {
    uint64_t cost;
    int64_t entry;
    size_t place; /* position in the shuffled table, to break ties */
};

static int costly_compare(const void *a, const void *b)
{
    const struct costly *x = a, *y = b;
    if (x->cost != y->cost)
        return x->cost > y->cost ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* Deals the blocks of one step, the most expensive first: each to the rank with the lowest sum that still has a free
 * place. */
static void balance_deal_step(const struct costly *step, int64_t *to, const struct bl_ranks *ranks, u128 *cost,
                              size_t *taken)
{
    memset(cost, 0, ranks->world_size * sizeof *cost);
    memset(taken, 0, ranks->world_size * sizeof *taken);
    for (size_t i = 0; i < ranks->world_size * ranks->batch_size; i++) {
        size_t rank = SIZE_MAX;
        for (size_t r = 0; r < ranks->world_size; r++)
            if (taken[r] < ranks->batch_size && (rank == SIZE_MAX || cost[r] < cost[rank]))
                rank = r;
        to[taken[rank]++ * ranks->world_size + rank] = step[i].entry;
        cost[rank] += step[i].cost;
    }
}

int bl_balance_level(const struct bl_balance_input *b, int64_t *entry, size_t blocks, size_t full, uint64_t seed,
                     struct bl_error *e)
{
    size_t step = b->ranks.world_size * b->ranks.batch_size, steps = full / step;
    struct costly *sorted = malloc((blocks + 1) * sizeof *sorted);
    int64_t *turn = malloc((steps + 1) * sizeof *turn);
    u128 *cost = malloc(b->ranks.world_size * sizeof *cost);
    size_t *taken = malloc(b->ranks.world_size * sizeof *taken);
    struct bl_random random;
    int code = sorted && turn && cost && taken ? BL_OK : bl_error_memory(e);
    if (code)
        goto out;
    bl_random_seed(&random, seed, BL_STREAM_STEP);
    for (size_t i = 0; i < blocks; i++)
        sorted[i] = (struct costly){balance_cost(b, entry[i]), entry[i], i};
    qsort(sorted, blocks, sizeof *sorted, costly_compare);
    for (size_t s = 0; s < steps; s++)
        turn[s] = (int64_t)s;
    bl_random_shuffle_i64(&random, turn, steps);
    for (size_t s = 0; s < steps; s++)
        balance_deal_step(sorted + s * step, entry + (size_t)turn[s] * step, &b->ranks, cost, taken);
    for (size_t i = steps * step; i < blocks; i++)
        entry[i] = sorted[i].entry;
out:
    free(sorted);
    free(turn);
    free(cost);
    free(taken);
    return code;
}
