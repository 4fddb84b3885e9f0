/* What a pack's shards will hold: the plan, the format, and the draft of the manifest, which says both. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "cmd/lengths.h"
#include "cmd/packing.h"
#include "plan/planner.h"
#include "run/fields.h"
#include "run/manifest_draft.h"
#include "run/saved_plan.h"
#include "store/index.h"
#include "store/layout.h"
#include "store/plan_table.h"

/* --- a plan that was given -------------------------------------------------------------------------------------- */

/* A table of a plan has no room for what was proven of it: it is proven again, by the same search. */
static int given_plan_prove_bound(struct bl_packing *p, struct bl_error *e)
{
    const struct bl_plan_options *said = &p->plan_options;
    struct bl_plan *plan = &p->plan;
    struct bl_plan_options o = {.strategy = BL_STRATEGY_BLOCK,
                                .T = plan->T,
                                .align = plan->align,
                                .max_sequences = said->max_sequences,
                                .effort = said->effort};
    struct bl_planner planner = {0};
    if (said->strategy != BL_STRATEGY_BLOCK || said->order == BL_KEEP_ORDER)
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

/* Words that its file has are the plan's own; options that were said must not contradict them. */
static int given_plan_adopt_words(const struct bl_cmd *cmd, struct bl_plan_info *plan_info,
                                  const struct bl_plan_info *its, const char *path, struct bl_error *e)
{
    const struct {
        const char *option;
        bool differs;
    } said[] = {{"strategy", strcmp(plan_info->strategy, its->strategy) != 0},
                {"fill", strcmp(plan_info->fill, its->fill) != 0},
                {"seed", plan_info->seed != its->seed && !its->seed_unknown},
                {"world-size", plan_info->world_size != its->world_size},
                {"batch-size", plan_info->batch_size != its->batch_size}};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        if (said[i].differs && bl_options_origin(&cmd->options, said[i].option) != BL_ORIGIN_DEFAULT)
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

/* What the file of a plan does not say is what the options say, or not known. */
static void given_plan_guess_words(const struct bl_cmd *cmd, struct bl_plan_info *plan_info)
{
    plan_info->seed_unknown = bl_options_origin(&cmd->options, "seed") == BL_ORIGIN_DEFAULT;
    if (bl_options_origin(&cmd->options, "fill") == BL_ORIGIN_DEFAULT)
        plan_info->fill[0] = '\0';
}

static int given_plan_check(const struct bl_packing *p, struct bl_error *e)
{
    const struct bl_plan_info *w = &p->plan_info;
    if (p->plan_options.max_sequences && p->plan.max_sequences > p->plan_options.max_sequences)
        return bl_error_set(e, BL_EUSAGE, "%s has blocks of %" PRId64 " sequences: more than --max-sequences",
                            p->plan_path, p->plan.max_sequences);
    if (w->blocks % (w->world_size * w->batch_size))
        return bl_error_set(e, BL_EUSAGE,
                            "%s has %" PRId64 " blocks, no multiple of %" PRId64 " ranks times %" PRId64 " blocks",
                            p->plan_path, w->blocks, w->world_size, w->batch_size);
    return BL_OK;
}

static int given_plan_read(const struct bl_cmd *cmd, struct bl_packing *p, struct bl_error *e)
{
    const struct bl_sequences *t = &p->table;
    struct bl_plan_info its = {0};
    int64_t T, align = p->plan_options.align;
    bool binary = bl_path_has_suffix(p->plan_path, ".safetensors");
    int code = bl_plan_T(&T, t->length, t->count, &p->plan_options, e);
    if (code)
        goto out;
    if (binary)
        code = bl_index_load(&p->plan, p->plan_path, T, align, t->length, t->count, &its, e);
    else
        code = bl_plan_table_read(&p->plan, p->plan_path, T, align, t->length, t->count, e);
    if (code)
        goto out;
    if (!its.blocks)
        code = given_plan_prove_bound(p, e);
out:
    bl_plan_info_make(&p->plan_info, &p->plan, &p->plan_options);
    if (!its.blocks)
        given_plan_guess_words(cmd, &p->plan_info);
    else if (!code)
        code = given_plan_adopt_words(cmd, &p->plan_info, &its, p->plan_path, e);
    return code ? code : given_plan_check(p, e);
}

/* --- the plan --------------------------------------------------------------------------------------------------- */

/* The plan that these options make of the table. */
static int plan_make(struct bl_packing *p, struct bl_error *e)
{
    const struct bl_sequences *t = &p->table;
    int code = bl_plan_make(&p->plan, t->length, t->count, &p->plan_options, e);
    if (!code)
        code = bl_plan_recount(&p->plan, t->length, t->count, e);
    bl_plan_info_make(&p->plan_info, &p->plan, &p->plan_options);
    return code;
}

/* One that lies in DIR/.bload was made from this table with these options. */
static int plan_find(struct bl_packing *p, struct bl_error *e)
{
    int64_t T;
    int code = bl_plan_T(&T, p->table.length, p->table.count, &p->plan_options, e);
    return code ? code : bl_saved_plan_load(&p->state, &p->plan, &p->plan_info, T, p->table.length, p->table.count, e);
}

int bl_packing_plan(struct bl_cmd *cmd, struct bl_packing *p)
{
    struct bl_error *e = &cmd->error;
    const struct bl_sequences *t = &p->table;
    p->plan_options.group = t->group;
    int code = bl_lengths_resolve(t, &p->plan_options, e);
    if (!code && !p->plan_path)
        code = bl_lengths_check(t, &p->plan_options, e);
    int found = code ? code : plan_find(p, e);
    if (found)
        return found < 0 ? found : BL_OK;
    code = p->plan_path ? given_plan_read(cmd, p, e) : plan_make(p, e);
    if (!code && p->task.set)
        code = bl_saved_plan_publish(&p->state, &p->plan, t->length, t->count, &p->plan_info, e);
    return code;
}

/* Every field that can be is encoded. */
static int format_set_encoding(struct bl_packing *p, struct bl_error *e)
{
    const struct bl_fields *fields = &p->format.fields;
    enum bl_encoding_kind kind = p->options.encode.kind;
    struct bl_buffer names = {0};
    bool any = kind == BL_ENCODING_RAW;
    for (int f = 0; f < fields->count; f++) {
        bool takes = bl_encoding_takes(kind, &fields->field[f]);
        any |= takes;
        if (takes)
            p->format.encoding[f] = p->options.encode;
        bl_buffer_printf(&names, "%s%s", f ? ", " : "", fields->field[f].name);
    }
    int code = bl_buffer_check(&names, e);
    if (code)
        goto out;
    if (!any)
        code =
            bl_error_set(e, BL_EUSAGE, "--encode is for pictures, U8 [n,T,H,W,3]%s: there is no such field among: %s",
                         kind == BL_ENCODING_JPEG ? " with sides up to 65535" : "", names.data);
out:
    bl_buffer_free(&names);
    return code;
}

int bl_packing_format(struct bl_packing *p, struct bl_error *e)
{
    /* Whoever made a draft, of the same table, has looked at all files: a thousand tasks need not do so again. */
    int agreed = p->repairing || (p->task.set ? bl_manifest_draft_find(&p->state, e) : 0);
    if (agreed < 0)
        return agreed;
    int code = bl_fields_resolve(&p->format.fields, p->inputs.kind, p->inputs.kind_config, &p->env, &p->table,
                                 p->inputs.base, agreed, p->workers, e);
    if (code)
        return code;
    p->format.T = p->plan.T;
    p->format.S = p->plan.max_sequences;
    p->format.blocks = (int64_t)p->plan.blocks;
    p->format.has_source_start = p->plan.cut > 0;
    p->format.has_segment_ids = p->options.segment_ids;
    p->format.compressed = p->options.compress.on;
    p->format.level = p->options.compress.level;
    code = format_set_encoding(p, e);
    if (code)
        return code;
    code = bl_packing_attributes(p, e);
    if (code)
        return code;
    code = bl_plan_digest(&p->plan, p->table.length, p->format.plan_digest, e);
    if (code)
        return code;
    return bl_layout_divide(&p->format, p->options.shard_size, e);
}

int bl_packing_draft(struct bl_packing *p, struct bl_error *e)
{
    struct bl_manifest_draft draft = {.kind = p->inputs.kind,
                                      .config = p->inputs.kind_config,
                                      .format = &p->format,
                                      .plan_info = &p->plan_info,
                                      .identity = p->identity.data,
                                      .simd = bl_simd_name(p->env.simd)};
    int code = bl_manifest_draft_make(&draft, &p->manifest, e);
    if (code)
        return code;
    if (p->repairing)
        code = bl_packing_compare_made(p, e);
    if (code)
        return code;
    return bl_manifest_draft_publish(&p->state, &p->manifest, !p->task.set, e);
}
