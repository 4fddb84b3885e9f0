#include "plan/loss.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/random.h"

/* --- loss --------------------------------------------------------------------------------------------------------- */

struct loss_piece {
    double cost, steps;
};

struct loss {
    struct loss_piece *by_cost, *by_density; /* the dear pieces; the second also has the others, as one */
    size_t count;
    double cost;             /* C */
    struct loss_piece cheap; /* the others: their cost, and the density of the densest as cost by 1 step */
};

static int loss_compare_cost(const void *a, const void *b)
{
    const struct loss_piece *x = a, *y = b;
    return (x->cost < y->cost) - (x->cost > y->cost);
}

/* Cross products instead of quotients: pieces have steps. */
static int loss_compare_density(const void *a, const void *b)
{
    const struct loss_piece *x = a, *y = b;
    double left = x->cost * y->steps, right = y->cost * x->steps;
    return (left < right) - (left > right);
}

/* Collects the pieces that cost at least `least`; room for `most` of them. */
static void loss_collect(struct loss *l, const struct bl_draft *d, const struct bl_cost *cost, double least,
                         size_t most)
{
    double rest = 0, density = 0;
    for (size_t p = 0; p < d->pieces; p++) {
        const struct loss_piece piece = {(double)bl_cost_piece(cost, d->sequence[p]),
                                         (double)cost->pieces->lengths.length[d->sequence[p]]};
        if (piece.cost >= least && l->count < most) {
            l->by_cost[l->count] = l->by_density[l->count] = piece;
            l->count++;
            continue;
        }
        rest += piece.cost;
        density = piece.cost / piece.steps > density ? piece.cost / piece.steps : density;
    }
    l->by_density[l->count] = (struct loss_piece){rest, density > 0 ? rest / density : 1};
    qsort(l->by_cost, l->count, sizeof *l->by_cost, loss_compare_cost);
    qsort(l->by_density, l->count + 1, sizeof *l->by_density, loss_compare_density);
}

/* Returns the most that the ranks lose for any k, in cost. */
static double loss_find(const struct loss *l, size_t waits, double ranks, double steps, double places)
{
    double most = 0, dearest = 0, taken = 0, filled = 0, placed = 0;
    size_t next = 0, dense = 0;
    for (size_t k = 1; k <= waits; k++) {
        double room = steps * (double)k, before = steps * (double)(k - 1);
        while (next < l->count && placed <= before && (double)next <= places * (double)(k - 1))
            placed += l->by_cost[next++].steps;
        if (placed <= before && (double)next <= places * (double)(k - 1))
            break; /* t(k - 1) is of a cheap piece */
        dearest += l->by_cost[next - 1].cost;
        while (dense <= l->count && filled + l->by_density[dense].steps <= room) {
            filled += l->by_density[dense].steps;
            taken += l->by_density[dense++].cost;
        }
        double part = dense <= l->count ? (room - filled) * l->by_density[dense].cost / l->by_density[dense].steps : 0;
        double lost = dearest - (taken + part) / ranks;
        most = lost > most ? lost : most;
    }
    return most;
}

int bl_loss_bound(double *bound, const struct bl_draft *d, const struct bl_cost *cost, const struct bl_ranks *ranks,
                  const struct bl_plan_options *options, int64_t T, struct bl_error *e)
{
    size_t wait = bl_ranks_wait(ranks), waits = d->blocks / wait, cells = waits * ranks->world_size;
    size_t most = (cells < d->pieces ? cells : d->pieces) + 1;
    struct loss l = {.by_cost = malloc(most * sizeof *l.by_cost),
                     .by_density = malloc((most + 1) * sizeof *l.by_density)};
    int code = l.by_cost && l.by_density ? BL_OK : bl_error_memory(e);
    *bound = 0;
    if (code || waits == 0)
        goto out;
    for (size_t p = 0; p < d->pieces; p++)
        l.cost += (double)bl_cost_piece(cost, d->sequence[p]);
    loss_collect(&l, d, cost, l.cost / (double)cells, most);
    double lost = loss_find(&l, waits, (double)ranks->world_size, (double)T * (double)wait,
                            (double)options->max_sequences * (double)wait);
    double paid =
        (double)cost->block * (double)bl_ranks_turn(ranks) * (double)waits + l.cost / (double)ranks->world_size;
    *bound = paid > 0 ? lost / paid : 0;
out:
    free(l.by_cost);
    free(l.by_density);
    return code;
}

/* --- mix ---------------------------------------------------------------------------------------------------------- */

/* The Kolmogorov-Smirnov distance between a wait and the whole: over all costs x, the greatest difference between the
 * shares of steps that lie in sequences of cost up to x. Costs are taken in CLASSES classes of about equally many steps
 * each, so that the distance is exact to about 1 / CLASSES, and takes one pass. */

enum {
    CLASSES = 128,
    FRACTION_BITS = 6, /* costs of a bin differ by at most 1 / 64 */
    BINS = 64 << FRACTION_BITS
};

struct mix {
    const struct bl_costed *block;
    size_t blocks;
    const uint32_t *sequence;
    const struct bl_cost *cost;
    double steps[BINS]; /* of all sequences, by cost */
    uint8_t class_of[BINS];
    double whole[CLASSES]; /* share of the steps up to a class */
};

/* Bins ascend by cost: the position of the leading bit, and the bits that follow it. */
static size_t mix_bin(int64_t cost)
{
    uint64_t value = (uint64_t)cost + (UINT64_C(1) << FRACTION_BITS);
    int top = 63 - __builtin_clzll(value);
    return (size_t)(top - FRACTION_BITS) << FRACTION_BITS |
           (value >> (top - FRACTION_BITS) & ((1 << FRACTION_BITS) - 1));
}

static void mix_add_block(const struct mix *m, size_t b, double *steps, const uint8_t *class_of)
{
    const uint32_t *piece = m->sequence + bl_entry_first(m->block[b].entry);
    for (size_t p = 0; p < bl_entry_size(m->block[b].entry); p++) {
        size_t bin = mix_bin(bl_cost_piece(m->cost, piece[p]));
        steps[class_of ? class_of[bin] : bin] += (double)m->cost->pieces->lengths.length[piece[p]];
    }
}

static void mix_make_classes(struct mix *m)
{
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
}

/* Returns the mean distance of waits of `wait` blocks each. order: of the blocks, or NULL: as they are. */
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

/* Sets the correlation of neighbours; 0 where all blocks cost the same. */
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
    balance->neighbours = variance > 1e-18 * mean * mean * (double)blocks ? product / variance : 0;
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
    mix_make_classes(m);
    mix_correlate(balance, block, blocks);
    balance->apart = mix_distance(m, NULL, bl_ranks_wait(ranks));
    struct bl_random random;
    bl_random_seed(&random, seed, BL_STREAM_MIX);
    for (size_t b = 0; b < blocks; b++)
        order[b] = (uint32_t)b;
    bl_random_shuffle_u32(&random, order, blocks);
    balance->apart_drawn = mix_distance(m, order, bl_ranks_wait(ranks));
out:
    free(m);
    free(order);
    return code;
}
