/* Orders the blocks of a draft: adapts their number to the ranks, deals the blocks to the ranks, and measures the
 * balance.
 *
 * Example with 2 ranks, batches of 1 and blocks that cost 9, 8, 2 and 1: in the order 9 1 8 2 the ranks wait for 9 and
 * for 8 and lose 17 * 2 / 20 - 1 = 70 %; in the order 9 8 2 1 they lose 11 * 2 / 20 - 1 = 10 %. */
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

/* --- balance ------------------------------------------------------------------------------------------------------ */

/* The blocks between two synchronization points are a wait. Waits are drawn at random if that loses little, which is so
 * where blocks cost alike. Otherwise the blocks are sorted by cost and cut into rows of one block for each rank: a row
 * loses at most the difference of its blocks. A wait of several rows takes one row from each part of the sorted list,
 * so that all waits cost nearly the same. Before the cut, blocks whose costs differ by at most `band` are shuffled: the
 * widest band that loses little is used, because it leaves the most to chance. */

#define LOST_MAX 0.008        /* imbalance that an order may have: 0.8 % of the time is lost */
#define UNEVEN 1.02           /* most expensive wait by the mean wait, from which expensive waits are spread */
#define BAND_WIDEST 4.0       /* times the mean cost of a block */
#define BAND_NARROWEST 0.0005 /* times the mean, too; narrower bands are 0 */

struct rank_cost {
    double cost;          /* of its blocks in this wait so far */
    uint32_t rank, place; /* the rank; its place in a random order, which breaks ties */
};

struct dealer {
    const struct bl_ranks *ranks;
    size_t full, waits;                    /* blocks that are not empty; waits without empty blocks */
    struct bl_costed *sorted, *now, *best; /* [full] by cost; shuffled in bands; the order of the last trial */
    struct bl_costed *wait;                /* the blocks of one wait */
    struct rank_cost *rank;                /* [world_size] the ranks in a wait */
    uint32_t *turn;                        /* [waits] an order of the waits */
    struct bl_random random;
    uint64_t seed;
};

/* Returns the imbalance, as `lost` of struct bl_plan_balance: the sum of the highest costs by the sum of the mean
 * costs, less 1. blocks: a multiple of bl_ranks_wait. */
static double balance_lost(const struct bl_costed *block, size_t blocks, const struct bl_ranks *ranks)
{
    double highest = 0, sum = 0;
    size_t wait = bl_ranks_wait(ranks);
    for (size_t first = 0; first + wait <= blocks; first += wait) {
        double max_cost = 0;
        for (size_t r = 0; r < ranks->world_size; r++) {
            double cost = 0;
            for (size_t i = r; i < wait; i += ranks->world_size)
                cost += (double)block[first + i].cost;
            sum += cost;
            max_cost = cost > max_cost ? cost : max_cost;
        }
        highest += max_cost;
    }
    return sum > 0 ? highest * (double)ranks->world_size / sum - 1 : 0;
}

/* Orders blocks by cost, the most expensive first. Equal costs are ordered by entry, so that the result of qsort does
 * not depend on the C library. */
static int costed_compare(const void *a, const void *b)
{
    const struct bl_costed *x = a, *y = b;
    if (x->cost != y->cost)
        return x->cost > y->cost ? -1 : 1;
    return (x->entry > y->entry) - (x->entry < y->entry);
}

/* Shuffles blocks: Fisher-Yates for elements of 16 bytes, which plan/random.h does not have. */
static void costed_shuffle(struct bl_costed *block, size_t count, struct bl_random *random)
{
    for (size_t i = count; i > 1; i--) {
        size_t other = bl_random_below(random, i);
        struct bl_costed last = block[i - 1];
        block[i - 1] = block[other];
        block[other] = last;
    }
}

/* --- one wait --------------------------------------------------------------------------------------------------- */

/* Orders ranks by cost, the cheapest first, and ties by their random place. */
static int rank_compare(const void *a, const void *b)
{
    const struct rank_cost *x = a, *y = b;
    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* Sets the costs of the ranks to 0 and draws the order that breaks ties, so that no rank always takes the first
 * block. */
static void dealer_reset_ranks(struct dealer *d)
{
    size_t ranks = d->ranks->world_size;
    for (size_t r = 0; r < ranks; r++)
        d->rank[r] = (struct rank_cost){0, (uint32_t)r, 0};
    for (size_t i = ranks; i > 0; i--) {
        size_t other = bl_random_below(&d->random, i);
        uint32_t rank = d->rank[i - 1].rank;
        d->rank[i - 1] = (struct rank_cost){0, d->rank[other].rank, (uint32_t)i};
        d->rank[other].rank = rank;
    }
}

/* Deals the blocks of a wait in rows, the most expensive first: each rank takes one block of a row, and the cheapest
 * rank so far takes the most expensive block. Then the order of the blocks of each rank is drawn. */
static void dealer_deal_wait(struct dealer *d, struct bl_costed *to)
{
    size_t ranks = d->ranks->world_size, turn = bl_ranks_turn(d->ranks);
    memcpy(d->wait, to, ranks * turn * sizeof *to);
    qsort(d->wait, ranks * turn, sizeof *to, costed_compare);
    dealer_reset_ranks(d);
    for (size_t row = 0; row < turn; row++) {
        if (row > 0)
            qsort(d->rank, ranks, sizeof *d->rank, rank_compare);
        for (size_t i = 0; i < ranks; i++) {
            d->rank[i].cost += (double)d->wait[row * ranks + i].cost;
            to[row * ranks + d->rank[i].rank] = d->wait[row * ranks + i];
        }
    }
    for (size_t r = 0; r < ranks && turn > 1; r++) {
        for (size_t i = turn; i > 1; i--) {
            size_t a = (i - 1) * ranks + r, b = bl_random_below(&d->random, i) * ranks + r;
            struct bl_costed last = to[a];
            to[a] = to[b];
            to[b] = last;
        }
    }
}

/* --- all waits -------------------------------------------------------------------------------------------------- */

/* Makes waits of rows of the sorted blocks. The rows are divided into `turn` parts of one row for each wait; every wait
 * takes one row of each part, in an order that is drawn for the part. band: in units of cost. The blocks after the last
 * whole wait stay at the end. */
static void dealer_deal_rows(struct dealer *d, double band)
{
    size_t ranks = d->ranks->world_size, turn = bl_ranks_turn(d->ranks);
    struct bl_costed *from = d->now;
    bl_random_seed(&d->random, d->seed, BL_STREAM_STEP);
    memcpy(d->now, d->sorted, d->full * sizeof *d->now);
    for (size_t first = 0, end; first < d->full; first = end) {
        for (end = first + 1; end < d->full && (double)(d->sorted[first].cost - d->sorted[end].cost) <= band;)
            end++;
        costed_shuffle(d->now + first, end - first, &d->random);
    }
    for (size_t part = 0; part < turn; part++) {
        bl_random_order(&d->random, d->turn, d->waits);
        for (size_t w = 0; w < d->waits; w++, from += ranks)
            memcpy(d->best + (d->turn[w] * turn + part) * ranks, from, ranks * sizeof *from);
    }
    size_t dealt = d->waits * ranks * turn;
    memcpy(d->best + dealt, d->now + dealt, (d->full - dealt) * sizeof *from);
    for (size_t w = 0; w < d->waits; w++)
        dealer_deal_wait(d, d->best + w * ranks * turn);
}

/* Returns the mean cost of the blocks; 0 if there are none. */
static double dealer_mean(const struct dealer *d)
{
    double sum = 0;
    for (size_t i = 0; i < d->full; i++)
        sum += (double)d->sorted[i].cost;
    return d->full ? sum / (double)d->full : 0;
}

/* Deals the blocks in their present order, which is random, and then with bands from the widest on. The first order
 * that loses at most LOST_MAX is kept; otherwise the band that loses least is dealt again: every trial begins with the
 * same random numbers, so it gives the same order. */
static void dealer_choose(struct dealer *d)
{
    size_t wait = bl_ranks_wait(d->ranks), dealt = d->waits * wait;
    double mean = dealer_mean(d), least = INFINITY, best = 0;
    for (size_t w = 0; w < d->waits; w++)
        dealer_deal_wait(d, d->best + w * wait);
    if (balance_lost(d->best, dealt, d->ranks) <= LOST_MAX)
        return;
    /* Thirteen halvings lead from the widest band to 0, which only sorts. */
    for (double band = BAND_WIDEST; band > 0; band /= 2) {
        band = band < BAND_NARROWEST ? 0 : band;
        dealer_deal_rows(d, band * mean);
        double lost = balance_lost(d->best, dealt, d->ranks);
        if (lost <= LOST_MAX)
            return;
        if (lost < least) {
            least = lost;
            best = band;
        }
    }
    dealer_deal_rows(d, best * mean);
}

/* Halves a list of waits, sorted by cost, again and again: of every two neighbours, one is drawn for the first half of
 * the epoch, the other for its second half. So every part of the epoch has its share of the expensive waits. other:
 * [count], overwritten. */
static void waits_spread(uint32_t *wait, uint32_t *other, size_t count, struct bl_random *random)
{
    if (count < 2)
        return;
    size_t first = 0, second = 0;
    for (size_t i = 0; i < count; i += 2) {
        bool swapped = bl_random_next(random) >> 63;
        if (i + 1 == count) {
            wait[first++] = wait[i];
            break;
        }
        uint32_t a = wait[i + swapped], b = wait[i + !swapped];
        other[second++] = b;
        wait[first++] = a;
    }
    memcpy(wait + first, other, second * sizeof *wait);
    waits_spread(wait, other, first, random);
    waits_spread(wait + first, other, second, random);
}

/* Sets the mean cost of a block in each wait, their mean, and the highest. cost: [waits]; its entries are the numbers
 * of the waits. */
static void costs_of_waits(const struct dealer *d, struct bl_costed *cost, double *mean, double *most)
{
    size_t wait = bl_ranks_wait(d->ranks);
    *mean = *most = 0;
    for (size_t w = 0; w < d->waits; w++) {
        double sum = 0;
        for (size_t i = 0; i < wait; i++)
            sum += (double)d->best[w * wait + i].cost / (double)wait;
        cost[w] = (struct bl_costed){(int64_t)sum, (int64_t)w};
        *mean += sum / (double)d->waits;
        *most = sum > *most ? sum : *most;
    }
}

/* Writes the waits to `to`: in their present order, or spread over the epoch if one costs more than UNEVEN times the
 * mean. */
static void dealer_order_waits(struct dealer *d, struct bl_costed *to)
{
    size_t wait = bl_ranks_wait(d->ranks);
    double mean, most;
    costs_of_waits(d, d->sorted, &mean, &most);
    if (most > UNEVEN * mean) {
        qsort(d->sorted, d->waits, sizeof *d->sorted, costed_compare);
        for (size_t w = 0; w < d->waits; w++)
            d->turn[w] = (uint32_t)d->sorted[w].entry;
        waits_spread(d->turn, (uint32_t *)d->now, d->waits, &d->random);
    } else {
        for (size_t w = 0; w < d->waits; w++)
            d->turn[w] = (uint32_t)w;
    }
    for (size_t w = 0; w < d->waits; w++)
        memcpy(to + w * wait, d->best + d->turn[w] * wait, wait * sizeof *to);
    memcpy(to + d->waits * wait, d->best + d->waits * wait, (d->full - d->waits * wait) * sizeof *to);
}

/* Deals blocks, which are in random order, to waits and ranks. The first `full` of them are not empty; the others stay
 * last. Waits stay as random as they can be while little is lost; expensive ones are spread over the epoch. BL_EFAIL:
 * out of memory. */
static int balance_deal(struct bl_costed *block, size_t full, const struct bl_ranks *ranks, uint64_t seed,
                        struct bl_error *e)
{
    size_t wait = bl_ranks_wait(ranks), waits = full / wait;
    struct dealer d = {.ranks = ranks,
                       .seed = seed,
                       .full = full,
                       .waits = waits,
                       .sorted = malloc((full + 1) * sizeof *d.sorted),
                       .now = malloc((full + 1) * sizeof *d.now),
                       .best = malloc((full + 1) * sizeof *d.best),
                       .wait = malloc((waits ? wait : 1) * sizeof *d.wait),
                       .rank = malloc(ranks->world_size * sizeof *d.rank),
                       .turn = malloc((waits + 1) * sizeof *d.turn)};
    int code = d.sorted && d.now && d.best && d.wait && d.rank && d.turn ? BL_OK : bl_error_memory(e);
    if (code)
        goto out;
    bl_random_seed(&d.random, seed, BL_STREAM_STEP);
    memcpy(d.sorted, block, full * sizeof *block);
    memcpy(d.best, block, full * sizeof *block);
    qsort(d.sorted, full, sizeof *block, costed_compare);
    dealer_choose(&d);
    dealer_order_waits(&d, block);
out:
    free(d.sorted);
    free(d.now);
    free(d.best);
    free(d.wait);
    free(d.rank);
    free(d.turn);
    return code;
}

/* --- order -------------------------------------------------------------------------------------------------------- */

/* Sets the cost and the entry of every block. block: [blocks]. */
static void order_set_costs(struct bl_costed *block, const int64_t *entry, size_t blocks, const struct bl_draft *d,
                            const struct bl_order *o)
{
    for (size_t b = 0; b < blocks; b++) {
        int64_t cost = bl_cost_block(o->cost, d->sequence + bl_entry_first(entry[b]), bl_entry_size(entry[b]));
        block[b] = (struct bl_costed){cost, entry[b]};
    }
}

/* Deals the blocks to the ranks if o->kind is BL_ORDER_LEVEL, then measures the balance of their order. full: blocks
 * that are not empty, which come first. BL_EFAIL: out of memory. */
static int order_balance(struct bl_plan *plan, const struct bl_draft *d, const struct bl_order *o, size_t full,
                         struct bl_error *e)
{
    struct bl_costed *block = malloc((plan->blocks + 1) * sizeof *block);
    if (!block)
        return bl_error_memory(e);
    order_set_costs(block, plan->block_ptr, plan->blocks, d, o);
    int code = o->kind == BL_ORDER_LEVEL ? balance_deal(block, full, &o->ranks, o->seed, e) : BL_OK;
    for (size_t b = 0; b < plan->blocks; b++)
        plan->block_ptr[b] = block[b].entry;
    if (!code && o->ranks.world_size > 1) {
        plan->balance.lost = balance_lost(block, plan->blocks, &o->ranks);
        code = bl_mix_measure(&plan->balance, block, plan->blocks, d->sequence, o->cost, &o->ranks, o->seed, e);
    }
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
    *lost = balance_lost(block, d->blocks, &o->ranks);
out:
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

/* --- mix of costs ------------------------------------------------------------------------------------------------- */

/* The Kolmogorov-Smirnov distance between a wait and the whole: over all costs x, the greatest difference between the
 * shares of steps that lie in sequences of cost up to x. Costs are taken in CLASSES classes of about equally many steps
 * each: the distance is exact to about 1 / CLASSES, and one pass over the pieces is enough. */

enum {
    CLASSES = 128,             /* an error below 1 %; a class fits uint8_t */
    FRACTION_BITS = 6,         /* costs of a bin differ by at most 1 / 64 */
    BINS = 64 << FRACTION_BITS /* 64 bins for each position of the leading bit */
};

struct mix {
    const struct bl_costed *block;
    size_t blocks;
    const uint32_t *sequence;
    const struct bl_cost *cost;
    double steps[BINS]; /* of all sequences, by cost */
    uint8_t class_of[BINS];
    double whole[CLASSES]; /* share of all steps up to the end of a class, 0 to 1 */
};

/* Adds the steps of the pieces of block b to steps[], by class; by bin if class_of is NULL. */
static void mix_add_block(const struct mix *m, size_t b, double *steps, const uint8_t *class_of)
{
    const uint32_t *piece = m->sequence + bl_entry_first(m->block[b].entry);
    for (size_t p = 0; p < bl_entry_size(m->block[b].entry); p++) {
        /* Bins ascend by cost: the position of the leading bit, and the bits that follow it. */
        uint64_t value = (uint64_t)bl_cost_piece(m->cost, piece[p]) + (UINT64_C(1) << FRACTION_BITS);
        int top = 63 - __builtin_clzll(value);
        size_t bin = (size_t)(top - FRACTION_BITS) << FRACTION_BITS |
                     (value >> (top - FRACTION_BITS) & ((1 << FRACTION_BITS) - 1));
        steps[class_of ? class_of[bin] : bin] += (double)m->cost->pieces->lengths.length[piece[p]];
    }
}

/* Returns the mean distance of the waits, of `wait` blocks each. order: the order of the blocks; NULL: their present
 * one. */
static double mix_distance(const struct mix *m, const uint32_t *order, size_t wait)
{
    double distance = 0;
    size_t waits = 0;
    for (size_t first = 0; first + wait <= m->blocks; first += wait) {
        double steps[CLASSES] = {0}, all = 0, sum = 0, most = 0;
        for (size_t i = first; i < first + wait; i++)
            mix_add_block(m, order ? order[i] : i, steps, m->class_of);
        for (size_t c = 0; c < CLASSES; c++)
            all += steps[c];
        for (size_t c = 0; c < CLASSES && all > 0; c++) {
            sum += steps[c];
            double off = fabs(sum / all - m->whole[c]);
            most = off > most ? off : most;
        }
        distance += most;
        waits += all > 0;
    }
    return waits ? distance / (double)waits : 0;
}

/* Sets `highest` and `neighbours`: the correlation of the costs of each block and the next, 0 where all blocks cost
 * alike. */
static void mix_correlate(struct bl_plan_balance *balance, const struct bl_costed *block, size_t blocks)
{
    double sum = 0, most = 0, variance = 0, product = 0;
    for (size_t b = 0; b < blocks; b++) {
        sum += (double)block[b].cost;
        most = (double)block[b].cost > most ? (double)block[b].cost : most;
    }
    double mean = sum / (double)blocks;
    for (size_t b = 0; b < blocks; b++) {
        double off = (double)block[b].cost - mean;
        variance += off * off;
        if (b + 1 < blocks)
            product += off * ((double)block[b + 1].cost - mean);
    }
    balance->highest = mean > 0 ? most / mean : 1;
    balance->neighbours = /* a smaller variance is rounding error */
        variance > 1e-18 * mean * mean * (double)blocks ? product / variance : 0;
}

int bl_mix_measure(struct bl_plan_balance *balance, const struct bl_costed *block, size_t blocks,
                   const uint32_t *sequence, const struct bl_cost *cost, const struct bl_ranks *ranks, uint64_t seed,
                   struct bl_error *e)
{
    struct mix *m = calloc(1, sizeof *m);
    uint32_t *order = malloc((blocks + 1) * sizeof *order);
    int code = m && order ? BL_OK : bl_error_memory(e);
    if (code)
        goto out;
    *m = (struct mix){.block = block, .blocks = blocks, .sequence = sequence, .cost = cost};
    double all = 0, sum = 0;
    for (size_t b = 0; b < m->blocks; b++)
        mix_add_block(m, b, m->steps, NULL);
    for (size_t i = 0; i < BINS; i++)
        all += m->steps[i];
    for (size_t i = 0; i < BINS; i++) {
        sum += m->steps[i];
        size_t class = all > 0 ? (size_t)(sum / all * (CLASSES - 1)) : 0;
        m->class_of[i] = (uint8_t)(class < CLASSES ? class : CLASSES - 1);
        m->whole[m->class_of[i]] = all > 0 ? sum / all : 0;
    }
    for (size_t c = 1; c < CLASSES; c++)
        m->whole[c] = m->whole[c] > m->whole[c - 1] ? m->whole[c] : m->whole[c - 1];
    mix_correlate(balance, block, blocks);
    balance->apart = mix_distance(m, NULL, bl_ranks_wait(ranks));
    struct bl_random random;
    bl_random_seed(&random, seed, BL_STREAM_MIX);
    bl_random_order(&random, order, blocks);
    balance->apart_drawn = mix_distance(m, order, bl_ranks_wait(ranks));
out:
    free(m);
    free(order);
    return code;
}
