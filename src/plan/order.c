/* While blocks are being ordered, an entry of block_ptr is one block: its first piece and its size, 32 bits each. So
 * the table can be shuffled or sorted alone, and each entry is overwritten after its block is copied. */
#include "plan/order.h"

#include <stdlib.h>
#include <string.h>

#include "plan/random.h"

__extension__ typedef unsigned __int128 u128;

static uint64_t draft_block_entry(const struct bl_draft *d, size_t b)
{
    return (uint64_t)d->first[b] << 32 | bl_draft_size(d, b);
}

/* Returns the sum of the squared lengths: below 2^62, since the lengths of a block sum to less than 2^31. */
static uint64_t block_cost(const uint32_t *sequence, const int64_t *length, uint64_t block)
{
    uint64_t cost = 0;
    for (uint64_t p = block >> 32, end = p + (block & UINT32_MAX); p < end; p++)
        cost += (uint64_t)length[sequence[p]] * (uint64_t)length[sequence[p]];
    return cost;
}

/* Sums the most expensive rank of each step, divided by the sum of the mean ranks: 1 is level. */
static double order_imbalance(const uint32_t *sequence, const int64_t *block, size_t blocks, const struct bl_order *o)
{
    double highest = 0, mean = 0;
    size_t step = o->world_size * o->batch_size;
    for (size_t first = 0; first + step <= blocks; first += step) {
        u128 dearest = 0, sum = 0;
        for (size_t r = 0; r < o->world_size; r++) {
            u128 cost = 0;
            for (size_t i = r; i < step; i += o->world_size)
                cost += block_cost(sequence, o->length, (uint64_t)block[first + i]);
            sum += cost;
            dearest = cost > dearest ? cost : dearest;
        }
        highest += (double)dearest;
        mean += (double)sum / (double)o->world_size;
    }
    return mean > 0 ? highest / mean : 1;
}

struct costly {
    uint64_t cost;
    int64_t block;
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
static void order_deal_step(const struct costly *step, int64_t *to, const struct bl_order *o, u128 *cost, size_t *taken)
{
    memset(cost, 0, o->world_size * sizeof *cost);
    memset(taken, 0, o->world_size * sizeof *taken);
    for (size_t i = 0; i < o->world_size * o->batch_size; i++) {
        size_t rank = SIZE_MAX;
        for (size_t r = 0; r < o->world_size; r++)
            if (taken[r] < o->batch_size && (rank == SIZE_MAX || cost[r] < cost[rank]))
                rank = r;
        to[taken[rank]++ * o->world_size + rank] = step[i].block;
        cost[rank] += step[i].cost;
    }
}

/* Groups blocks of similar cost into steps; the steps follow the order of a shuffled table. Only `full` of the blocks
 * are not empty: a step with empty blocks stays last, with the empty blocks at its end. */
static int order_level(int64_t *block, size_t blocks, size_t full, const uint32_t *sequence, const struct bl_order *o,
                       struct bl_error *e)
{
    size_t step = o->world_size * o->batch_size, steps = full / step;
    struct costly *sorted = malloc((blocks + 1) * sizeof *sorted);
    int64_t *turn = malloc((steps + 1) * sizeof *turn);
    u128 *cost = malloc(o->world_size * sizeof *cost);
    size_t *taken = malloc(o->world_size * sizeof *taken);
    int code = sorted && turn && cost && taken ? 0 : bl_error_memory(e);
    if (!code) {
        struct bl_random random;
        bl_random_seed(&random, o->seed, BL_STREAM_STEP);
        for (size_t b = 0; b < blocks; b++)
            sorted[b] = (struct costly){block_cost(sequence, o->length, (uint64_t)block[b]), block[b], b};
        qsort(sorted, blocks, sizeof *sorted, costly_compare);
        for (size_t s = 0; s < steps; s++)
            turn[s] = (int64_t)s;
        bl_random_shuffle_i64(&random, turn, steps);
        for (size_t s = 0; s < steps; s++)
            order_deal_step(sorted + s * step, block + (size_t)turn[s] * step, o, cost, taken);
        for (size_t b = steps * step; b < blocks; b++)
            block[b] = sorted[b].block;
    }
    free(sorted);
    free(turn);
    free(cost);
    free(taken);
    return code;
}

/* Copies the blocks from the draft in the order of the table. */
static void plan_copy_blocks(struct bl_plan *plan, const uint32_t *from)
{
    size_t next = 0;
    for (size_t b = 0; b < plan->blocks; b++) {
        uint64_t block = (uint64_t)plan->block_ptr[b];
        size_t size = block & UINT32_MAX;
        memcpy(plan->sequence + next, from + (block >> 32), size * sizeof *from);
        plan->block_ptr[b] = (int64_t)next;
        next += size;
        if ((int64_t)size > plan->max_sequences)
            plan->max_sequences = (int64_t)size;
    }
    plan->block_ptr[plan->blocks] = (int64_t)next;
}

static int order_blocks(struct bl_plan *plan, const struct bl_draft *d, const struct bl_order *o, struct bl_error *e)
{
    size_t full = plan->blocks;
    struct bl_random random;
    bl_random_seed(&random, o->seed, BL_STREAM_BLOCK);
    while (full > 0 && (plan->block_ptr[full - 1] & UINT32_MAX) == 0)
        full--;
    if (o->kind != BL_ORDER_AS_DRAFTED && !d->is_shuffled)
        bl_random_shuffle_i64(&random, plan->block_ptr, full);
    if (o->world_size > 1)
        plan->imbalance_before = order_imbalance(d->sequence, plan->block_ptr, plan->blocks, o);
    int code = o->kind == BL_ORDER_LEVEL ? order_level(plan->block_ptr, plan->blocks, full, d->sequence, o, e) : 0;
    if (o->world_size > 1)
        plan->imbalance = order_imbalance(d->sequence, plan->block_ptr, plan->blocks, o);
    return code;
}

/* Takes over the draft's table, with the blocks in its order. */
static void plan_take_blocks(struct bl_plan *plan, struct bl_draft *d)
{
    for (size_t b = 0; b < plan->blocks; b++) {
        uint64_t block = (uint64_t)plan->block_ptr[b];
        plan->block_ptr[b] = (int64_t)(block >> 32);
        if ((int64_t)(block & UINT32_MAX) > plan->max_sequences)
            plan->max_sequences = (int64_t)(block & UINT32_MAX);
    }
    plan->block_ptr[plan->blocks] = (int64_t)d->pieces;
    plan->sequence = d->sequence;
    d->sequence = NULL;
}

int bl_order_apply(struct bl_plan *plan, struct bl_draft *d, const struct bl_order *order, struct bl_error *e)
{
    int is_in_order = order->kind == BL_ORDER_AS_DRAFTED || (order->kind == BL_ORDER_SHUFFLED && d->is_shuffled);
    plan->blocks = d->blocks;
    plan->pieces = d->pieces;
    plan->max_sequences = 0;
    plan->block_ptr = malloc((d->blocks + 1) * sizeof *plan->block_ptr);
    if (!plan->block_ptr)
        return bl_error_memory(e);
    for (size_t b = 0; b < d->blocks; b++)
        plan->block_ptr[b] = (int64_t)draft_block_entry(d, b);
    free(d->first);
    d->first = NULL;
    int code = order_blocks(plan, d, order, e);
    if (code)
        return code;
    if (is_in_order) {
        plan_take_blocks(plan, d);
        return BL_OK;
    }
    plan->sequence = malloc((d->pieces + 1) * sizeof *plan->sequence);
    if (!plan->sequence)
        return bl_error_memory(e);
    plan_copy_blocks(plan, d->sequence);
    return BL_OK;
}
