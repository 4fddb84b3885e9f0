/* A planner: everything about a list of lengths that does not depend on the seed. Plans for several epochs are drawn
 * from it without repeated counting and search. */
#ifndef BL_PLANNER_H
#define BL_PLANNER_H

#include "plan/fill.h"
#include "plan/piece.h"
#include "plan/plan.h"

struct bl_planner {
    struct bl_plan_options options;
    const int64_t *length; /* the caller's; must outlive the planner */
    size_t count;
    struct bl_plan counts; /* T, counts and bound of every plan; no tables */
    struct bl_pieces pieces;
    struct bl_subproblems subproblems;
    size_t removed; /* blocks that --remainder drop removed from the last plan */
};

/* Errors as bl_plan_make; then *planner is empty. */
int bl_planner_make(struct bl_planner *planner, const int64_t *length, size_t count,
                    const struct bl_plan_options *options, struct bl_error *e);

/* Adopts the patterns of another plan over the same lengths, in which piece i is sequence i: the same lengths share
 * blocks, so plans have as many blocks with as many sequences. For planners made with BL_FILL_OPTIMAL or BL_FILL_PAPER;
 * with groups, the other plan must have kept them apart. BL_EFAIL: out of memory. */
int bl_planner_adopt(struct bl_planner *planner, const struct bl_plan *plan, struct bl_error *e);
void bl_planner_free(struct bl_planner *planner);

/* Draws the plan of a seed, with at least min_blocks blocks if sequences or padding allow it (0: as few as possible).
 * last: the planner is not needed any more, and frees memory as it proceeds. */
int bl_planner_draw(struct bl_planner *planner, uint64_t seed, size_t min_blocks, bool last, struct bl_plan *plan,
                    struct bl_error *e);

#endif
