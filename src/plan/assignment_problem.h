/* The problem of an assignment, in numbers that its search compares: bundles, and the groups that they form. */
#ifndef BL_ASSIGNMENT_PROBLEM_H
#define BL_ASSIGNMENT_PROBLEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/relief.h"

/* A bundle is one sequence, or all that are in one micro-batch together. A group is one bundle, or all that are on one
 * rank together. Costs are in units: tokens, or such that all costs together are about 2^50. */
struct bl_assignment_problem {
    size_t ranks, rows; /* rows: micro-batches of each rank */
    int64_t cap;        /* tokens of a micro-batch; 0: no maximum */
    bool is_micro;      /* ranks wait after every micro-batch */
    size_t bundles, groups;
    int64_t *length, *cost;             /* [bundles] */
    uint32_t *group;                    /* [bundles] */
    uint32_t *first, *member;           /* [groups + 1], [bundles]: the bundles of each group, the longest first */
    int64_t *group_length, *group_cost; /* [groups] */
    int64_t target;                     /* units: no assignment loses less */
    int64_t blocks; /* proven: all bundles take at least so many micro-batches; raised by the search */
    const volatile int *cancel;
};

/* The places of the bundles. Bin r * rows + m is micro-batch m of rank r. */
struct bl_assignment_state {
    uint32_t *rank;        /* [groups] */
    uint32_t *bin;         /* [bundles] */
    int64_t *used;         /* [ranks * rows] tokens */
    struct bl_holder *own; /* [ranks * rows] or [ranks]: what the present search exchanges */
    size_t holders;
    int64_t lost; /* in units: the sum of the highest costs */
};

/* Returns BL_ECANCEL if the caller has cancelled the assignment. */
static inline int bl_assignment_check_cancelled(const struct bl_assignment_problem *p, struct bl_error *e)
{
    return p->cancel && *p->cancel ? bl_error_set(e, BL_ECANCEL, "cancelled") : BL_OK;
}

/* A cost with the number of what has it. */
struct bl_assignment_costed {
    int64_t cost;
    uint32_t number;
};

/* Orders costs for qsort, the highest first, and equal ones by number. */
int bl_assignment_costed_compare(const void *a, const void *b);

/* Makes an empty state for p->rows, and frees one; {0} is accepted. */
int bl_assignment_state_make(struct bl_assignment_state *s, const struct bl_assignment_problem *p, struct bl_error *e);
void bl_assignment_state_free(struct bl_assignment_state *s);

/* Packs bundles into at most `most` blocks of p->cap tokens, if the search finds out how. id: [count] bundles; block:
 * set for each of them. *blocks: how many blocks there are; *bound: raised to what is proven. BL_EFAIL: out of
 * memory. */
int bl_assignment_pack(uint32_t *block, size_t *blocks, int64_t *bound, const struct bl_assignment_problem *p,
                       const uint32_t *id, size_t count, size_t most, struct bl_error *e);

/* Exchanges bundles between ranks and micro-batches, so that less is lost. part: the work is divided by it. Errors as
 * of bl_assignment_make. */
int bl_assignment_level_ranks(struct bl_assignment_state *s, const struct bl_assignment_problem *p, struct bl_error *e);
int bl_assignment_level_bins(struct bl_assignment_state *s, const struct bl_assignment_problem *p, int part,
                             struct bl_error *e);

/* Gives empty micro-batches a bundle where no more is lost. BL_EFAIL: out of memory. */
int bl_assignment_fill_empty(struct bl_assignment_state *s, const struct bl_assignment_problem *p, struct bl_error *e);

/* Begins with rows of micro-batches that cost the same; for p->is_micro and without groups. *is_found: false if a
 * micro-batch exceeds p->cap. BL_EFAIL: out of memory. */
int bl_assignment_begin_by_rows(struct bl_assignment_state *s, const struct bl_assignment_problem *p, bool *is_found,
                                struct bl_error *e);

/* Finds the best assignment to p->rows micro-batches on each rank. *is_found: false if the search finds none within
 * p->cap. The caller frees *best. */
int bl_assignment_search(struct bl_assignment_state *best, struct bl_assignment_problem *p, bool *is_found,
                         struct bl_error *e);

#endif
