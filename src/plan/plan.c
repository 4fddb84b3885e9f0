/* A file of its own, because every stage includes plan.h, and these functions need no other file of the planner.
 *
 * They free a plan, make room for its pieces, find its alignment, and compute its efficiency. */
#include "plan/plan.h"

#include <stdio.h>
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

/* --- alignment ---------------------------------------------------------------------------------------------------- */

int64_t bl_plan_options_align(const struct bl_plan_options *o)
{
    int64_t align = o->align > 1 ? o->align : 1;
    return align == 1 && o->cp ? 2 * o->cp : align;
}

int bl_plan_options_check_cp(const struct bl_plan_options *o, int64_t T, struct bl_error *e)
{
    int64_t align = bl_plan_options_align(o), below = T / align * align;
    if (!o->cp)
        return BL_OK;
    if (align % (2 * o->cp))
        return bl_error_set(e, BL_EUSAGE,
                            "--cp %lld divides each sequence into %lld chunks, so --align must be a multiple of %lld, "
                            "not %lld: leave --align out, or give --align %lld",
                            (long long)o->cp, (long long)(2 * o->cp), (long long)(2 * o->cp), (long long)align,
                            (long long)(2 * o->cp * (align / (2 * o->cp) + 1)));
    if (below == T)
        return BL_OK;
    char smaller[40] = "";
    if (below)
        snprintf(smaller, sizeof smaller, " or -T %lld", (long long)below);
    return bl_error_set(e, BL_EUSAGE, "T = %lld is not a multiple of %lld, as --cp %lld needs: use -T %lld%s",
                        (long long)T, (long long)align, (long long)o->cp, (long long)(below + align), smaller);
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
