/* The plan of a dataset in the making, which tasks are to pack: out of the parts of its scan comes the table, out of
 * that the plan. Either is written once. */
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/identity_lines.h"
#include "base/fs.h"
#include "base/text.h"
#include "cmd/identity.h"
#include "cmd/parts.h"
#include "cmd/planning.h"
#include "cmd/summary.h"
#include "plan/plan.h"
#include "run/saved_plan.h"
#include "run/signals.h"
#include "run/table_checksum.h"
#include "store/shard_record.h"

static int directory_check_flags(const struct bl_planning *p, struct bl_error *e)
{
    if (p->output || p->lengths.list || p->epochs != 1)
        return bl_error_set(
            e, BL_EUSAGE, "-o, --lengths and --epochs are for tables: the plan of a directory is one, and stays in it");
    return BL_OK;
}

/* Only what tasks began is gone on with: a directory that was mistyped shall stay as it is. 1: the dataset is complete,
 * and this is its plan. */
static int directory_enter(struct bl_planning *p, const char *identity, struct bl_error *e)
{
    struct bl_buffer folder = {0};
    bl_buffer_printf(&folder, "%s/" BL_WORK_FOLDER, p->dir);
    int code = bl_buffer_check(&folder, e);
    bool begun = !code && access(folder.data, F_OK) == 0;
    bl_buffer_free(&folder);
    if (!code)
        code = bl_identity_find(p->dir, identity, &p->partial, e);
    if (code || begun)
        return code ? code : bl_state_share(&p->state, p->dir, e);
    return bl_error_set(e, BL_EUSAGE, "%s holds no dataset in the making: bload scan --task I/N -o %s ...", p->dir,
                        p->dir);
}

static int directory_on_fault(void *sink, const struct bl_row *row, struct bl_error *e)
{
    struct bl_planning *p = sink;
    (void)e;
    bl_inputs_print_fault(&p->inputs, row);
    return BL_OK;
}

static void directory_on_progress(void *sink, int64_t stretches)
{
    struct bl_planning *p = sink;
    p->progress.done = stretches;
    bl_progress_tick(&p->progress);
}

/* Where the YAML file names the sources, the scan must have been theirs. */
static int directory_check_scan(struct bl_cmd *cmd, struct bl_planning *p, const struct bl_parts *parts)
{
    if (!p->inputs.sources || !parts->tasks)
        return BL_OK;
    int code = bl_inputs_list(&p->inputs, cmd);
    if (code)
        return code;
    code = bl_inputs_use(&p->inputs, p->inputs.files.kind, cmd);
    if (code)
        return code;
    return bl_parts_agree(&p->state, parts->tasks, &cmd->options, &p->inputs, &cmd->error);
}

static int directory_merge_parts(struct bl_cmd *cmd, struct bl_planning *p, const struct bl_parts *parts)
{
    char count[32];
    struct bl_merge job = {
        .cancel = &cmd->cancel, .fault = directory_on_fault, .tick = directory_on_progress, .sink = p};
    struct bl_merged merged;
    bl_progress_start(&p->progress, cmd->common.quiet, "merge", "stretches", NULL, 0);
    int code = bl_parts_merge(&p->state, parts, &job, &merged, &cmd->error);
    bl_progress_end(&p->progress);
    if (code)
        goto out;
    if (!cmd->common.quiet) {
        bl_cmd_print("%" PRId64 " part%s: %s rows", parts->tasks, parts->tasks == 1 ? "" : "s",
                     bl_text_count(count, merged.found.rows));
        bl_parts_print_unused(&merged);
    }
out:
    free(merged.attributes);
    return code;
}

/* Gets the table: what is there already, whoever made it, or the parts of the scan. */
static int directory_get_table(struct bl_cmd *cmd, struct bl_planning *p)
{
    struct bl_error *e = &cmd->error;
    struct bl_parts parts;
    const char *path = p->state.sequences;
    bool found = access(path, F_OK) == 0;
    int code = bl_parts_find(&p->state, &parts, e);
    if (code)
        return code;
    code = directory_check_scan(cmd, p, &parts);
    if (code)
        return code;
    if (!found)
        code = bl_parts_require(&p->state, &parts, e);
    if (code)
        return code;
    if (!found)
        code = directory_merge_parts(cmd, p, &parts);
    if (code)
        return code;
    code = bl_table_checksum_verify(&p->state, e);
    if (code)
        return code;
    if (p->lengths.group_by)
        code = bl_sequences_open_grouped(&p->lengths.table, &path, 1, p->lengths.group_by, e);
    else
        code = bl_sequences_open(&p->lengths.table, &path, 1, false, e);
    return code;
}

static int directory_make_plan(struct bl_cmd *cmd, struct bl_planning *p)
{
    struct bl_error *e = &cmd->error;
    const struct bl_sequences *t = &p->lengths.table;
    int64_t T;
    p->options.group = t->group;
    int code = bl_lengths_resolve(t, &p->options, e);
    if (!code)
        code = bl_lengths_check(t, &p->options, e);
    if (!code)
        code = bl_plan_T(&T, t->length, t->count, &p->options, e);
    int found = code ? code : bl_saved_plan_load(&p->state, &p->plan, &p->plan_info, T, t->length, t->count, e);
    if (found)
        return found;
    code = bl_plan_make(&p->plan, t->length, t->count, &p->options, e);
    if (!code)
        code = bl_plan_recount(&p->plan, t->length, t->count, e);
    bl_plan_info_make(&p->plan_info, &p->plan, &p->options);
    if (!code)
        code = bl_saved_plan_publish(&p->state, &p->plan, t->length, t->count, &p->plan_info, e);
    if (!code)
        code = bl_planning_report(p, e);
    if (!code && !cmd->common.quiet)
        bl_summary_plan(&p->plan, &p->plan_info);
    return code;
}

/* Table and plan. 1: the plan is there already. */
static int directory_make(struct bl_cmd *cmd, struct bl_planning *p, const char *identity)
{
    int code = directory_get_table(cmd, p);
    if (code)
        goto out;
    code = bl_state_agree(&p->state, BL_STATE_PLAN, identity, &cmd->error);
    if (code)
        goto out;
    code = directory_make_plan(cmd, p);
out:
    if (code > 0 && !cmd->common.quiet)
        bl_cmd_print("%s has its plan already: nothing to do", p->dir);
    p->partial = !bl_sequences_is_clean(&p->lengths.table);
    return code < 0 ? code : BL_OK;
}

int bl_planning_directory(struct bl_cmd *cmd, struct bl_planning *p)
{
    struct bl_error *e = &cmd->error;
    struct bl_buffer identity = {0};
    int code = directory_check_flags(p, e);
    if (!code)
        code = bl_lengths_require_T(cmd);
    bl_signals_install(&cmd->cancel);
    /* Now: once the table is there, durations become steps. */
    bl_options_identity_of(&cmd->options, BL_AFFECTS_PLAN, &identity);
    if (!code)
        code = bl_buffer_check(&identity, e);
    if (!code)
        code = directory_enter(p, identity.data, e);
    if (code > 0 && !cmd->common.quiet)
        bl_cmd_print("%s is complete already: nothing to do", p->dir);
    if (!code)
        code = directory_make(cmd, p, identity.data);
    bl_buffer_free(&identity);
    return code < 0 ? code : BL_OK;
}
