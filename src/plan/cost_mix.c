/* Measures how far the waits of a plan are from fair samples of all blocks.
 *
 * The measure is the Kolmogorov-Smirnov distance between a wait and the whole: over all costs x, the greatest
 * difference between the shares of steps that lie in sequences of cost up to x. Costs are taken in CLASSES classes of
 * about equally many steps each: the distance is exact to about 1 / CLASSES, and one pass over the pieces is enough. */
#include <math.h>
#include <stdlib.h>

#include "plan/balance.h"
#include "plan/random.h"

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
        uint64_t value = UINT64_C(1) << FRACTION_BITS;
        for (int k = 0; k < m->cost->points; k++)
            value += (uint64_t)bl_cost_piece(m->cost, k, piece[p]);
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
