#include "plan/plan.h"

#include <stdlib.h>

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
