/* Compares partitions by hashes, counts pairs that share a block again, and proves what ranks must lose.
 *
 * A hash of a partition is a sum over its blocks, and the hash of a block mixes a sum over its pieces. Sums do not
 * depend on the order, so {1 2} {3} and {3} {2 1} have the same hash, and exchanging two blocks changes two terms
 * alone. Pairs
 * are counted by block: if k pieces of one block share a block of the other plan, they are k (k - 1) / 2 pairs, so the
 * time is linear. */
#include "plan/pair_repeat.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "plan/random.h"

/* --- partitions --------------------------------------------------------------------------------------------------- */

/* Returns a well mixed number: sums of unmixed names would collide, as 1 + 4 = 2 + 3. */
static uint64_t partition_mix(uint64_t z)
{
    return bl_random_splitmix(&z);
}

int bl_partitions_add(struct bl_partitions *taken, uint64_t hash, struct bl_error *e)
{
    int code = BL_ARRAY_RESERVE(taken->hash, taken->capacity, taken->count + 1, e);
    if (!code)
        taken->hash[taken->count++] = hash;
    return code;
}

bool bl_partitions_have(const struct bl_partitions *taken, uint64_t hash)
{
    /* A linear search is fast enough: there is one hash for each epoch. */
    for (size_t i = 0; i < taken->count; i++) {
        if (taken->hash[i] == hash)
            return true;
    }
    return false;
}

void bl_partitions_free(struct bl_partitions *taken)
{
    free(taken->hash);
    *taken = (struct bl_partitions){0};
}

/* Returns the hash of a piece. A piece of a cut sequence is identified by the name of the sequence and its first
 * step. */
static uint64_t partition_hash_piece(const struct bl_piece_names *names, uint32_t piece)
{
    const struct bl_pieces *p = names->pieces;
    if (!names->sequence)
        return partition_mix(piece);
    uint64_t name = names->sequence[p->sequence ? p->sequence[piece] : piece];
    return partition_mix(p->start ? name ^ partition_mix((uint64_t)p->start[piece]) : name);
}

uint64_t bl_partition_hash_block(const uint32_t *piece, size_t size, const struct bl_piece_names *names)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < size; i++)
        sum += partition_hash_piece(names, piece[i]);
    return size ? partition_mix(sum) : 0; /* 0, so that empty blocks change no sum */
}

uint64_t bl_partition_hash(const struct bl_draft *d, const struct bl_piece_names *names)
{
    uint64_t sum = 0;
    for (size_t b = 0; b < d->blocks; b++)
        sum += bl_partition_hash_block(d->sequence + d->first[b], bl_draft_size(d, b), names);
    return sum;
}

/* It gives the same hash as bl_partition_hash_block for pieces with their numbers as names. */
uint64_t bl_partition_hash_range(size_t begin, size_t end)
{
    uint64_t sum = 0;
    for (size_t p = begin; p < end; p++)
        sum += partition_mix(p);
    return end > begin ? partition_mix(sum) : 0;
}

/* --- pair repeats ------------------------------------------------------------------------------------------------- */

#define NOWHERE UINT32_MAX /* the place of a piece that the plan does not have */

/* A piece of a plan that cuts sequences. The pieces of one sequence are sorted by start. */
struct bl_pair_repeat_piece {
    int64_t start; /* its first step in the sequence */
    uint32_t block;
};

/* A block of n pieces has n (n - 1) / 2 pairs. */
uint64_t bl_pair_repeat_count_pairs(const struct bl_plan *plan)
{
    uint64_t pairs = 0;
    for (size_t b = 0; b < plan->blocks; b++) {
        uint64_t size = (uint64_t)(plan->block_ptr[b + 1] - plan->block_ptr[b]);
        pairs += size > 1 ? size * (size - 1) / 2 : 0;
    }
    return pairs;
}

/* Checks the plan before its numbers are used as indices: it may come from a file. BL_EDATA. */
static int pair_repeat_check(const struct bl_plan *plan, size_t count, struct bl_error *e)
{
    if (plan->pieces >= NOWHERE || count >= NOWHERE)
        return bl_error_set(e, BL_EDATA, "%zu pieces of %zu sequences are more than a plan can hold", plan->pieces,
                            count);
    for (size_t p = 0; p < plan->pieces; p++) {
        if (plan->sequence[p] >= count)
            return bl_error_set(e, BL_EDATA, "the plan has sequence %" PRIu32 ", of only %zu", plan->sequence[p],
                                count);
    }
    return BL_OK;
}

/* Returns the first step of piece p in its sequence. */
static int64_t pair_repeat_start(const struct bl_plan *plan, size_t p)
{
    return plan->source_start ? plan->source_start[p] : 0;
}

/* Returns whether any sequence has several pieces. If every piece starts at step 0, each sequence has one at most. */
static bool pair_repeat_is_cut(const struct bl_plan *plan)
{
    for (size_t p = 0; p < plan->pieces; p++) {
        if (pair_repeat_start(plan, p))
            return true;
    }
    return false;
}

/* Orders the pieces of one sequence by start. */
static int pair_repeat_compare_pieces(const void *a, const void *b)
{
    int64_t x = ((const struct bl_pair_repeat_piece *)a)->start, y = ((const struct bl_pair_repeat_piece *)b)->start;
    return x < y ? -1 : x > y;
}

int bl_pair_repeat_find_places(struct bl_pair_repeat_places *places, const struct bl_plan *plan, size_t count,
                               struct bl_error *e)
{
    /* A random partition puts two given pieces into one block with this probability: pairs that share a block by all
     * pairs. */
    double pairs = 0.5 * (double)plan->pieces * ((double)plan->pieces - 1);
    bool is_cut = pair_repeat_is_cut(plan);
    *places = (struct bl_pair_repeat_places){.count = count};
    BL_TRY(pair_repeat_check(plan, count, e));
    places->random = pairs > 0 ? (double)bl_pair_repeat_count_pairs(plan) / pairs : 0;
    places->place = calloc(count + 1, sizeof *places->place);
    places->met = calloc(plan->blocks + 1, sizeof *places->met);
    if (is_cut)
        places->piece = malloc((plan->pieces + 1) * sizeof *places->piece);
    if (!places->place || !places->met || (is_cut && !places->piece))
        return bl_error_memory(e);
    if (is_cut) {
        /* Sorts the pieces by sequence by counting, then those of a sequence by start. */
        uint32_t *place = places->place;
        for (size_t p = 0; p < plan->pieces; p++)
            place[plan->sequence[p]]++;
        for (size_t i = 0, sum = 0; i <= places->count; i++) {
            sum += place[i];
            place[i] = (uint32_t)sum; /* its end: filled from there */
        }
        for (size_t b = 0; b < plan->blocks; b++) {
            for (int64_t p = plan->block_ptr[b]; p < plan->block_ptr[b + 1]; p++)
                places->piece[--place[plan->sequence[p]]] =
                    (struct bl_pair_repeat_piece){pair_repeat_start(plan, (size_t)p), (uint32_t)b};
        }
        for (size_t i = 0; i < places->count; i++) {
            if (place[i + 1] - place[i] > 1)
                qsort(places->piece + place[i], place[i + 1] - place[i], sizeof *places->piece,
                      pair_repeat_compare_pieces);
        }
    } else {
        for (size_t i = 0; i <= places->count; i++)
            places->place[i] = NOWHERE;
        for (size_t b = 0; b < plan->blocks; b++) {
            for (int64_t p = plan->block_ptr[b]; p < plan->block_ptr[b + 1]; p++)
                places->place[plan->sequence[p]] = (uint32_t)b;
        }
    }
    return BL_OK;
}

void bl_pair_repeat_free_places(struct bl_pair_repeat_places *places)
{
    free(places->place);
    free(places->piece);
    free(places->met);
    *places = (struct bl_pair_repeat_places){0};
}

/* Returns the block of *places that has piece p of the plan, or NOWHERE. */
static uint32_t pair_repeat_find(const struct bl_pair_repeat_places *places, const struct bl_plan *plan, size_t p)
{
    const uint32_t *place = places->place + plan->sequence[p];
    const struct bl_pair_repeat_piece key = {pair_repeat_start(plan, p), 0};
    if (!places->piece)
        return key.start ? NOWHERE : *place;
    const struct bl_pair_repeat_piece *found =
        bsearch(&key, places->piece + place[0], place[1] - place[0], sizeof key, pair_repeat_compare_pieces);
    return found ? found->block : NOWHERE;
}

/* Returns how many pairs of a block share a block of the other plan, too. met[] counts the pieces seen so far for each
 * block there: a piece makes a pair with each of them. The second loop resets only the counters that were used. */
static uint64_t pair_repeat_count_again(const struct bl_plan *plan, size_t block, struct bl_pair_repeat_places *other)
{
    size_t begin = (size_t)plan->block_ptr[block], end = (size_t)plan->block_ptr[block + 1];
    uint64_t again = 0;
    for (size_t p = begin; p < end; p++) {
        uint32_t there = pair_repeat_find(other, plan, p);
        if (there != NOWHERE)
            again += other->met[there]++;
    }
    for (size_t p = begin; p < end; p++) {
        uint32_t there = pair_repeat_find(other, plan, p);
        if (there != NOWHERE)
            other->met[there] = 0;
    }
    return again;
}

int bl_pair_repeat_count(struct bl_pair_repeat *pair_repeat, const struct bl_plan *plan,
                         struct bl_pair_repeat_places *other, struct bl_error *e)
{
    BL_TRY(pair_repeat_check(plan, other->count, e));
    *pair_repeat = (struct bl_pair_repeat){
        .is_measured = true, .pairs = bl_pair_repeat_count_pairs(plan), .random = other->random};
    for (size_t b = 0; b < plan->blocks; b++)
        pair_repeat->again += pair_repeat_count_again(plan, b, other);
    return BL_OK;
}

int bl_pair_repeat_measure(struct bl_pair_repeat *pair_repeat, const struct bl_plan *first,
                           const struct bl_plan *second, size_t count, struct bl_error *e)
{
    struct bl_pair_repeat_places places;
    int code = bl_pair_repeat_find_places(&places, second, count, e);
    if (!code)
        code = bl_pair_repeat_count(pair_repeat, first, &places, e);
    bl_pair_repeat_free_places(&places);
    return code;
}

/* --- loss --------------------------------------------------------------------------------------------------------- */

/* The loss is proven as follows. Sort the W waits by their most expensive piece. The first k - 1 waits have room for a
 * limited number of steps and pieces, so the k-th has a piece at least as expensive as t(k - 1): the first piece, from
 * the most expensive on, that this room cannot hold in addition. The rank with that piece costs as much or more. The
 * steps of the first k waits cost at most m(k), by filling them with the pieces of the highest cost per step. So for
 * every k
 *
 *     lost >= t(0) + ... + t(k - 1) - m(k) / ranks
 *
 * as the other waits lose at least 0. The highest of these is the bound. */
struct loss_piece {
    double cost, steps;
};

struct loss {
    struct loss_piece *by_cost, *by_density; /* expensive pieces; the second also has all others, as one piece */
    size_t count;                            /* expensive pieces */
    double cost;                             /* of all pieces */
};

/* Orders pieces by cost, the most expensive first. */
static int loss_compare_cost(const void *a, const void *b)
{
    const struct loss_piece *x = a, *y = b;
    return (x->cost < y->cost) - (x->cost > y->cost);
}

/* Orders pieces by cost per step, the densest first. Cross products avoid divisions; every piece has a step. */
static int loss_compare_density(const void *a, const void *b)
{
    const struct loss_piece *x = a, *y = b;
    double left = x->cost * y->steps, right = y->cost * x->steps;
    return (left < right) - (left > right);
}

/* Returns the highest bound over k = 1 .. waits, in units of cost. steps, places: the steps and the sequences that one
 * wait has room for. */
static double loss_find(const struct loss *l, size_t waits, double ranks, double steps, double places)
{
    double most = 0, max_cost = 0, taken = 0, filled = 0, placed = 0;
    size_t next = 0, dense = 0;
    for (size_t k = 1; k <= waits; k++) {
        double room = steps * (double)k, before = steps * (double)(k - 1);
        while (next < l->count && placed <= before && (double)next <= places * (double)(k - 1))
            placed += l->by_cost[next++].steps;
        if (placed <= before && (double)next <= places * (double)(k - 1))
            break; /* t(k - 1) is the cost of a cheap piece, which is not known: later k prove less */
        max_cost += l->by_cost[next - 1].cost;
        while (dense <= l->count && filled + l->by_density[dense].steps <= room) {
            filled += l->by_density[dense].steps;
            taken += l->by_density[dense++].cost;
        }
        double part = dense <= l->count ? (room - filled) * l->by_density[dense].cost / l->by_density[dense].steps : 0;
        double lost = max_cost - (taken + part) / ranks;
        most = lost > most ? lost : most;
    }
    return most;
}

/* Sets *lost to what all plans lose at least at point p, and *paid to the sum over the waits of the mean cost of a
 * rank. Both are costs. BL_EFAIL: out of memory. */
static int loss_bound_at(double *lost, double *paid, const struct bl_draft *d, const struct bl_cost *cost, int p,
                         const struct bl_ranks *ranks, int64_t max_sequences, struct bl_error *e)
{
    /* Blocks after the last whole wait are left out of the bound, as nobody waits there. */
    size_t wait = bl_ranks_wait(ranks), waits = d->blocks / wait, cells = waits * ranks->world_size;
    size_t most = (cells < d->pieces ? cells : d->pieces) + 1;
    struct loss l = {.by_cost = malloc(most * sizeof *l.by_cost),
                     .by_density = malloc((most + 1) * sizeof *l.by_density)};
    int code = l.by_cost && l.by_density ? BL_OK : bl_error_memory(e);
    *lost = *paid = 0;
    if (code || waits == 0)
        goto out;
    for (size_t i = 0; i < d->pieces; i++)
        l.cost += (double)bl_cost_piece(cost, p, d->sequence[i]);
    /* A cell is what one rank works on in one wait. At most `cells` pieces cost the mean cell or more, and these are
     * kept one by one. The others are replaced by one piece of the highest density among them, which can only raise
     * m(k). */
    double rest = 0, density = 0, least = l.cost / (double)cells;
    for (size_t i = 0; i < d->pieces; i++) {
        uint32_t id = d->sequence[i];
        const struct loss_piece piece = {(double)bl_cost_piece(cost, p, id),
                                         bl_cost_steps(cost, p, cost->pieces->lengths.length[id], id)};
        if (!(piece.steps > 0))
            continue; /* it has no own steps */
        if (piece.cost >= least && l.count < most) {
            l.by_cost[l.count] = l.by_density[l.count] = piece;
            l.count++;
            continue;
        }
        rest += piece.cost;
        density = piece.cost / piece.steps > density ? piece.cost / piece.steps : density;
    }
    l.by_density[l.count] = (struct loss_piece){rest, density > 0 ? rest / density : 1};
    qsort(l.by_cost, l.count, sizeof *l.by_cost, loss_compare_cost);
    qsort(l.by_density, l.count + 1, sizeof *l.by_density, loss_compare_density);
    *lost = loss_find(&l, waits, (double)ranks->world_size, (double)cost->point[p].most * (double)wait,
                      (double)max_sequences * (double)wait);
    *paid = (double)cost->point[p].block * (double)bl_ranks_turn(ranks) * (double)waits +
            l.cost / (double)ranks->world_size;
out:
    free(l.by_cost);
    free(l.by_density);
    return code;
}

/* A step loses the sum of what it loses at each point, so the bounds of the points add up. */
int bl_loss_bound(struct bl_plan_balance *balance, const struct bl_draft *d, const struct bl_cost *cost,
                  const struct bl_ranks *ranks, int64_t max_sequences, struct bl_error *e)
{
    double lost = 0, paid = 0;
    for (int p = 0; p < cost->points; p++) {
        double l, m;
        BL_TRY(loss_bound_at(&l, &m, d, cost, p, ranks, max_sequences, e));
        balance->point[p].bound = m > 0 ? l / m : 0;
        lost += l;
        paid += m;
    }
    balance->bound = paid > 0 ? lost / paid : 0;
    return BL_OK;
}
