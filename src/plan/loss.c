/* A lower bound. Let there be N waits of W ranks, each with M blocks of at most T steps and S sequences between two
 * waits. Every rank pays alpha T M in every wait; leave it out, and let C be the sum of the costs of all pieces. The
 * ranks lose  sum over waits of (dearest rank - mean rank),  to be divided by  alpha T M N + C / W.
 *
 * Number the waits of any plan by the dearest piece in each, downwards. Pieces by cost are v1 >= v2 >= ...; the first j
 * waits hold at most j W M T steps and j W M S pieces. If the first n pieces have more steps, or are more, one of them
 * lies in a later wait: so the dearest piece of wait j + 1 costs at least t(j) = vn for the least such n, and so does
 * its dearest rank. The pieces of the first k waits cost at most F(k), a knapsack of k W M T steps filled with the
 * densest pieces (cost by steps), the last one in part. The other waits lose at least 0, and the first k lose
 *
 *     sum over j < k of t(j)  -  F(k) / W  at least, for every k.
 *
 * A wait adds to this only while t(j) exceeds the rest's mean cost of a rank, at least (C - F(k)) / (W (N - k)) since F
 * is concave: so pieces that cost less than C / (W N) need not be sorted. In F they are one piece, as dense as the
 * densest of them. */
#include "plan/loss.h"

#include <stdlib.h>

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
