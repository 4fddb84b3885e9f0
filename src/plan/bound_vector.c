#include "plan/bound_vector.h"

#include <stdlib.h>

#include "plan/bound.h"
#include "plan/fill.h"

enum { SHARES = 1 << 19 }; /* of what a block has of one kind: there are no more different sums than fills take */

/* Finds the two kinds that fill the most blocks. */
static void loads_find_kinds(const struct bl_loads *l, int kind[2])
{
    double most[2] = {-1, -1};
    for (int k = 0; k < l->kinds; k++) {
        double blocks = 0;
        for (uint32_t p = 0; p < l->pieces; p++)
            blocks += (double)bl_loads_piece(l, p, k) / (double)l->most.of[k];
        int place = blocks > most[0] ? 0 : 1;
        if (place == 0) {
            kind[1] = kind[0];
            most[1] = most[0];
        }
        if (blocks > most[place]) {
            kind[place] = k;
            most[place] = blocks;
        }
    }
}

/* Returns the sums, [pieces], in SHARES rounded down. NULL: out of memory. */
static int64_t *loads_add_shares(const struct bl_loads *l)
{
    int kind[2] = {0, 0};
    int64_t *sum = calloc(l->pieces + 1, sizeof *sum);
    loads_find_kinds(l, kind);
    for (uint32_t p = 0; sum && p < l->pieces; p++)
        for (int i = 0; i < 2; i++)
            sum[p] += bl_loads_piece(l, p, kind[i]) * SHARES / l->most.of[kind[i]];
    return sum;
}

int bl_bound_vector(int64_t *bound, const struct bl_loads *l, const struct bl_limits *limits, struct bl_error *e)
{
    int64_t *sum = loads_add_shares(l), raised = 0;
    struct bl_limits both = *limits;
    both.T = 2 * SHARES;
    struct bl_subproblem s = {.lengths = {sum, NULL, l->pieces, 1, both.T, 1, both.T}};
    int code = sum ? bl_histogram_make(&s.h, &s.lengths, e) : bl_error_memory(e);
    if (!code && s.h.distinct) {
        raised = bl_bound_blocks(&s.h, both.T);
        code = bl_fill_prepare_bound(&s, &raised, &both, e);
    }
    *bound = raised > *bound ? raised : *bound;
    bl_subproblem_free(&s);
    free(sum);
    return code;
}
