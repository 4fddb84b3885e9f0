/* Assigns the sequences of one step of training to ranks and micro-batches, so that the ranks wait little for each
 * other.
 *
 * Example: lengths 6, 5, 4, 3 on two ranks of one micro-batch each are assigned as 6 + 3 and 5 + 4, and no rank
 * waits. Like a plan, an assignment depends on its arguments alone. */
#ifndef BL_ASSIGNMENT_H
#define BL_ASSIGNMENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/plan.h"

#define BL_ASSIGNMENT_RANKS_MAX 1048576
#define BL_ASSIGNMENT_BINS_MAX INT64_C(134217728) /* micro-batches of all ranks */

/* The pointers are the caller's. */
struct bl_assignment_options {
    int64_t ranks;
    int64_t micro_batches;        /* of each rank; 0: as few as max_tokens allows */
    int64_t max_tokens;           /* in a micro-batch; 0: no maximum */
    int64_t multiple;             /* the micro-batches of a rank are a multiple of it; 0: 1 */
    enum bl_sync sync;            /* whether ranks wait after every micro-batch, or after all of them */
    double cost_alpha, cost_beta; /* of each token, and of the squared length of a sequence; both 0: 1 and 0 */
    const double *cost;           /* [count] of each sequence, instead; NULL: none */
    const uint32_t *group;        /* [count] the sequences of one group are on one rank; NULL: no groups */
    const uint32_t *together;     /* [count] the sequences of one number are in one micro-batch; NULL: none */
    const volatile int *cancel;   /* as in struct bl_plan_options */
};

/* Owned by the caller. */
struct bl_assignment {
    int64_t ranks, micro_batches;
    int64_t micro_batches_bound; /* proven: no assignment within max_tokens has fewer micro-batches on a rank */
    int64_t *place;              /* [count] of each sequence: rank * micro_batches + micro-batch */
    double *cost;                /* [ranks * micro_batches] */
    int64_t *tokens;             /* [ranks * micro_batches] */
    double lost;                 /* what the ranks wait, as a part of the mean cost of a rank: see sync */
    double bound;                /* proven: no assignment to so many ranks loses less */
};

/* Assigns sequences of `length` tokens. BL_EUSAGE: a wrong option, length or cost, which the message names, or no
 * assignment is found. BL_EFAIL: out of memory. BL_ECANCEL. After errors *a is empty. */
int bl_assignment_make(struct bl_assignment *a, const int64_t *length, size_t count,
                       const struct bl_assignment_options *options, struct bl_error *e);
/* {0} is accepted. */
void bl_assignment_free(struct bl_assignment *a);

#endif
