#include "plan/plan.h"

#include <stdlib.h>

#include "plan/planner.h"

int bl_plan_make(struct bl_plan *plan, const int64_t *length, size_t count, const struct bl_plan_options *options,
                 struct bl_error *e)
{
    struct bl_planner planner;
    *plan = (struct bl_plan){0};
    int code = bl_planner_make(&planner, length, count, options, e);
    if (code == 0)
        code = bl_planner_draw(&planner, options->seed, 0, 1, plan, e);
    bl_planner_free(&planner);
    return code;
}

void bl_plan_free(struct bl_plan *plan)
{
    free(plan->block_ptr);
    free(plan->sequence);
    free(plan->length);
    free(plan->source_start);
    *plan = (struct bl_plan){0};
}

double bl_plan_efficiency(const struct bl_plan *plan)
{
    if (plan->blocks == 0)
        return 0;
    return (double)(plan->steps - plan->deleted) / ((double)plan->blocks * (double)plan->T);
}
