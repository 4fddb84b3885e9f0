/* Waits are drawn at random if that loses little, which is so where blocks cost alike. Otherwise the blocks are sorted
 * by cost and cut into rows of one block for each rank: what a row loses is at most what its blocks differ by. A wait
 * of several rows takes one from each part of the sorted list, so that all waits cost nearly the same. Before the cut,
 * blocks whose costs differ by less than `band` are shuffled: the widest band that loses little is used. */
#include "plan/balance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/random.h"

#define LOST_MAX 0.008  /* what random waits may lose */
#define UNEVEN 1.02     /* a wait by the mean wait, from which dear waits are spread */
#define BAND_WIDEST 4.0 /* by the mean block */
#define BAND_NARROWEST 0.0005

struct rank_cost {
    double cost;          /* of its blocks so far */
    uint32_t rank, place; /* in a random order, which breaks ties */
};

struct dealer {
    const struct bl_ranks *ranks;
    size_t full, waits; /* blocks that are not empty; waits without empty blocks */
    struct bl_costed *sorted, *now, *best;
    struct bl_costed *wait; /* the blocks of one wait */
    struct rank_cost *rank; /* [world_size] the ranks in a wait */
    uint32_t *turn;         /* an order of the waits */
    struct bl_random random;
    uint64_t seed;
};

double bl_balance_lost(const struct bl_costed *block, size_t blocks, const struct bl_ranks *ranks)
{
    double highest = 0, sum = 0;
    size_t wait = bl_ranks_wait(ranks);
    for (size_t first = 0; first + wait <= blocks; first += wait) {
        double dearest = 0;
        for (size_t r = 0; r < ranks->world_size; r++) {
            double cost = 0;
            for (size_t i = r; i < wait; i += ranks->world_size)
                cost += (double)block[first + i].cost;
            sum += cost;
            dearest = cost > dearest ? cost : dearest;
        }
        highest += dearest;
    }
    return sum > 0 ? highest * (double)ranks->world_size / sum - 1 : 0;
}

/* Dearest first; equal ones by place in the draft, which is no order that matters. */
static int costed_compare(const void *a, const void *b)
{
    const struct bl_costed *x = a, *y = b;
    if (x->cost != y->cost)
        return x->cost > y->cost ? -1 : 1;
    return (x->entry > y->entry) - (x->entry < y->entry);
}

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

static int rank_compare(const void *a, const void *b)
{
    const struct rank_cost *x = a, *y = b;
    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static void order_reset(uint32_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
}

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

/* Deals the blocks of a wait, the dearest first: a row of them to all ranks, the dearest to the cheapest rank. The
 * order of a rank's blocks is drawn. */
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

static void dealer_shuffle_bands(struct dealer *d, double band)
{
    memcpy(d->now, d->sorted, d->full * sizeof *d->now);
    for (size_t first = 0, end; first < d->full; first = end) {
        for (end = first + 1; end < d->full && (double)(d->sorted[first].cost - d->sorted[end].cost) <= band;)
            end++;
        costed_shuffle(d->now + first, end - first, &d->random);
    }
}

/* Makes waits of rows: the first wait of the first row of every part, and so on, each part in its own random order. */
static void dealer_deal_rows(struct dealer *d, double band)
{
    size_t ranks = d->ranks->world_size, turn = bl_ranks_turn(d->ranks);
    struct bl_costed *from = d->now;
    bl_random_seed(&d->random, d->seed, BL_STREAM_STEP);
    dealer_shuffle_bands(d, band);
    for (size_t part = 0; part < turn; part++) {
        order_reset(d->turn, d->waits);
        bl_random_shuffle_u32(&d->random, d->turn, d->waits);
        for (size_t w = 0; w < d->waits; w++, from += ranks)
            memcpy(d->best + (d->turn[w] * turn + part) * ranks, from, ranks * sizeof *from);
    }
    size_t dealt = d->waits * ranks * turn;
    memcpy(d->best + dealt, d->now + dealt, (d->full - dealt) * sizeof *from);
    for (size_t w = 0; w < d->waits; w++)
        dealer_deal_wait(d, d->best + w * ranks * turn);
}

static double dealer_mean(const struct dealer *d)
{
    double sum = 0;
    for (size_t i = 0; i < d->full; i++)
        sum += (double)d->sorted[i].cost;
    return d->full ? sum / (double)d->full : 0;
}

/* Deals the blocks as they are, which is at random, and then for bands from the widest on: the first that loses little,
 * else the one that loses least. Every trial begins with the same random numbers, so that it can be repeated. */
static void dealer_choose(struct dealer *d)
{
    size_t wait = bl_ranks_wait(d->ranks), dealt = d->waits * wait;
    double mean = dealer_mean(d), least = INFINITY, best = 0;
    for (size_t w = 0; w < d->waits; w++)
        dealer_deal_wait(d, d->best + w * wait);
    if (bl_balance_lost(d->best, dealt, d->ranks) <= LOST_MAX)
        return;
    for (double band = BAND_WIDEST; band > 0; band /= 2) {
        band = band < BAND_NARROWEST ? 0 : band;
        dealer_deal_rows(d, band * mean);
        double lost = bl_balance_lost(d->best, dealt, d->ranks);
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
 * the epoch, the other for its second half. So every part of the epoch has its share of the dear ones. */
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

/* Puts the waits in their order: as they are, or, if some are dear, spread. */
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
        order_reset(d->turn, d->waits);
    }
    for (size_t w = 0; w < d->waits; w++)
        memcpy(to + w * wait, d->best + d->turn[w] * wait, wait * sizeof *to);
    memcpy(to + d->waits * wait, d->best + d->waits * wait, (d->full - d->waits * wait) * sizeof *to);
}

int bl_balance_deal(struct bl_costed *block, size_t full, const struct bl_ranks *ranks, uint64_t seed,
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
