/* A file of its own, because every stage includes plan.h, and these functions need no other file of the planner.
 *
 * They free a plan, make room for its pieces, and compute its efficiency. */
#include "plan/plan.h"

#include <stdlib.h>

#include "base/buffer.h"

void bl_plan_free(struct bl_plan *plan)
{
    free(plan->block_ptr);
    free(plan->sequence);
    free(plan->length);
    free(plan->source_start);
    for (int f = 0; f < plan->own.count; f++)
        free(plan->own.field[f].piece);
    *plan = (struct bl_plan){0};
}

int bl_plan_reserve(struct bl_plan *plan, size_t *capacity, size_t pieces, struct bl_error *e)
{
    if (pieces <= *capacity)
        return BL_OK;
    /* The three arrays grow together. *capacity changes only after all three have grown, so a failed call can be
     * repeated. */
    size_t more = bl_array_capacity(*capacity, pieces);
    int code = BL_ARRAY_RESIZE(plan->sequence, more, e);
    if (!code)
        code = BL_ARRAY_RESIZE(plan->length, more, e);
    if (!code)
        code = BL_ARRAY_RESIZE(plan->source_start, more, e);
    *capacity = code ? *capacity : more;
    return code;
}

/* Alignment costs no steps after the last piece of a block, since what follows is padding in any case. */
int64_t bl_plan_align_padding(const struct bl_plan *plan, const int64_t *length)
{
    int64_t padding = 0;
    for (size_t b = 0; plan->align > 1 && b < plan->blocks; b++)
        for (size_t p = (size_t)plan->block_ptr[b]; p + 1 < (size_t)plan->block_ptr[b + 1]; p++)
            padding += bl_plan_next_start(plan, 0, bl_plan_piece_length(plan, length, p)) -
                       bl_plan_piece_length(plan, length, p);
    return padding;
}

/* An empty plan has no blocks to divide by. */
double bl_plan_efficiency(const struct bl_plan *plan)
{
    if (plan->blocks == 0)
        return 0;
    return (double)bl_plan_placed(plan) / ((double)plan->blocks * (double)plan->T);
}
