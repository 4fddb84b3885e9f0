/* While blocks are being ordered, block_ptr has an entry for each block (bl_draft_entry). So the table can be shuffled
 * or sorted alone, and each entry is overwritten after its block is copied. */
#include "plan/order.h"

#include <stdlib.h>
#include <string.h>

#include "plan/balance.h"
#include "plan/mix.h"
#include "plan/random.h"

static void order_set_costs(struct bl_costed *block, const int64_t *entry, size_t blocks, const struct bl_draft *d,
                            const struct bl_order *o)
{
    for (size_t b = 0; b < blocks; b++) {
        int64_t cost = bl_cost_block(o->cost, d->sequence + bl_entry_first(entry[b]), bl_entry_size(entry[b]));
        block[b] = (struct bl_costed){cost, entry[b]};
    }
}

/* Measures the order of the blocks, after it has been levelled if that is wanted. */
static int order_balance(struct bl_plan *plan, const struct bl_draft *d, const struct bl_order *o, size_t full,
                         struct bl_error *e)
{
    struct bl_costed *block = malloc((plan->blocks + 1) * sizeof *block);
    if (!block)
        return bl_error_memory(e);
    order_set_costs(block, plan->block_ptr, plan->blocks, d, o);
    int code = o->kind == BL_ORDER_LEVEL ? bl_balance_deal(block, full, &o->ranks, o->seed, e) : BL_OK;
    for (size_t b = 0; b < plan->blocks; b++)
        plan->block_ptr[b] = block[b].entry;
    if (!code && o->ranks.world_size > 1) {
        plan->balance.lost = bl_balance_lost(block, plan->blocks, &o->ranks);
        code = bl_mix_measure(&plan->balance, block, plan->blocks, d->sequence, o->cost, &o->ranks, o->seed, e);
    }
    free(block);
    return code;
}

/* Puts the blocks into random order, the empty ones at the end. Returns the number of the others. */
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

int bl_order_lost(double *lost, const struct bl_draft *d, const struct bl_order *o, struct bl_error *e)
{
    int64_t *entry = malloc((d->blocks + 1) * sizeof *entry);
    struct bl_costed *block = malloc((d->blocks + 1) * sizeof *block);
    int code = entry && block ? BL_OK : bl_error_memory(e);
    if (code)
        goto out;
    for (size_t b = 0; b < d->blocks; b++)
        entry[b] = bl_draft_entry(d, b);
    order_shuffle(entry, d->blocks, d, o);
    order_set_costs(block, entry, d->blocks, d, o);
    *lost = bl_balance_lost(block, d->blocks, &o->ranks);
out:
    free(entry);
    free(block);
    return code;
}

static int order_blocks(struct bl_plan *plan, const struct bl_draft *d, const struct bl_order *o, struct bl_error *e)
{
    size_t full = order_shuffle(plan->block_ptr, plan->blocks, d, o);
    return o->ranks.world_size > 1 || o->kind == BL_ORDER_LEVEL ? order_balance(plan, d, o, full, e) : BL_OK;
}

/* Replaces the entries by the first piece of each block. copy: the pieces in the order of the table, copied from
 * `from`; NULL: they are in that order. */
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
    bool is_in_order = order->kind == BL_ORDER_AS_DRAFTED || (order->kind == BL_ORDER_SHUFFLED && d->is_shuffled);
    plan->blocks = d->blocks;
    plan->pieces = d->pieces;
    plan->max_sequences = 0;
    plan->block_ptr = malloc((d->blocks + 1) * sizeof *plan->block_ptr);
    if (!plan->block_ptr)
        return bl_error_memory(e);
    for (size_t b = 0; b < d->blocks; b++)
        plan->block_ptr[b] = bl_draft_entry(d, b);
    free(d->first);
    d->first = NULL;
    int code = order_blocks(plan, d, order, e);
    if (code)
        return code;
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
