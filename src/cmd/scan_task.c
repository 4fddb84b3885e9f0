/* The part of a table that one task of `bload scan` makes. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "cmd/end_report.h"
#include "cmd/scan.h"
#include "cmd/summary.h"
#include "packing/identity.h"
#include "packing/input_set.h"
#include "run/signals.h"

int bl_scan_cmd_find_dir(struct bl_cmd *cmd, struct bl_scan_cmd *scan)
{
    const char *dir = scan->output ? scan->output : scan->pack_options.output;
    int code = bl_inputs_resolve_path(&scan->inputs, &cmd->options, scan->output ? NULL : "output", dir, &scan->dir,
                                      &cmd->error);
    if (code)
        return code;
    if (!scan->dir)
        return bl_error_set(&cmd->error, BL_EUSAGE, "--task needs -o DIR: the directory that all tasks share");
    return bl_cmd_check_parent("-o", scan->dir, scan->parents || scan->pack_options.parents, &cmd->error);
}

static int scan_check_task(const struct bl_scan_cmd *scan, struct bl_error *e)
{
    for (size_t i = 0; i < scan->inputs.set.files.count; i++) {
        if (strcmp(scan->inputs.set.files.file[i].path, "-") == 0)
            return bl_error_set(e, BL_EUSAGE, "--task: standard input cannot be shared by many tasks");
    }
    return BL_OK;
}

/* Finds out whether an earlier run has made the part; then scan->found has its counts. A damaged part is made again. */
static int scan_find_part(struct bl_scan_cmd *scan, const char *path, bool *found, struct bl_error *e)
{
    struct bl_error damage = {0};
    int code = bl_part_check(scan->state.folder, scan->task.index, scan->task.count, &scan->found, found, &damage);
    if (code == BL_EDATA) {
        *found = false;
        bl_cmd_print("%s: it is made again", damage.text);
        return bl_fs_remove(path, e);
    }
    if (code)
        return bl_error_set(e, code, "%s", damage.text);
    return BL_OK;
}

static int scan_make_task_part(struct bl_cmd *cmd, struct bl_scan_cmd *scan, const char *path)
{
    struct bl_part_writer part;
    struct bl_scan job = bl_scan_cmd_make_job(cmd, scan);
    job.temporary = scan->state.folder;
    int code = bl_scan_cmd_make_spool(scan, &cmd->error);
    if (code)
        return code;
    code = bl_part_create(&part, path, &cmd->error);
    if (code)
        return code;
    bl_scan_cmd_start_progress(cmd, scan);
    double begun = bl_progress_now();
    code = bl_isolation_start(scan->env.isolation, &cmd->error);
    if (!code)
        code = bl_scan_part(&job, &part, &scan->found, &cmd->error);
    scan->times.stage[BL_RUN_SCANNING] = bl_progress_now() - begun;
    bl_progress_bar_end(&scan->bar);
    bl_part_abort(&part);
    return code;
}

static int scan_make_part(struct bl_cmd *cmd, struct bl_scan_cmd *scan, struct bl_buffer *path)
{
    struct bl_error *e = &cmd->error;
    char what[96];
    bool found;
    int code = bl_parts_agree(&scan->state, scan->task.count, &cmd->options, &scan->inputs.set, &scan->subset, e);
    if (code)
        return code;
    if (!scan->env.spool)
        scan->env.spool = scan->state.spool; /* where packing looks for the spool */
    code = bl_part_path(scan->state.folder, scan->task.index, path, e);
    if (code)
        return code;
    code = scan_find_part(scan, path->data, &found, e);
    if (!code && !found)
        code = scan_make_task_part(cmd, scan, path->data);
    if (code || cmd->common.quiet)
        return code;
    if (found)
        bl_cmd_print("%s is already there: nothing to do", path->data);
    scan->left_out.by[BL_LEFT_OUT_EXCLUDE] = scan->found.excluded;
    snprintf(what, sizeof what, "task %" PRId64 "/%" PRId64, scan->task.index, scan->task.count);
    bl_scan_cmd_print_found(scan, what);
    if (found)
        return BL_OK;
    bl_inputs_print_ignored(&scan->inputs);
    bl_end_report_print_times(&scan->times);
    bl_end_report_print_next("plan -T N", scan->dir, " when all tasks are done");
    return BL_OK;
}

/* Finds out whether the directory holds a complete dataset made from this scan. */
static int scan_find_dataset(const struct bl_cmd *cmd, struct bl_scan_cmd *scan, bool *found, struct bl_error *e)
{
    struct bl_fault_counts faults = {0};
    struct bl_buffer lines = {0};
    int code = bl_identity_scan(&cmd->options, &scan->inputs.set, &scan->subset, &lines, e);
    if (!code)
        code = bl_identity_find(scan->dir, lines.data, found, &scan->partial, &faults, e);
    if (!code && *found && !cmd->common.quiet)
        bl_summary_complete(scan->dir, scan->partial ? &faults : NULL);

    bl_buffer_free(&lines);
    return code;
}

int bl_scan_cmd_run_task(struct bl_cmd *cmd, struct bl_scan_cmd *scan)
{
    struct bl_error *e = &cmd->error;
    struct bl_buffer path = {0};
    bool found = false;
    int code = scan_check_task(scan, e);
    if (code)
        return code;
    bl_signals_install(&cmd->cancel);
    code = scan_find_dataset(cmd, scan, &found, e);
    if (code || found)
        return code;
    code = bl_state_share(&scan->state, scan->dir, e);
    if (code)
        return code;
    bl_heartbeat_begin(&scan->heartbeat, scan->dir, "scan", &scan->task);
    code = scan_make_part(cmd, scan, &path);
    bl_buffer_free(&path);
    return code;
}
