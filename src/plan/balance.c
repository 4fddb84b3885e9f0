/* Deals the blocks of a plan to the ranks, and measures the balance.
 *
 * Example with 2 ranks, batches of 1 and blocks that cost 9, 8, 2 and 1: in the order 9 1 8 2 the ranks wait for 9 and
 * for 8 and lose 17 * 2 / 20 - 1 = 70 %; in the order 9 8 2 1 they lose 11 * 2 / 20 - 1 = 10 %. */
#include "plan/balance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/random.h"

/* --- costs -------------------------------------------------------------------------------------------------------- */

void bl_block_costs_free(struct bl_block_costs *c)
{
    free(c->at);
    free(c->row);
}

int bl_block_costs_set(struct bl_block_costs *c, struct bl_costed *block, const int64_t *entry, size_t blocks,
                       const struct bl_draft *d, const struct bl_cost *cost, struct bl_error *e)
{
    *c = (struct bl_block_costs){.points = cost->points};
    if (c->points > 1) {
        c->at = malloc((blocks + 1) * (size_t)c->points * sizeof *c->at);
        c->row = malloc((d->pieces + 1) * sizeof *c->row);
        if (!c->at || !c->row)
            return bl_error_memory(e);
    }
    for (size_t b = 0; b < blocks; b++) {
        block[b] = (struct bl_costed){0, entry[b]};
        if (c->at)
            c->row[bl_entry_first(entry[b])] = (uint32_t)b; /* empty blocks share a row, as they cost the same */
        for (int p = 0; p < c->points; p++) {
            int64_t one = bl_cost_block(cost, p, d->sequence + bl_entry_first(entry[b]), bl_entry_size(entry[b]));
            block[b].cost += one;
            if (c->at)
                c->at[b * (size_t)c->points + (size_t)p] = one;
        }
    }
    return BL_OK;
}

double bl_balance_lost(const struct bl_block_costs *c, const struct bl_costed *block, size_t blocks,
                       const struct bl_ranks *ranks, double *lost)
{
    double highest[BL_COST_POINTS] = {0}, sum[BL_COST_POINTS] = {0}, all_highest = 0, all = 0;
    size_t wait = bl_ranks_wait(ranks);
    for (size_t first = 0; first + wait <= blocks; first += wait) {
        for (int p = 0; p < c->points; p++) {
            double max_cost = 0;
            for (size_t r = 0; r < ranks->world_size; r++) {
                double cost = 0;
                for (size_t i = r; i < wait; i += ranks->world_size)
                    cost += (double)bl_block_cost(c, &block[first + i], p);
                sum[p] += cost;
                max_cost = cost > max_cost ? cost : max_cost;
            }
            highest[p] += max_cost;
        }
    }
    for (int p = 0; p < c->points; p++) {
        if (lost)
            lost[p] = sum[p] > 0 ? highest[p] * (double)ranks->world_size / sum[p] - 1 : 0;
        all_highest += highest[p];
        all += sum[p];
    }
    return all > 0 ? all_highest * (double)ranks->world_size / all - 1 : 0;
}

/* --- dealing ------------------------------------------------------------------------------------------------------ */

/* The blocks between two synchronization points are a wait. Waits are drawn at random if that loses little, which is so
 * where blocks cost alike. Otherwise the blocks are sorted by cost and cut into rows of one block for each rank: a row
 * loses at most the difference of its blocks. A wait of several rows takes one row from each part of the sorted list,
 * so that all waits cost nearly the same. Before the cut, blocks whose costs differ by at most `band` are shuffled: the
 * widest band that loses little is used, because it leaves the most to chance. */

#define LOST_MAX 0.008        /* imbalance that an order may have: 0.8 % of the time is lost */
#define UNEVEN 1.02           /* most expensive wait by the mean wait, from which expensive waits are spread */
#define BAND_WIDEST 4.0       /* times the mean cost of a block */
#define BAND_NARROWEST 0.0005 /* times the mean, too; narrower bands are 0 */
#define CLASSES 400           /* of the mean cost of a block: costs at a point count as equal in one class */

struct rank_cost {
    double cost;          /* of its blocks in this wait so far */
    uint32_t rank, place; /* the rank; its place in a random order, which breaks ties */
};

struct dealer {
    const struct bl_ranks *ranks;
    const struct bl_block_costs *costs;
    size_t blocks, full, waits;            /* full: blocks that are not empty; waits: those without empty blocks */
    struct bl_costed *sorted, *now, *best; /* [full] by cost; shuffled in bands; the order of the last trial */
    struct bl_costed *wait;                /* the blocks of one wait */
    struct rank_cost *rank;                /* [world_size] the ranks in a wait */
    uint32_t *turn;                        /* [waits] an order of the waits */
    struct bl_random random;
    uint64_t seed;
};

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

/* Returns the mean cost of the blocks at a point; 0 if there are none. */
static double dealer_mean(const struct dealer *d, int p)
{
    double sum = 0;
    for (size_t i = 0; i < d->full; i++)
        sum += (double)bl_block_cost(d->costs, &d->sorted[i], p);
    return d->full ? sum / (double)d->full : 0;
}

/* Returns by how much a block exceeds the mean at point p, in whole classes, and less than one class for what it costs
 * at the other points. */
static int64_t dealer_key(const struct dealer *d, const struct bl_costed *block, int p, int64_t mean, int64_t class)
{
    int64_t excess = bl_block_cost(d->costs, block, p) - mean, over = excess % class, rest = 0;
    for (int k = 0; k < d->costs->points; k++)
        rest += k == p ? 0 : bl_block_cost(d->costs, block, k);
    return excess - over - (over < 0 ? class : 0) + (int64_t)((double)rest / BL_COST_UNITS * (double)(class - 1));
}

/* Sorts the blocks of `sorted` for several points, in rows of one block for each rank: the next row is of the point at
 * which one of the blocks that are left most exceeds the mean, and takes those that cost most there. Of blocks of one
 * class there, those that cost more at the other points come first. The costs become the keys of this order, raised
 * where needed so that they descend. mean: of a block, the sum over the points. BL_EFAIL: out of memory. */
static int dealer_sort_points(struct dealer *d, double mean, struct bl_error *e)
{
    size_t full = d->full, next[BL_COST_POINTS] = {0}, points = (size_t)d->costs->points;
    struct bl_costed *list = malloc((full + 1) * points * sizeof *list); /* [points][full] by cost */
    bool *taken = calloc(d->blocks + 1, sizeof *taken);                  /* by row of d->costs */
    int code = list && taken ? BL_OK : bl_error_memory(e);
    for (size_t p = 0; p < points && !code; p++) {
        int64_t own = (int64_t)dealer_mean(d, (int)p), class = 1 + (int64_t)(mean / CLASSES);
        for (size_t i = 0; i < full; i++)
            list[p * full + i] =
                (struct bl_costed){dealer_key(d, &d->sorted[i], (int)p, own, class), d->sorted[i].entry};
        qsort(list + p * full, full, sizeof *list, costed_compare);
    }
    for (size_t count = 0, best = 0; count < full && !code; best = 0) {
        for (size_t p = 0; p < points; p++) {
            while (taken[d->costs->row[bl_entry_first(list[p * full + next[p]].entry)]])
                next[p]++;
            best = list[p * full + next[p]].cost > list[best * full + next[best]].cost ? p : best;
        }
        for (size_t i = next[best], end = count + d->ranks->world_size; i < full && count < end; i++) {
            bool *is_taken = &taken[d->costs->row[bl_entry_first(list[best * full + i].entry)]];
            if (!*is_taken)
                d->sorted[count++] = list[best * full + i];
            *is_taken = true;
        }
    }
    for (size_t i = full; i-- > 1 && !code;)
        if (d->sorted[i - 1].cost <= d->sorted[i].cost)
            d->sorted[i - 1].cost = d->sorted[i].cost + 1;
    free(list);
    free(taken);
    return code;
}

/* --- swaps ------------------------------------------------------------------------------------------------------ */

/* With several points, rows of equal blocks at one point differ at the others. Blocks of the ranks that keep the others
 * waiting change places with blocks of other waits, as long as both waits together become cheaper. */

enum { SWAP_ROUNDS = 12, SWAP_WORK = 20000000 }; /* pairs of blocks in a round */
#define SWAP_GAIN 0.02                           /* of the imbalance; the last round gains less */

struct peaks {
    struct dealer *d;
    double *sum; /* [waits][world_size][points] the costs of the ranks */
    struct peak {
        double most, second; /* the highest costs of a rank */
        size_t rank;         /* that has the highest */
    } * at;                  /* [waits][points] */
    size_t ranks, turn, points;
};

/* Returns the wait of place i, and the costs of its rank in that wait. */
static size_t peaks_wait(const struct peaks *s, size_t i)
{
    return i / (s->ranks * s->turn);
}

static double *peaks_sum(const struct peaks *s, size_t i)
{
    return &s->sum[(peaks_wait(s, i) * s->ranks + i % s->ranks) * s->points];
}

/* Finds the peaks of a wait. */
static void peaks_find(struct peaks *s, size_t w)
{
    for (size_t p = 0; p < s->points; p++) {
        struct peak peak = {-1, -1, 0};
        for (size_t r = 0; r < s->ranks; r++) {
            double sum = s->sum[(w * s->ranks + r) * s->points + p];
            if (sum > peak.most)
                peak = (struct peak){sum, peak.most, r};
            else if (sum > peak.second)
                peak.second = sum;
        }
        s->at[w * s->points + p] = peak;
    }
}

/* Returns how much more the block of place j costs at point p than that of place i. */
static double peaks_more(const struct peaks *s, size_t i, size_t j, size_t p)
{
    const struct bl_costed *block = s->d->best;
    return (double)(bl_block_cost(s->d->costs, &block[j], (int)p) - bl_block_cost(s->d->costs, &block[i], (int)p));
}

/* Returns how much cheaper the wait of place i becomes if it gets the block of place j, of another wait, for its own.
 */
static double peaks_gain(const struct peaks *s, size_t i, size_t j)
{
    double gain = 0;
    for (size_t p = 0; p < s->points; p++) {
        const struct peak *peak = &s->at[peaks_wait(s, i) * s->points + p];
        double others = peak->rank == i % s->ranks ? peak->second : peak->most;
        double sum = peaks_sum(s, i)[p] + peaks_more(s, i, j, p);
        gain += peak->most - (sum > others ? sum : others);
    }
    return gain;
}

/* Swaps the block of place i with the one of another wait that gains most, of so many that are drawn at random; of all
 * blocks, if they are no more. */
static void peaks_swap(struct peaks *s, size_t i, size_t offers)
{
    size_t dealt = s->d->waits * s->ranks * s->turn, other = i;
    double most = 0;
    for (size_t k = 0; k < offers && k < dealt; k++) {
        size_t j = offers < dealt ? bl_random_below(&s->d->random, dealt) : k;
        double gain = peaks_wait(s, i) != peaks_wait(s, j) ? peaks_gain(s, i, j) + peaks_gain(s, j, i) : 0;
        other = gain > most ? j : other;
        most = gain > most ? gain : most;
    }
    if (other == i)
        return;
    for (size_t p = 0; p < s->points; p++) {
        peaks_sum(s, i)[p] += peaks_more(s, i, other, p);
        peaks_sum(s, other)[p] += peaks_more(s, other, i, p);
    }
    struct bl_costed block = s->d->best[i];
    s->d->best[i] = s->d->best[other];
    s->d->best[other] = block;
    peaks_find(s, peaks_wait(s, i));
    peaks_find(s, peaks_wait(s, other));
}

/* Swaps blocks of d->best until little is gained. BL_EFAIL: out of memory. */
static int dealer_lower_peaks(struct dealer *d, struct bl_error *e)
{
    struct peaks s = {
        .d = d, .ranks = d->ranks->world_size, .turn = bl_ranks_turn(d->ranks), .points = (size_t)d->costs->points};
    size_t tried = d->waits * s.points * s.turn, dealt = d->waits * s.ranks * s.turn;
    s.sum = calloc(dealt / s.turn * s.points + 1, sizeof *s.sum);
    s.at = malloc((d->waits * s.points + 1) * sizeof *s.at);
    int code = s.sum && s.at ? BL_OK : bl_error_memory(e);
    for (size_t i = 0; i < dealt && !code; i++)
        for (size_t p = 0; p < s.points; p++)
            peaks_sum(&s, i)[p] += (double)bl_block_cost(d->costs, &d->best[i], (int)p);
    for (size_t w = 0; w < d->waits && !code; w++)
        peaks_find(&s, w);
    double before, now = bl_balance_lost(d->costs, d->best, dealt, d->ranks, NULL);
    for (int round = 0; round < SWAP_ROUNDS && !code && now > LOST_MAX; round++) {
        for (size_t w = 0; w < d->waits; w++)
            for (size_t k = 0; k < s.points * s.turn; k++)
                peaks_swap(&s, (w * s.turn + k / s.points) * s.ranks + s.at[w * s.points + k % s.points].rank,
                           SWAP_WORK / tried + 1);
        before = now;
        now = bl_balance_lost(d->costs, d->best, dealt, d->ranks, NULL);
        if (now > (1 - SWAP_GAIN) * before)
            break;
    }
    free(s.sum);
    free(s.at);
    return code;
}

/* --- the best order ------------------------------------------------------------------------------------------- */

/* Deals the blocks in their present order, which is random, and then with bands from the widest on. The first order
 * that loses at most LOST_MAX is kept; otherwise the band that loses least is dealt again: every trial begins with the
 * same random numbers, so it gives the same order. BL_EFAIL: out of memory. */
static int dealer_choose(struct dealer *d, struct bl_error *e)
{
    size_t wait = bl_ranks_wait(d->ranks), dealt = d->waits * wait;
    double mean = 0, least = INFINITY, best = 0;
    for (int p = 0; p < d->costs->points; p++)
        mean += dealer_mean(d, p);
    for (size_t w = 0; w < d->waits; w++)
        dealer_deal_wait(d, d->best + w * wait);
    if (bl_balance_lost(d->costs, d->best, dealt, d->ranks, NULL) <= LOST_MAX)
        return BL_OK;
    if (d->costs->at)
        BL_TRY(dealer_sort_points(d, mean, e));
    /* Thirteen halvings lead from the widest band to 0, which only sorts. */
    for (double band = BAND_WIDEST; band > 0; band /= 2) {
        band = band < BAND_NARROWEST ? 0 : band;
        dealer_deal_rows(d, band * mean);
        double lost = bl_balance_lost(d->costs, d->best, dealt, d->ranks, NULL);
        if (lost <= LOST_MAX)
            return BL_OK;
        if (lost < least) {
            least = lost;
            best = band;
        }
    }
    dealer_deal_rows(d, best * mean);
    return d->costs->at ? dealer_lower_peaks(d, e) : BL_OK;
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
            for (int p = 0; p < d->costs->points; p++)
                sum += (double)bl_block_cost(d->costs, &d->best[w * wait + i], p) / (double)wait;
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

int bl_balance_deal(struct bl_costed *block, size_t blocks, size_t full, const struct bl_block_costs *costs,
                    const struct bl_ranks *ranks, uint64_t seed, struct bl_error *e)
{
    size_t wait = bl_ranks_wait(ranks), waits = full / wait;
    struct dealer d = {.ranks = ranks,
                       .costs = costs,
                       .seed = seed,
                       .blocks = blocks,
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
    code = dealer_choose(&d, e);
    if (!code)
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
