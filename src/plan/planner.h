/* A planner: everything about a list of lengths that is the same for every seed. Plans are drawn from it, one for each
 * epoch, without counting the lengths or searching for patterns again. */
#ifndef BL_PLANNER_H
#define BL_PLANNER_H

#include "plan/fills.h"
#include "plan/piece.h"
#include "plan/plan.h"

struct bl_planner {
    struct bl_plan_options options;
    const int64_t *length; /* the caller's, needed as long as the planner */
    size_t count;
    struct bl_plan counts; /* T, counts and bound of every plan; no tables */
    struct bl_pieces pieces;
    struct bl_subproblem *subproblem;
    size_t subproblems;
    uint32_t *member; /* pieces by group, or NULL */
    size_t removed;   /* blocks that --remainder drop took from the plan drawn last */
};

/* Errors as bl_plan_make; then *planner is empty. */
int bl_planner_make(struct bl_planner *planner, const int64_t *length, size_t count,
                    const struct bl_plan_options *options, struct bl_error *e);

/* Fills as another plan over the same lengths does, piece i of it being sequence i: the same lengths together, and so
 * as many blocks and as many sequences in them. For planners that were made with BL_FILL_OPTIMAL or BL_FILL_PAPER; with
 * groups, those that the other plan kept apart. Errors: BL_EFAIL, no memory. */
int bl_planner_adopt(struct bl_planner *planner, const struct bl_plan *plan, struct bl_error *e);
void bl_planner_free(struct bl_planner *planner);

/* A plan by that seed, of at least min_blocks blocks where sequences or padding can make so many (0: as few as they
 * are). last: the planner is not needed any more, and gives up memory as it goes. */
int bl_planner_draw(struct bl_planner *planner, uint64_t seed, size_t min_blocks, bool last, struct bl_plan *plan,
                    struct bl_error *e);

#endif
