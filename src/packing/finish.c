/* The last step: index, tables and manifest, unless other tasks still work. */
#include "packing/internal.h"

int bl_packing_finish(struct bl_packing *p, struct bl_error *e)
{
    const struct bl_input_set *inputs = p->request.inputs;
    struct bl_finish finish = {.dir = p->request.output,
                               .table = &p->table,
                               .table_checksum = p->table_checksum,
                               .plan = &p->plan,
                               .plan_options = p->request.plan_options,
                               .manifest = &p->manifest,
                               .cancel = p->request.cancel,
                               .kind = inputs->kind,
                               .config = inputs->kind_config};
    int code = BL_OK;
    if (p->request.task.set)
        return BL_OK;
    if (!p->repairing) {
        bl_heartbeat_set_phase(&p->heartbeat, "finish");
        code = bl_finish_run(&finish, &p->finished, e);
        p->partial = bl_finished_partial(&p->finished);
    }
    if (!code && inputs->kind->spool)
        code = inputs->kind->spool->remove(inputs->kind_config, &p->env, e);
    bl_sequences_close_files(&p->table); /* some file systems keep files that are open */
    return code ? code : bl_state_remove(&p->state, e);
}
