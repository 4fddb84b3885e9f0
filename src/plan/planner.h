/* A planner holds everything about a list of lengths that does not depend on the seed. Plans of several epochs are
 * drawn from it without repeated counting and search.
 *
 * Calls: bl_planner_make, then bl_planner_draw for each seed, then bl_planner_free. bl_plan_make does all three for one
 * plan. */
#ifndef BL_PLANNER_H
#define BL_PLANNER_H

#include "plan/bundles.h"
#include "plan/pair_repeat.h"
#include "plan/cost.h"
#include "plan/fill.h"
#include "plan/needs.h"
#include "plan/plan.h"
#include "plan/strategy.h"

struct bl_planner {
    struct bl_plan_options options;
    const int64_t *length; /* [count] steps; the caller's; must outlive the planner */
    size_t count;
    struct bl_plan counts;     /* T, counts and bound of every plan; no tables */
    struct bl_pieces pieces;   /* what is planned: pieces of sequences, or bundles of them */
    struct bl_bundles bundles; /* the pieces of these bundles; count 0: there are none */
    struct bl_cost cost;
    struct bl_needs needs;
    struct bl_subproblems subproblems;
    /* The caller's partitions that no plan shall have again, to which every plan adds its partition; NULL: any
     * partition is allowed. The caller sets it after bl_planner_make, with the names of the sequences in the partitions
     * (NULL: their numbers). */
    struct bl_partitions *taken;
    const uint32_t *name;
    /* These members describe the last plan. */
    uint64_t seed;
    size_t removed;     /* blocks that --remainder drop removed */
    uint64_t partition; /* hash of its partition */
    bool is_repeated;   /* sequences share blocks as in an earlier plan: no other partition into as many was found */
};

/* Checks the options, cuts the sequences, and searches for blocks. Errors as of bl_plan_make; then *planner is
 * empty. */
int bl_planner_make(struct bl_planner *planner, const int64_t *length, size_t count,
                    const struct bl_plan_options *options, struct bl_error *e);

/* Adopts the patterns of another plan over the same lengths, in which piece i is sequence i: the plans then have as
 * many blocks as that plan, and the seed draws which sequences of equal length share one. With groups, the other plan
 * must have kept them apart. BL_EFAIL: out of memory. */
int bl_planner_adopt(struct bl_planner *planner, const struct bl_plan *plan, struct bl_error *e);

/* Returns the hash of the partition of the plan that bl_planner_adopt adopts, for planner->taken. */
uint64_t bl_planner_hash_adopted(const struct bl_planner *planner, const struct bl_plan *plan);
/* Frees everything except the caller's arrays; {0} is accepted. */
void bl_planner_free(struct bl_planner *planner);

/* Draws the plan of a seed, with at least min_blocks blocks if sequences or padding allow it (0: as few as possible).
 * The caller frees the plan. Where its partition is taken, seeds that follow from this one are tried, then exchanges
 * between blocks. last: no further plan is needed, so the planner frees memory as it proceeds, unless another try may
 * need it. Errors as of bl_plan_make. */
int bl_planner_draw(struct bl_planner *planner, uint64_t seed, size_t min_blocks, bool last, struct bl_plan *plan,
                    struct bl_error *e);

/* Measures the pair repeat rate of a plan, the last one drawn, and that of the next seed, which it draws. The planner
 * is not needed afterwards. Where partitions are taken, the second plan avoids them, as the plan of the next epoch
 * does. */
int bl_planner_measure_pair_repeat(struct bl_planner *planner, const struct bl_plan *plan,
                                   struct bl_pair_repeat *pair_repeat, struct bl_error *e);

#endif
