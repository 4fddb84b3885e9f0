/* A plan given with --plan: reads it and compares it with the options. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "packing/internal.h"
#include "plan/planner.h"
#include "plan/strategy.h"
#include "store/index.h"
#include "store/plan_table.h"

/* A text table of a plan does not contain its lower bound; the same search finds it again. */
static int given_plan_prove_bound(struct bl_packing *p, struct bl_error *e)
{
    const struct bl_plan_options *said = p->request.plan_options;
    struct bl_plan *plan = &p->plan;
    struct bl_plan_options o = {.strategy = BL_STRATEGY_BLOCK,
                                .T = plan->T,
                                .align = plan->align,
                                .max_sequences = said->max_sequences,
                                .effort = said->effort};
    struct bl_planner planner = {0};
    if (said->strategy != BL_STRATEGY_BLOCK || !bl_strategy_has_fill(said))
        return BL_OK;
    int64_t *length = malloc(plan->pieces * sizeof *length);
    for (size_t i = 0; length && i < plan->pieces; i++)
        length[i] = bl_plan_piece_length(plan, p->table.length, i);
    int code = length ? bl_planner_make(&planner, length, plan->pieces, &o, e) : bl_error_memory(e);
    int64_t bound = planner.counts.lower_bound;
    if (code)
        goto out;
    if (bound > plan->lower_bound && bound <= (int64_t)plan->blocks)
        plan->lower_bound = bound;
out:
    bl_planner_free(&planner);
    free(length);
    return code;
}

/* The file's plan_info holds; options on the command line or in the YAML file must not contradict it. */
static int given_plan_adopt_info(const struct bl_options *given, int64_t overlap, struct bl_plan_info *plan_info,
                                 const struct bl_plan_info *its, const char *path, struct bl_error *e)
{
    const struct {
        const char *option;
        bool differs;
    } said[] = {{"strategy", strcmp(plan_info->strategy, its->strategy) != 0},
                {"fill", strcmp(plan_info->fill, its->fill) != 0},
                {"seed", plan_info->seed != its->seed && !its->seed_unknown},
                {"world-size", plan_info->world_size != its->world_size},
                {"batch-size", plan_info->batch_size != its->batch_size},
                {"overlap", overlap != its->overlap}};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        if (said[i].differs && bl_options_origin(given, said[i].option) != BL_ORIGIN_DEFAULT)
            return bl_error_set(e, BL_EUSAGE, "%s was made with another --%s", path, said[i].option);
    }
    memcpy(plan_info->strategy, its->strategy, sizeof plan_info->strategy);
    memcpy(plan_info->fill, its->fill, sizeof plan_info->fill);
    plan_info->seed = its->seed;
    plan_info->seed_unknown = its->seed_unknown;
    plan_info->world_size = its->world_size;
    plan_info->batch_size = its->batch_size;
    plan_info->batches_per_rank = its->batches_per_rank;
    return BL_OK;
}

/* Values that the file lacks come from the options, or are unknown. */
static void given_plan_guess_info(const struct bl_options *given, struct bl_plan_info *plan_info)
{
    plan_info->seed_unknown = bl_options_origin(given, "seed") == BL_ORIGIN_DEFAULT;
    if (bl_options_origin(given, "fill") == BL_ORIGIN_DEFAULT)
        plan_info->fill[0] = '\0';
}

static int given_plan_check(const struct bl_packing *p, struct bl_error *e)
{
    const struct bl_plan_info *w = &p->plan_info;
    if (p->request.plan_options->max_sequences && p->plan.max_sequences > p->request.plan_options->max_sequences)
        return bl_error_set(e, BL_EUSAGE, "%s has blocks of %" PRId64 " sequences: more than --max-sequences",
                            p->request.plan, p->plan.max_sequences);
    if (w->blocks % (w->world_size * w->batch_size))
        return bl_error_set(e, BL_EUSAGE,
                            "%s has %" PRId64 " blocks, which is no multiple of %" PRId64 " ranks times %" PRId64
                            " blocks",
                            p->request.plan, w->blocks, w->world_size, w->batch_size);
    return BL_OK;
}

int bl_packing_read_plan(struct bl_packing *p, struct bl_error *e)
{
    const struct bl_sequences *t = &p->table;
    const struct bl_plan_options *options = p->request.plan_options;
    struct bl_plan_info its = {0};
    int64_t T;
    bool binary = bl_path_has_suffix(p->request.plan, ".safetensors");
    int code = bl_plan_T(&T, t->length, t->count, options, e);
    if (code)
        return code;
    code = binary ? bl_index_load(&p->plan, p->request.plan, T, options->align, t->length, t->count, &its, e)
                  : bl_plan_table_read(&p->plan, p->request.plan, T, options->align, options->overlap, t->length,
                                       t->count, e);
    if (code)
        return code;
    if (!its.blocks) {
        p->plan.is_store = options->strategy == BL_STRATEGY_STORE;
        code = bl_plan_recount(&p->plan, t->length, t->count, e);
    }
    if (!code && !its.blocks)
        code = given_plan_prove_bound(p, e);
    if (code)
        return code;
    bl_plan_info_make(&p->plan_info, &p->plan, options);
    if (its.blocks)
        code = given_plan_adopt_info(p->request.given, options->overlap, &p->plan_info, &its, p->request.plan, e);
    else
        given_plan_guess_info(p->request.given, &p->plan_info);
    return code ? code : given_plan_check(p, e);
}
