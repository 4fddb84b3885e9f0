/* While blocks are being ordered, block_ptr has an entry for each block (bl_draft_entry). So the table can be shuffled
 * or sorted alone, and each entry is overwritten after its block is copied. */
#include "plan/order.h"

#include <stdlib.h>
#include <string.h>

#include "plan/balance.h"
#include "plan/random.h"

static int order_blocks(struct bl_plan *plan, const struct bl_draft *d, const struct bl_order *o, struct bl_error *e)
{
    const struct bl_balance_input balance = {o->ranks, o->length, d->sequence};
    size_t full = plan->blocks;
    while (full > 0 && bl_entry_size(plan->block_ptr[full - 1]) == 0)
        full--;
    if (o->kind != BL_ORDER_AS_DRAFTED && !d->is_shuffled) {
        struct bl_random random;
        bl_random_seed(&random, o->seed, BL_STREAM_BLOCK);
        bl_random_shuffle_i64(&random, plan->block_ptr, full);
    }
    if (o->ranks.world_size > 1)
        plan->imbalance_before = bl_balance_measure(&balance, plan->block_ptr, plan->blocks);
    int code =
        o->kind == BL_ORDER_LEVEL ? bl_balance_level(&balance, plan->block_ptr, plan->blocks, full, o->seed, e) : BL_OK;
    if (o->ranks.world_size > 1)
        plan->imbalance = bl_balance_measure(&balance, plan->block_ptr, plan->blocks);
    return code;
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
