/* Orders the blocks of a draft: adapts their number to the ranks, and makes the tables of a plan of them. Which blocks
 * the ranks work on at the same time is decided in balance.c. */
#include "plan/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <inttypes.h>

#include "base/sort.h"
#include "plan/random.h"
#include "base/buffer.h"

/* --- ranks -------------------------------------------------------------------------------------------------------- */

/* Returns the smallest multiple that is at least both numbers. */
static size_t blocks_round_up(size_t blocks, size_t multiple, size_t min_blocks)
{
    size_t wanted = blocks > min_blocks ? blocks : min_blocks;
    return (wanted + multiple - 1) / multiple * multiple;
}

/* With multiple 4, fewest 9 and spare 0.5: 13 blocks are spared, rounded down to 12; the ranks need 12, so 12 are
 * wanted. */
size_t bl_wanted_blocks(const struct bl_wanted *w, size_t fewest, size_t pieces)
{
    /* The spare is rounded down to a multiple, and what the ranks need is rounded up. With fewer pieces than blocks,
     * some blocks would be empty, so then the fewest are kept. */
    size_t spared = (size_t)((double)fewest * (1 + w->spare)) / w->multiple * w->multiple;
    size_t least = blocks_round_up(fewest, w->multiple, w->least), blocks = spared > least ? spared : least;
    return blocks <= pieces ? blocks : fewest;
}

/* Returns the most pieces of a block, of the blocks from `first` on. */
static size_t draft_max_size(const struct bl_draft *d, size_t first)
{
    size_t size = 0;
    for (size_t b = first; b < d->blocks; b++)
        if (bl_draft_size(d, b) > size)
            size = bl_draft_size(d, b);
    return size;
}

/* Splits up to `more` blocks of `size` pieces into halves, the last blocks first. The table d->first grows in place: it
 * is written from its new end backwards, and the write position never passes the read position. */
static void draft_split_blocks(struct bl_draft *d, size_t begin, size_t size, size_t more)
{
    size_t alike = 0;
    for (size_t b = begin; b < d->blocks; b++)
        alike += bl_draft_size(d, b) == size;
    size_t grow = alike < more ? alike : more, to = d->blocks + grow;
    uint32_t end = d->first[d->blocks];
    d->first[to] = end;
    for (size_t b = d->blocks; b-- > begin;) {
        uint32_t first = d->first[b];
        if (end - first == size && to - b > 1) {
            d->first[--to] = first + (end - first + 1) / 2;
        }
        d->first[--to] = end = first;
    }
    d->blocks += grow;
    d->is_shuffled = 0; /* the halves of a block are neighbours now */
}

int bl_ranks_split(struct bl_draft *d, size_t first, size_t blocks, struct bl_error *e)
{
    if (blocks <= d->blocks)
        return BL_OK;
    int code = bl_draft_reserve(d, blocks - d->blocks, e);
    while (!code && d->blocks < blocks)
        draft_split_blocks(d, first, draft_max_size(d, first), blocks - d->blocks);
    return code;
}

int bl_ranks_spread(struct bl_draft *d, size_t multiple, size_t min_blocks, struct bl_error *e)
{
    size_t wanted = blocks_round_up(d->blocks, multiple, min_blocks);
    if (wanted > d->pieces)
        return bl_error_set(e, BL_EUSAGE, "%zu sequences cannot be spread over %zu blocks: --remainder pad or drop",
                            d->pieces, wanted);
    return bl_ranks_split(d, 0, wanted, e);
}

/* An empty block is a block that is closed without pieces. */
int bl_ranks_pad(struct bl_draft *d, size_t multiple, size_t min_blocks, struct bl_error *e)
{
    size_t wanted = blocks_round_up(d->blocks, multiple, min_blocks);
    int code = BL_OK;
    while (!code && d->blocks < wanted)
        code = bl_draft_close(d, 0, e);
    return code;
}

/* Returns the steps of the pieces begin .. end - 1 of the draft. */
static int64_t draft_sum_steps(const struct bl_draft *d, const int64_t *length, size_t begin, size_t end)
{
    int64_t steps = 0;
    for (size_t p = begin; p < end; p++)
        steps += length[d->sequence[p]];
    return steps;
}

/* Removes the blocks with fewer steps than `limit`, and the first `ties` blocks of exactly `limit` steps. The pieces
 * that remain move to the front. */
static void draft_remove_blocks(struct bl_draft *d, const int64_t *length, int64_t limit, size_t ties)
{
    size_t blocks = 0, to = 0, begin = d->first[0];
    for (size_t b = 0; b < d->blocks; b++) {
        size_t end = d->first[b + 1], size = end - begin;
        int64_t steps = draft_sum_steps(d, length, begin, end);
        if (steps < limit || (steps == limit && ties > 0)) {
            ties -= steps == limit;
        } else {
            memmove(d->sequence + to, d->sequence + begin, size * sizeof *d->sequence);
            to += size;
            d->first[++blocks] = (uint32_t)to;
        }
        begin = end;
    }
    d->blocks = blocks;
    d->pieces = to;
}

int bl_ranks_drop(struct bl_draft *d, size_t multiple, const int64_t *length, struct bl_error *e)
{
    size_t excess = d->blocks % multiple;
    if (excess == d->blocks)
        return bl_error_set(
            e, BL_EUSAGE,
            "%zu blocks are fewer than the %zu that all ranks read in one step: --remainder drop leaves none",
            d->blocks, multiple);
    if (excess == 0)
        return BL_OK;
    uint64_t *steps = malloc(d->blocks * sizeof *steps);
    if (!steps)
        return bl_error_memory(e);
    for (size_t b = 0; b < d->blocks; b++)
        steps[b] = (uint64_t)draft_sum_steps(d, length, d->first[b], d->first[b + 1]);
    bl_sort_u64(steps, d->blocks, 0);
    /* The excess-th smallest number of steps is the limit; `lower` blocks lie below it, and the others that must go are
     * ties. */
    size_t lower = 0;
    while (steps[lower] < steps[excess - 1])
        lower++;
    int64_t limit = (int64_t)steps[excess - 1];
    free(steps);
    draft_remove_blocks(d, length, limit, excess - lower);
    return BL_OK;
}

/* --- order -------------------------------------------------------------------------------------------------------- */

/* Deals the blocks to the ranks if o->kind is BL_ORDER_LEVEL, then measures the balance of their order. full: blocks
 * that are not empty, which come first. BL_EFAIL: out of memory. */
static int order_balance(struct bl_plan *plan, const struct bl_draft *d, const struct bl_order *o, size_t full,
                         struct bl_error *e)
{
    struct bl_costed *block = malloc((plan->blocks + 1) * sizeof *block);
    struct bl_block_costs costs = {0};
    double lost[BL_COST_POINTS];
    int code =
        block ? bl_block_costs_set(&costs, block, plan->block_ptr, plan->blocks, d, o->cost, e) : bl_error_memory(e);
    if (!code && o->kind == BL_ORDER_LEVEL)
        code = bl_balance_deal(block, plan->blocks, full, &costs, &o->ranks, o->seed, e);
    if (code)
        goto out;
    for (size_t b = 0; b < plan->blocks; b++) {
        plan->block_ptr[b] = block[b].entry;
        int64_t cost = 0; /* the dealer changes those of struct bl_costed */
        for (int p = 0; p < costs.points; p++)
            cost += bl_block_cost(&costs, &block[b], p);
        block[b].cost = cost;
    }
    if (o->ranks.world_size == 1)
        goto out;
    plan->balance.lost = bl_balance_lost(&costs, block, plan->blocks, &o->ranks, lost);
    for (int p = 0; p < costs.points; p++)
        plan->balance.point[p].lost = lost[p];
    code = bl_mix_measure(&plan->balance, block, plan->blocks, d->sequence, o->cost, &o->ranks, o->seed, e);
out:
    bl_block_costs_free(&costs);
    free(block);
    return code;
}

/* Puts the blocks into random order, unless the order is kept or the draft is shuffled already. Empty blocks stay at
 * the end. Returns the number of the other blocks. */
static size_t order_shuffle(int64_t *entry, size_t blocks, const struct bl_draft *d, const struct bl_order *o)
{
    size_t full = blocks;
    while (full > 0 && bl_entry_size(entry[full - 1]) == 0)
        full--;
    if (o->kind != BL_ORDER_AS_DRAFTED && !d->is_shuffled) {
        struct bl_random random;
        bl_random_seed(&random, o->seed, BL_STREAM_ORDER);
        bl_random_shuffle_i64(&random, entry, full);
    }
    return full;
}

/* It orders a copy of the entries, so that the draft can still be levelled. */
int bl_order_lost(struct bl_plan_balance *balance, const struct bl_draft *d, const struct bl_order *o,
                  struct bl_error *e)
{
    int64_t *entry = malloc((d->blocks + 1) * sizeof *entry);
    struct bl_costed *block = malloc((d->blocks + 1) * sizeof *block);
    struct bl_block_costs costs = {0};
    double lost[BL_COST_POINTS];
    int code = entry && block ? BL_OK : bl_error_memory(e);
    if (code)
        goto out;
    for (size_t b = 0; b < d->blocks; b++)
        entry[b] = bl_draft_entry(d, b);
    order_shuffle(entry, d->blocks, d, o);
    code = bl_block_costs_set(&costs, block, entry, d->blocks, d, o->cost, e);
    if (code)
        goto out;
    balance->lost_before = bl_balance_lost(&costs, block, d->blocks, &o->ranks, lost);
    for (int p = 0; p < costs.points; p++)
        balance->point[p].lost_before = lost[p];
out:
    bl_block_costs_free(&costs);
    free(entry);
    free(block);
    return code;
}

/* Replaces the entries of plan->block_ptr by the first piece of each block, and sets max_sequences. copy: receives the
 * pieces of `from` in the order of the blocks; NULL: the pieces are in that order already. */
static void order_place_blocks(struct bl_plan *plan, uint32_t *copy, const uint32_t *from)
{
    size_t next = 0;
    for (size_t b = 0; b < plan->blocks; b++) {
        int64_t entry = plan->block_ptr[b];
        size_t size = bl_entry_size(entry);
        if (copy)
            memcpy(copy + next, from + bl_entry_first(entry), size * sizeof *copy);
        plan->block_ptr[b] = (int64_t)next;
        plan->max_sequences = (int64_t)size > plan->max_sequences ? (int64_t)size : plan->max_sequences;
        next += size;
    }
    plan->block_ptr[plan->blocks] = (int64_t)next;
}

int bl_order_apply(struct bl_plan *plan, struct bl_draft *d, const struct bl_order *order, struct bl_error *e)
{
    /* A draft that is shuffled by its fill has its blocks in random order already. */
    bool is_in_order = order->kind == BL_ORDER_AS_DRAFTED || (order->kind == BL_ORDER_SHUFFLED && d->is_shuffled);
    plan->blocks = d->blocks;
    plan->pieces = d->pieces;
    plan->max_sequences = 0;
    plan->block_ptr = malloc((d->blocks + 1) * sizeof *plan->block_ptr);
    if (!plan->block_ptr)
        return bl_error_memory(e);
    for (size_t b = 0; b < d->blocks; b++)
        plan->block_ptr[b] = bl_draft_entry(d, b);
    /* The entries replace d->first, so its memory is freed before more is needed. */
    free(d->first);
    d->first = NULL;
    size_t full = order_shuffle(plan->block_ptr, plan->blocks, d, order);
    BL_TRY(order->ranks.world_size > 1 || order->kind == BL_ORDER_LEVEL ? order_balance(plan, d, order, full, e)
                                                                        : BL_OK);
    if (is_in_order) {
        order_place_blocks(plan, NULL, NULL);
        plan->sequence = d->sequence;
        d->sequence = NULL;
        return BL_OK;
    }
    plan->sequence = malloc((d->pieces + 1) * sizeof *plan->sequence);
    if (!plan->sequence)
        return bl_error_memory(e);
    order_place_blocks(plan, plan->sequence, d->sequence);
    return BL_OK;
}
