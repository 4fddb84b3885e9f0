/* What a pack's shards will hold: the plan, the format, and the draft of the manifest, which says both. */
#include <string.h>

#include "cmd/lengths.h"
#include "cmd/packing.h"
#include "run/fields.h"
#include "run/manifest_draft.h"
#include "run/planned.h"
#include "store/index.h"
#include "store/plantable.h"

/* The plan that these options make of the table, or the one that was given. */
static int make_plan(struct bl_packing *p, struct bl_error *e)
{
    const struct bl_sequences *t = &p->table;
    if (!p->plan_path)
        return bl_plan_make(&p->plan, t->length, t->count, &p->plan_options, e);
    int64_t T;
    int code = bl_plan_T(&T, t->length, t->count, &p->plan_options, e);
    size_t size = strlen(p->plan_path);
    if (!code && size > 12 && strcmp(p->plan_path + size - 12, ".safetensors") == 0)
        return bl_index_load(&p->plan, p->plan_path, T, t->length, t->count, e);
    return code ? code : bl_plantable_read(&p->plan, p->plan_path, T, t->length, t->count, e);
}

/* One that lies in DIR/.bload was made from this table with these options. */
static int find_plan(struct bl_packing *p, struct bl_error *e)
{
    int64_t T;
    int code = bl_plan_T(&T, p->table.length, p->table.count, &p->plan_options, e);
    return code ? code : bl_planned_load(&p->state, &p->plan, T, p->table.length, p->table.count, e);
}

int bl_packing_plan(struct bl_packing *p, struct bl_error *e)
{
    const struct bl_sequences *t = &p->table;
    p->plan_options.group = t->group;
    int code = bl_lengths_settle(t, &p->plan_options, e);
    if (!code && !p->plan_path)
        code = bl_lengths_check(t, &p->plan_options, e);
    int found = code ? code : find_plan(p, e);
    if (found)
        return found < 0 ? found : BL_OK;
    code = make_plan(p, e);
    if (!code && p->task.set)
        code = bl_planned_publish(&p->state, &p->plan, t->length, t->count, &p->plan_options, e);
    return code;
}

/* Every field that can be is encoded. */
static int set_encoding(struct bl_packing *p, struct bl_error *e)
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
    if (!code && !any)
        code =
            bl_error_set(e, BL_EUSAGE, "--encode is for pictures, U8 [n,T,H,W,3]%s: there is no such field among: %s",
                         kind == BL_ENCODING_JPEG ? " with sides up to 65535" : "", names.data);
    bl_buffer_free(&names);
    return code;
}

int bl_packing_format(struct bl_packing *p, struct bl_error *e)
{
    /* Whoever made a draft, of the same table, has looked at all files: a thousand tasks need not do so again. */
    int agreed = p->mending || (p->task.set ? bl_manifest_draft_find(&p->state, e) : 0);
    if (agreed < 0)
        return agreed;
    int code = bl_fields_settle(&p->format.fields, p->inputs.kind, p->inputs.kind_config, &p->env, &p->table,
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
    code = set_encoding(p, e);
    if (!code)
        code = bl_packing_attributes(p, e);
    if (!code)
        code = bl_plan_digest(&p->plan, p->table.length, p->format.plan_digest, e);
    return code ? code : bl_format_init(&p->format, p->options.shard_size, e);
}

int bl_packing_draft(struct bl_packing *p, struct bl_error *e)
{
    struct bl_manifest_draft draft = {.kind = p->inputs.kind,
                                      .config = p->inputs.kind_config,
                                      .format = &p->format,
                                      .plan = &p->plan,
                                      .plan_options = &p->plan_options,
                                      .identity = p->identity.data,
                                      .simd = bl_simd_name(p->env.simd)};
    int code = bl_manifest_draft_make(&draft, &p->manifest, e);
    if (!code && p->mending)
        code = bl_packing_compare_made(p, e);
    return code ? code : bl_manifest_draft_publish(&p->state, &p->manifest, !p->task.set, e);
}
