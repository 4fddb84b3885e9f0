/* From lengths to a plan: settle T, cut the pieces, find out how to fill blocks with them, draw who goes where, and
 * translate pieces back to sequences. */
#include "plan/plan.h"

#include <stdlib.h>

#include "plan/bound.h"
#include "plan/fill.h"
#include "plan/piece.h"
#include "plan/place.h"

/* Sums of steps stay below this, so that adding two of them cannot overflow. */
#define STEPS_MAX (INT64_C(1) << 62)

static int check_options(const struct bl_plan_options *o, struct bl_error *e)
{
    if (o->T < 0 || o->T > BL_T_MAX)
        return bl_error_set(e, BL_EUSAGE, "T = %lld is not between 1 and %lld", (long long)o->T, (long long)BL_T_MAX);
    if (o->clip < 0 || o->clip > BL_T_MAX)
        return bl_error_set(e, BL_EUSAGE, "a clip of %lld steps is not between 1 and %lld", (long long)o->clip,
                            (long long)BL_T_MAX);
    if ((unsigned)o->strategy > BL_STRATEGY_BLOCK || (unsigned)o->fill > BL_FILL_PAPER ||
        (unsigned)o->oversize > BL_OVERSIZE_DROP || (unsigned)o->clips > BL_CLIPS_ALL)
        return bl_error_set(e, BL_EUSAGE, "unknown strategy, fill, oversize or clips");
    return 0;
}

static int add_up(struct bl_plan *plan, const int64_t *length, size_t count, struct bl_error *e)
{
    if (count > BL_SEQUENCES_MAX)
        return bl_error_set(e, BL_EFAIL, "%zu sequences are more than the %lld that one plan can hold", count,
                            (long long)BL_SEQUENCES_MAX);
    for (size_t i = 0; i < count; i++) {
        if (length[i] < 0)
            return bl_error_set(e, BL_EFAIL, "sequence %zu has a negative length, %lld", i, (long long)length[i]);
        if (length[i] > STEPS_MAX - plan->steps)
            return bl_error_set(e, BL_EFAIL, "more than 2^62 steps in all, from sequence %zu on", i);
        plan->steps += length[i];
        plan->sequences += length[i] > 0;
        if (length[i] > plan->longest)
            plan->longest = length[i];
    }
    if (plan->sequences == 0)
        return bl_error_set(e, BL_EFAIL, "nothing to plan: no sequence has a step");
    return 0;
}

static int uses_clip(const struct bl_plan_options *o)
{
    return o->strategy == BL_STRATEGY_SAMPLE || o->strategy == BL_STRATEGY_MIX;
}

static int refuse_oversize(const struct bl_plan *plan, const int64_t *length, size_t count, struct bl_error *e)
{
    for (size_t i = 0; i < count; i++)
        if (length[i] > plan->T)
            return bl_error_set(e, BL_EFAIL, "sequence %zu has %lld steps, more than T = %lld", i, (long long)length[i],
                                (long long)plan->T);
    return 0;
}

static int settle_T(struct bl_plan *plan, const int64_t *length, size_t count, const struct bl_plan_options *o,
                    struct bl_error *e)
{
    int64_t mean = plan->steps / plan->sequences;
    if (uses_clip(o))
        plan->T = o->clip ? o->clip : mean;
    else
        plan->T = o->T ? o->T : plan->longest;
    if (plan->T > BL_T_MAX)
        return bl_error_set(e, BL_EFAIL, "blocks of %lld steps are longer than the longest possible, %lld",
                            (long long)plan->T, (long long)BL_T_MAX);
    if (!uses_clip(o) && o->oversize == BL_OVERSIZE_ERROR)
        return refuse_oversize(plan, length, count, e);
    return 0;
}

static int fill_and_place(struct bl_plan *plan, const struct bl_pieces *pieces, const struct bl_plan_options *o,
                          struct bl_error *e)
{
    struct bl_histogram h;
    struct bl_patterns patterns = {0};
    int rc = bl_histogram_make(&h, &pieces->lengths, e);
    if (rc < 0)
        return rc;
    plan->lower_bound = bl_bound_blocks(&h, plan->T);
    if (o->strategy != BL_STRATEGY_BLOCK) {
        bl_histogram_free(&h); /* each length alone: room for the tables */
        rc = bl_place_alone(plan, &pieces->lengths, o->seed, e);
    } else if (o->fill == BL_FILL_PAPER) {
        rc = bl_place_paper(plan, &h, &pieces->lengths, plan->T, o->seed, e);
    } else {
        struct bl_fill_limits limits = {plan->T, UINT32_MAX, INT64_C(8000000000)};
        rc = bl_fill_optimal(&patterns, &plan->lower_bound, &h, &limits, e);
        if (rc == 0)
            rc = bl_place_patterns(plan, &patterns, &h, &pieces->lengths, o->seed, e);
    }
    bl_patterns_free(&patterns);
    bl_histogram_free(&h);
    return rc;
}

/* plan->sequence holds pieces; afterwards sequences, with length and start of the piece where anything was cut. */
static int name_sequences(struct bl_plan *plan, const struct bl_pieces *pieces, struct bl_error *e)
{
    if (!pieces->sequence)
        return 0;
    plan->length = malloc((plan->pieces + 1) * sizeof *plan->length);
    if (pieces->start)
        plan->source_start = malloc((plan->pieces + 1) * sizeof *plan->source_start);
    if (!plan->length || (pieces->start && !plan->source_start))
        return bl_error_memory(e);
    for (size_t p = 0; p < plan->pieces; p++) {
        uint32_t piece = plan->sequence[p];
        plan->sequence[p] = pieces->sequence[piece];
        plan->length[p] = pieces->length[piece];
        if (pieces->start)
            plan->source_start[p] = pieces->start[piece];
    }
    return 0;
}

int bl_plan_make(struct bl_plan *plan, const int64_t *length, size_t count, const struct bl_plan_options *options,
                 struct bl_error *e)
{
    *plan = (struct bl_plan){0};
    struct bl_pieces pieces = {0};
    int rc = check_options(options, e);
    if (rc == 0)
        rc = add_up(plan, length, count, e);
    if (rc == 0)
        rc = settle_T(plan, length, count, options, e);
    if (rc == 0)
        rc = bl_pieces_make(&pieces, length, count, options, plan->T, e);
    if (rc == 0 && pieces.count == 0)
        rc = bl_error_set(e, BL_EFAIL, "nothing to plan: none of the %lld sequences fits T = %lld",
                          (long long)plan->sequences, (long long)plan->T);
    if (rc == 0)
        rc = fill_and_place(plan, &pieces, options, e);
    if (rc == 0)
        rc = name_sequences(plan, &pieces, e);
    if (rc == 0) {
        plan->cut = pieces.cut;
        plan->dropped = pieces.dropped;
        plan->deleted = plan->steps - pieces.steps;
        plan->padding = (int64_t)plan->blocks * plan->T - pieces.steps;
    } else {
        bl_plan_free(plan);
    }
    bl_pieces_free(&pieces);
    return rc;
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
