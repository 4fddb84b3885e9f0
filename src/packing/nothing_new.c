/* Nothing new: the datasets of --extend hold all that could be packed, and no dataset is made. */
#include "packing/internal.h"

bool bl_packing_is_all_held(const struct bl_packing *p)
{
    return !p->repairing && !p->table.by_status[BL_ROW_OK] && p->table.left_out.by[BL_LEFT_OUT_EXTEND];
}

bool bl_packing_is_rest_dropped(const struct bl_packing *p, int64_t T)
{
    const struct bl_plan_options *o = p->request.plan_options;
    int64_t longest = o->max_length ? o->max_length : INT64_MAX;
    if (p->repairing || !p->table.left_out.by[BL_LEFT_OUT_EXTEND])
        return false;
    if (o->oversize == BL_OVERSIZE_DROP && T < longest)
        longest = T;
    for (size_t i = 0; i < p->table.count; i++) {
        int64_t length = p->table.length[i];
        if (length > 0 && length >= o->min_length && length <= longest)
            return false;
    }
    return true;
}

static int packing_discard(struct bl_packing *p, struct bl_error *e)
{
    const struct bl_input_set *inputs = p->request.inputs;
    int code = BL_OK;
    if (inputs->kind && inputs->kind->spool)
        code = inputs->kind->spool->remove(inputs->kind_config, &p->env, e);
    bl_sequences_close_files(&p->table);
    return code ? code : bl_state_discard(&p->state, e);
}

/* For bload finish, which removes the directory when no task uses it any more. */
static int packing_note_held(const struct bl_packing *p, struct bl_error *e)
{
    struct bl_buffer text = {0};
    bl_buffer_text(&text, "nothing new\n");
    int code = bl_buffer_check(&text, e);
    if (!code)
        code = bl_state_publish(&p->state, BL_STATE_NOTHING_NEW, &text, e);
    bl_buffer_free(&text);
    return code;
}

int bl_packing_end_held(struct bl_packing *p, struct bl_error *e)
{
    bool shared = p->request.task.set || p->request.plan_only;
    p->complete = true;
    p->partial = !bl_sequences_is_clean(&p->table);
    bl_packing_message(p, false, "nothing new: %s is not written%s", p->request.output,
                       shared ? " (bload finish removes what the tasks left there)" : "");
    if (p->request.dry_run)
        return BL_OK; /* there is only its temporary folder */
    return shared ? packing_note_held(p, e) : packing_discard(p, e);
}
